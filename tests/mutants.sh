#!/usr/bin/env bash
# Weaves all changes that cargo-mutants lists into one build, each behind a switch, and reports how
# many of them the unit tests catch: at least 90 % are required. .cargo/mutants.toml names the
# rooms; see docs/mutants.md.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo mutants --version >/dev/null 2>&1; then
    echo "cargo-mutants is not there: cargo install --locked cargo-mutants" >&2
    exit 1
fi
tool=(--quiet --manifest-path tests/mutants/Cargo.toml --target-dir target/mutants/tool)
cargo test "${tool[@]}"
# A change may make a program allocate memory without limit.
ulimit -v 8000000
cargo run "${tool[@]}"
