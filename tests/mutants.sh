#!/usr/bin/env bash
# Changes the code in one place after the other (cargo-mutants) and tells how many of the changes
# the library's tests notice: at least 90 % must be. .cargo/mutants.toml names the files.
#
# All of them take hours. MUTANTS_SHARD has a part, spread evenly, MUTANTS_FILE one file;
# MUTANTS_SECONDS ends it with what has been tried until then.
set -uo pipefail
cd "$(dirname "$0")/.."

if ! cargo mutants --version >/dev/null 2>&1; then
    echo "cargo-mutants is not there: cargo install --locked cargo-mutants" >&2
    exit 1
fi
file=()
[ -z "${MUTANTS_FILE:-}" ] || file=(--file "$MUTANTS_FILE")
# A change may make a program take memory without end.
ulimit -v 8000000
CARGO_PROFILE_DEV_DEBUG=0 timeout --signal=INT "${MUTANTS_SECONDS:-3600}" \
    cargo mutants --workspace --jobs "${MUTANTS_JOBS:-1}" --shard "${MUTANTS_SHARD:-0/40}" \
    --sharding round-robin --baseline skip --timeout 120 --build-timeout 600 \
    --output target "${file[@]}" </dev/null
status=$?
# Missed ones, ones that took too long, and the end of the time are results, too.
case $status in 0 | 2 | 3 | 124) ;; *) exit $status ;; esac

count() { cat "${@/#/target/mutants.out/}" 2>/dev/null | wc -l; }
caught=$(count caught.txt timeout.txt)
missed=$(count missed.txt)
echo "$caught of $((caught + missed)) changes caught"
[ $((caught + missed)) -gt 0 ] && [ $((caught * 10)) -ge $(((caught + missed) * 9)) ]
