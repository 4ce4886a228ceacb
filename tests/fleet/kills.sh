#!/usr/bin/env bash
# kills.sh [TIMES]: kills agents, coordinators and brokers during runs, TIMES (20) times each, and
# reports how often everything was right. A hang is a failure: each round is limited to 5 minutes.
set -uo pipefail
cd "$(dirname "$0")/../.."

times=${1:-20}
cargo test -q --all-features --test fleet --no-run || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

failed=0
for round in $(seq "$times"); do
    if timeout --kill-after=10 300 \
        cargo test -q --all-features --test fleet -- \
        losses::a_killed losses::agents_of_a_killed broken::a_killed broken::agents_of_a_killed \
        --test-threads 4 </dev/null >"$log" 2>&1
    then
        echo "round $round: $(sed -n 's/^test result: ok. \(.* passed\);.* in \(.*\)$/\1 in \2/p' "$log")"
    else
        failed=$((failed + 1))
        echo "round $round failed"
        cat "$log"
    fi
done
echo "$times rounds, $failed failed"
[ "$failed" = 0 ]
