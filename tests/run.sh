#!/usr/bin/env bash
# Runs every test, including those in the documentation, and ends with one line: N passed, M failed,
# K skipped.
#
# Most tests wait for a server or a clock, so the test programs run side by side. Their output goes
# to target/tests/NAME.log; this script prints one line per program, and failures in full. A failed
# test is run once more, alone: if it passes, it is printed as FLAKY and not counted as failed.
# docs/flaky.md lists such tests. A test that skips a server that is not installed prints a line
# `SKIPPED name: reason`.
#
# `tests/run.sh --slowest` prints the 20 slowest tests of the last run.
set -uo pipefail
cd "$(dirname "$0")/.."

logs=target/tests
# A program that hangs must not block everything.
LIMIT_S=3600

if [ "${1:-}" = --slowest ]; then
    sed -n 's/^test \(.*\) \.\.\. ok <\([0-9.]*\)s>$/\2 \1/p' "$logs"/*.log | sort -rn | head -20
    exit
fi

# Runs the test program "$1" called "$2"; the other words select its tests. Prints the time it
# took, and the processor time of the program and of the children it waited for.
run_one() {
    local program=$1 name=$2 log=$logs/$2.log status=0 begun=$SECONDS
    shift 2
    # These tests start programs or wait for agents to fall silent: with one thread per processor,
    # processors would be idle.
    case $name in cli | fleet | lib-load) set -- --test-threads $((3 * $(nproc))) "$@" ;; esac
    # shellcheck disable=SC2086 # words
    if [ "$name" = doc ]; then
        timeout --kill-after=10 "$LIMIT_S" cargo test --all-features --doc -- $ARGS
    else
        # This enables --report-time on stable Rust.
        RUSTC_BOOTSTRAP=1 timeout --kill-after=10 "$LIMIT_S" "$program" \
            -Z unstable-options --report-time --show-output "$@" $ARGS
    fi </dev/null >"$log" 2>&1 || status=$?
    echo "status $status" >>"$log"
    times >"$logs/$name.times"
    # `12m3.456s 0m7.890s`: user and system.
    local cpu
    cpu=$(tail -1 "$logs/$name.times" | sed 's/m/ /g; s/s//g' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }')
    printf '%-12s %4d s, %4.0f s of processor  %s\n' "$name" $((SECONDS - begun)) "$cpu" \
        "$(grep '^test result' "$log" | tail -1 | cut -d';' -f1,2)"
}
export -f run_one
# The caller's words for every program, such as a part of a name.
ARGS=$*
export logs LIMIT_S ARGS
# As .cargo/config.toml has it.
export SPRINGLOAD_STATE=

# Compiling has no time limit.
rm -rf "$logs" && mkdir -p "$logs"
cargo test --all-features --lib --bins --tests --examples --no-run </dev/null 2>&1 |
    tee "$logs/build" >&2
# `Executable tests/cli/main.rs (target/debug/deps/cli-0123)`: each program and its name, the
# slowest first.
awk '$1 == "Executable" {
        program = $NF; gsub(/[()]/, "", program)
        name = program; sub(/.*\//, "", name); sub(/-[0-9a-f]*$/, "", name)
        if (/src\/lib.rs/ && !sub(/^springload_/, "lib-", name)) name = "lib"
        if (/src\/main.rs/) name = "main"
        # Groups of databases that run side by side, so that their waits overlap. Each test runs in
        # the group of the database in its name, which is running there already.
        if (name == "databases") {
            print 0, program, "databases-hbase", "hbase guide::"
            print 0, program, "databases-cassandra", "cassandra"
            print 0, program, name, "--skip hbase --skip guide:: --skip cassandra"
        } else print name ~ /^(cli|fleet|lib-load)$/ ? 0 : 1, program, name
    }' "$logs/build" | sort -sn | cut -d" " -f2- >"$logs/programs"
if [ ! -s "$logs/programs" ]; then
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
echo "doc doc" >>"$logs/programs"
# One more than the number of processors, because most programs mostly wait.
# shellcheck disable=SC2016 # expanded by the inner shell
xargs -P "${SPRINGLOAD_TEST_JOBS:-$(($(nproc) + 1))}" -L 1 \
    bash -c 'run_one "$@"' run_one <"$logs/programs"

# The first lines of the failed test "$1" in the log "$2", which exists only on this machine.
why() {
    awk -v head="---- $1 stdout ----" '
        $0 == head { inside = 1; next }
        inside && /panicked at/ { told = 1; next }
        told && /^(stack backtrace:|----|note: )/ { exit }
        told && NF { print "      " substr($0, 1, 400); if (++lines == 4) exit }' "$2"
}

# Runs failed tests once more, alone. A program that crashed has no list of them, and has failed.
failed=0 flaky=0
while read -r program name _; do
    log=$logs/$name.log
    grep -q '^status 0$' "$log" && continue
    tests=$(sed -n 's/^test \([^ ]*\)\( - should panic\)\{0,1\} \.\.\. FAILED.*/\1/p' "$log" | sort -u)
    if [ "$name" = doc ] || [ -z "$tests" ]; then
        printf '\n== %s\n' "$name"
        tail -n 60 "$log"
        failed=$((failed + 1))
        continue
    fi
    for test in $tests; do
        again=$logs/$name.$test.again
        if RUST_BACKTRACE=0 "$program" --exact "$test" --nocapture </dev/null >"$again" 2>&1; then
            echo "FLAKY $name $test: failed, and passed alone; see $log"
            why "$test" "$log"
            flaky=$((flaky + 1))
        else
            printf '\n== %s %s\n' "$name" "$test"
            tail -n 60 "$again"
            failed=$((failed + 1))
        fi
    done
done <"$logs/programs"

# The properties confirmed for each driver on its real server.
cat "$logs"/*.log "$logs"/*.again 2>/dev/null | sed -n 's/.*CONFORMS //p' |
    LC_ALL=C sort -u >"$logs/properties"
awk -F': ' '
    !($1 in all) { order[++count] = $1 }
    { all[$1] = all[$1] (all[$1] ? ", " : "") $2 }
    END { for (i = 1; i <= count; i++) printf "%-10s %s\n", order[i], all[order[i]] }
    ' "$logs/properties"
# None may be missing if every server had to be there.
if [ -z "$ARGS" ] && [ "${SPRINGLOAD_REQUIRE_SERVERS:-}" = 1 ]; then
    missing=$(LC_ALL=C comm -13 "$logs/properties" tests/databases/properties.txt)
    if [ -n "$missing" ]; then
        printf '\n== not confirmed, though in tests/databases/properties.txt\n%s\n' "$missing"
        failed=$((failed + 1))
    fi
fi

# `test result: ok. 3 passed; 0 failed; 1 ignored; ...`, one line for each program.
awk -v failed="$failed" -v flaky="$flaky" '
    /^test result: / { passed += $4; skipped += $8 }
    /SKIPPED [^ ]+: / { passed -= 1; skipped += 1 }
    END { printf "%d passed, %d failed, %d skipped\n", passed + flaky, failed, skipped }
    ' "$logs"/*.log
[ "$failed" -eq 0 ]
