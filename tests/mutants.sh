#!/usr/bin/env bash
# Weaves all changes that cargo-mutants lists into one build, each behind a switch, and tells how
# many of them the unit tests notice: at least 90 % must be. .cargo/mutants.toml names the rooms;
# docs/mutants.md has the reference.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo mutants --version >/dev/null 2>&1; then
    echo "cargo-mutants is not there: cargo install --locked cargo-mutants" >&2
    exit 1
fi
tool=(--quiet --manifest-path tests/mutants/Cargo.toml --target-dir target/mutants/tool)
cargo test "${tool[@]}"
# A change may make a program take memory without end.
ulimit -v 8000000
cargo run "${tool[@]}"
