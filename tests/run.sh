#!/usr/bin/env bash
# Runs every test, documentation included, and ends in one line: N passed, M failed, K skipped.
# A test that leaves out a server it did not find prints a line `SKIPPED name: reason`, which is
# why output is not captured here.
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
# Compiling is not bounded. If it fails, so do the tests below, with the same message.
cargo test --all-features --lib --bins --tests --examples --no-run </dev/null
# Benchmarks are compiled by `cargo clippy --all-targets`; running them is not a test.
for targets in "--lib --bins --tests --examples" "--doc"; do
    # A test that hangs must not hold everything up: all of them take some 20 minutes on two cores.
    # shellcheck disable=SC2086 # several words on purpose
    timeout --kill-after=10 2400 cargo test --all-features --no-fail-fast \
        $targets -- --nocapture "$@" </dev/null 2>&1 | tee -a "$log" \
        || status=1
done

# `test result: ok. 3 passed; 0 failed; 1 ignored; ...`, one line for each binary. What a binary
# that crashed did not count, the status does: then at least one failure is shown.
awk -v status="$status" '
    /^test result: / { passed += $4; failed += $6; skipped += $8 }
    /SKIPPED [^ ]+: / { passed -= 1; skipped += 1 }
    END {
        if (status != 0 && failed == 0) failed = 1
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    }' "$log"
exit "$status"
