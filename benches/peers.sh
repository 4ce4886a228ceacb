#!/usr/bin/env bash
# Client CPU per request compared with other load generators, on the same server in the same
# session. The null responder has one core, the client the other; the tools take turns, round by
# round. CPU time is the operating system's own (user + system of the finished process), divided by
# the requests that the server counted; medians with minimum and maximum. Writes docs/benchmarks.md.
#
# Measured are wrk, wrk2, h2load, oha, siege, k6, vegeta, bombardier and hey (the one in Go), if
# they are in the PATH. Two more get rows if a variable has their command, split at white space:
#   FLOOR_CLIENT   a client that does the bare minimum, for comparison. It takes -p PORT (of
#                  127.0.0.1), -c CONNECTIONS, -d SECONDS and -m GET or PUT, and requests /db/x in
#                  a closed loop; its output is ignored.
#   IRON_CUSHION   Iron Cushion; it takes that program's flags. Its jar and netty's do:
#                  IRON_CUSHION='java -cp IRON.jar:NETTY.jar co.adhoclabs.ironcushion.Benchmark'
# ROUNDS, SECONDS_EACH and STALL_SECONDS (of a run with two stalls; a multiple of two) change the
# effort, OUT the file of the table.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
period=${STALL_SECONDS:-10}
out=${OUT:-docs/benchmarks.md}
read -ra floor <<<"${FLOOR_CLIENT:-}" || true
read -ra iron_cushion <<<"${IRON_CUSHION:-}" || true
work=$(mktemp -d)
springload=target/dist/springload
export GOMAXPROCS=1
cargo build --profile dist --quiet
server=
client=()
stop_server() { if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; server=; }
trap 'stop_server; rm -rf "$work"' EXIT

# Replaces the null responder with one that has further flags; sets url and port.
start_server() {
    stop_server
    : >"$work/server"
    $springload serve --null --listen 127.0.0.1:0 "$@" >"$work/server" &
    server=$!
    until grep -q 'http://' "$work/server"; do
        kill -0 $server || exit 1
        sleep 0.05
    done
    url=$(grep -o 'http://[0-9.:]*' "$work/server")
    port=${url##*:}
    if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
        taskset -a -cp 1 $server >/dev/null
        client=(taskset -c 0)
    fi
    echo "GET $url/db/x" >"$work/targets"
}

# A PUT of a constant document, as long as springload's are on average, for wrk.
cat >"$work/put.lua" <<LUA
wrk.method = "PUT"
wrk.body = '{"type":"t","n":12345,"pad":"' .. string.rep("p", 273) .. '"}'
wrk.headers["Content-Type"] = "application/json"
LUA
cat >"$work/get.js" <<'JS'
import http from 'k6/http';
const url = `${__ENV.TARGET}/db/x`;
export default () => http.get(url);
JS
cat >"$work/rate.js" <<'JS'
import http from 'k6/http';
const url = `${__ENV.TARGET}/db/x`;
const shares = ['p(50)', 'p(99)', 'p(99.9)'];
export const options = {
  discardResponseBodies: true,
  summaryTrendStats: shares,
  scenarios: {
    rate: {
      executor: 'constant-arrival-rate', rate: 10000, duration: __ENV.LENGTH,
      preAllocatedVUs: 50, maxVUs: 50,
    },
  },
};
export default () => http.get(url);
export const handleSummary = (data) => ({
  stdout: shares.map((share) => data.metrics.http_req_duration.values[share]).join(' ') + '\n',
});
JS
# For bombardier; times in microseconds.
cat >"$work/bombardier" <<'GO'
{{ with .Result.LatenciesStats (FloatsToArray 0.5 0.99 0.999) -}}
{{ index .Percentiles 0.5 }} {{ index .Percentiles 0.99 }} {{ index .Percentiles 0.999 }}
{{ end }}
GO
# A document of about 250 bytes as an example, for Iron Cushion's flags.
cat >"$work/schema.json" <<'JSON'
{"type": "", "name": "", "title": "", "born": 0, "active": true, "balance": 0.0,
 "address": {"city": "", "zip": 0, "verified": false}, "scores": [0.0, 0.0]}
JSON

# count FIELD: the server's counter; reading it does not count.
count() {
    local text
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /_springload/counters HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3
    IFS= read -r -d '}' -t 5 text <&3
    exec 3>&-
    grep -o "\"$1\":[0-9]*" <<<"$text" | cut -d: -f2
}
# measure FIELD COMMAND...: CPU seconds of the command and the growth of FIELD; its output is saved
# in $work/output. Against a server that does nothing, springload rightly reports that it is
# client-bound (status 5).
measure() {
    local TIMEFORMAT='%U %S' field=$1 before cpu made
    shift
    before=$(count "$field")
    cpu=$({ time "${client[@]}" "$@" >"$work/output" 2>"$work/errors" || true; } 2>&1)
    made=$(($(count "$field") - before))
    if [ $made = 0 ]; then
        echo "nothing reached the server from: $*" >&2
        cat "$work/errors" >&2
        exit 1
    fi
    awk -v n=$made '{print $1 + $2, n}' <<<"$cpu"
}
# The same, as microseconds of CPU per request.
each() { measure "$@" | awk '{printf "%.3f\n", $1 * 1e6 / $2}'; }

# One round of one tool: prints microseconds of CPU per request.
run_springload() { # connections, further flags
    each requests $springload run "$url" -q -t 1 -c "$1" --docs "$1" --batch 1 -o "$work/run" \
        "${@:2}"
}
get_springload() { run_springload "$1" --mix read=1 -d "${seconds}s" "${@:2}"; }
get_wrk() { each requests wrk -t1 -c"$1" -d"${seconds}s" "$url/db/x"; }
get_h2load() { each requests h2load --h1 -t1 -c"$1" -D"$seconds" "$url/db/x"; }
get_oha() { each requests oha --no-tui -c "$1" -z "${seconds}s" "$url/db/x"; }
get_siege() { each requests siege -b -j -c "$1" -t "${seconds}S" "$url/db/x"; }
get_bombardier() { each requests bombardier -q -c "$1" -d "${seconds}s" "$url/db/x"; }
get_hey() { each requests hey -cpus 1 -c "$1" -z "${seconds}s" "$url/db/x"; }
get_k6() {
    each requests k6 run -q --address= --no-usage-report --no-thresholds --no-summary \
        --discard-response-bodies -e TARGET="$url" -u "$1" -d "${seconds}s" "$work/get.js"
}
get_vegeta() {
    each requests vegeta attack -targets "$work/targets" -output /dev/null -max-body 0 -rate 0 \
        -workers "$1" -max-workers "$1" -connections "$1" -duration "${seconds}s"
}
get_floor() { each requests "${floor[@]}" -p "$port" -c "$1" -d "$seconds" -m GET; }
rate_springload() { get_springload "$1" --rate "$half" "${@:2}"; }
slack_springload() { rate_springload "$1" --slack 1ms; }
slack_wrk2() { rate_wrk2 "$1"; }
rate_wrk2() { each requests wrk2 -t1 -c"$1" -d"${seconds}s" -R "$half" "$url/db/x"; }
crud_springload() { run_springload "$1" -d "${seconds}s"; }
fill_springload() { # per document, 100 in a request
    each documents_bulk $springload run "$url" -q -t 1 -c "$1" --docs 2m --batch 100 --ops 0 \
        -o "$work/run"
}
put_springload() { run_springload "$1" --mix create=1 -d "${seconds}s"; }
put_wrk() { each requests wrk -t1 -c"$1" -d"${seconds}s" -s "$work/put.lua" "$url/db/x"; }
put_floor() { each requests "${floor[@]}" -p "$port" -c "$1" -d "$seconds" -m PUT; }

# cushion FIELD CONNECTIONS FLAG LEAST COMMAND...: CPU per request, from the difference between a
# run of four times LEAST and one of LEAST, so that neither the start nor the first compilation
# counts.
cushion() {
    local field=$1 connections=$2 flag=$3 least=$4 times
    shift 4
    for times in 1 4; do
        measure "$field" "$@" --database_address="$url" --database_name=db --seed=1 \
            --num_connections="$connections" --json_document_schema_filename="$work/schema.json" \
            --num_documents_per_bulk_insert=100 --create_weight=2 --read_weight=3 \
            --update_weight=2 --delete_weight=1 "--$flag=$((least * times))"
    done | awk '{cpu = $1 - cpu; n = $2 - n} END {printf "%.3f\n", cpu * 1e6 / n}'
}
mixed() { # connections, command
    cushion requests "$1" num_crud_operations $((1000 * seconds)) "${@:2}" \
        --num_bulk_insert_operations=1
}
bulk() { cushion documents_bulk "$1" num_bulk_insert_operations $((50 * seconds)) "${@:2}"; }
mixed_springload() { mixed "$1" $springload cushion -q -t 1 -o "$work/run"; }
mixed_iron_cushion() { mixed "$1" "${iron_cushion[@]}"; }
bulk_springload() { bulk "$1" $springload cushion -q -t 1 -o "$work/run"; }
# With a few operations, because it fails after the bulk insert without any.
bulk_iron_cushion() { bulk "$1" "${iron_cushion[@]}" --num_crud_operations=8; }

# CPU seconds and requests of a command with stalls, kept apart from its own report.
stalled() { measure requests "$@" >"$work/cost"; }

# One round of one tool at 10,000/s over 50 connections, against a server that stalls twice: prints
# p50, p99 and p99.9 in milliseconds.
stall_springload() { # further flags
    stalled $springload run "$url" -q -t 1 -c 50 --docs 50 --batch 1 --mix read=1 -d "${period}s" \
        --rate 10000 -o "$work/run" "$@"
    # The columns: operation, successes/s, failures, p50, p90, p99, p99.9, maximum.
    $springload report "$work/run" | awk '$1 == "read" {gsub(",", ""); print $4, $6, $7; exit}'
}
stall_springload_slack() { stall_springload --slack 250us; }
# wrk2 discards the first 10 s, in which it calibrates itself.
stall_wrk2() {
    stalled wrk2 -t1 -c50 -d$((period + 10))s -R 10000 -L "$url/db/x"
    awk '/^ *(50.000|99.000|99.900)%/ {
        unit = $2; sub(/[0-9.]*/, "", unit)
        printf "%s ", $2 * (unit == "us" ? 0.001 : unit == "s" ? 1000 : 1)
    }' "$work/output"
}
stall_oha() {
    stalled oha --no-tui -c 50 -z "${period}s" -q 10000 --latency-correction \
        --output-format json "$url/db/x"
    sed -n '/latencyPercentiles/,/}/p' "$work/output" | tr -d '":,' \
        | awk '$1 ~ /^p(50|99|99.9)$/ {printf "%s ", $2 * 1000}'
}
stall_k6() {
    stalled k6 run -q --address= --no-usage-report --no-thresholds -e TARGET="$url" \
        -e LENGTH="${period}s" "$work/rate.js"
    cat "$work/output"
}
stall_vegeta() {
    stalled vegeta attack -targets "$work/targets" -output "$work/vegeta" -max-body 0 -rate 10000 \
        -connections 50 -max-connections 50 -duration "${period}s"
    vegeta encode -to csv "$work/vegeta" | cut -d, -f3 | sort -n | awk '
        {v[NR] = $1 / 1e6}
        END {print v[int(NR * 0.5)], v[int(NR * 0.99)], v[int(NR * 0.999)]}'
}
stall_bombardier() {
    stalled bombardier -c 50 -d "${period}s" -r 10000 -l -p r -o "path:$work/bombardier" "$url/db/x"
    awk 'NF == 3 {print $1 / 1000, $2 / 1000, $3 / 1000}' "$work/output"
}

# Half of the rate that springload reached in a closed loop.
capacity() {
    local before
    before=$(count requests)
    get_springload 50 >/dev/null
    echo $((($(count requests) - before) / seconds / 2))
}

# The peak memory of this command, in MB.
resident() {
    /usr/bin/time -f %M -o "$work/memory" "$@" >/dev/null 2>&1 || true
    awk 'END {printf "%.0f", $1 / 1024}' "$work/memory"
}

# The peak memory of springload and wrk, with few and with many connections.
memory() {
    local connections ours theirs
    printf '\n## Peak memory\n\n| connections | springload, MB | wrk, MB |\n|---|---|---|\n'
    for connections in 50 1000 10000; do
        # shellcheck disable=SC2086 # words
        ours=$(resident $springload http "$url/" -q -t 1 -c "$connections" -d "${seconds}s" \
            -o "$work/run")
        theirs=
        if command -v wrk >/dev/null; then
            theirs=$(resident wrk -t 1 -c "$connections" -d "${seconds}s" "$url/")
        fi
        printf '| %d | %s | %s |\n' "$connections" "$ours" "$theirs"
    done
}

# Sorted values on stdin: median (min to max).
summary() {
    sort -n | awk '{v[NR] = $1} END {
        printf "%.2f (%.2f to %.2f)", v[int((NR + 1) / 2)], v[1], v[NR]
    }'
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

tools_for() { # kind, connections: the tools that are there and have such a round
    local tool
    for tool in springload springload_slack wrk wrk2 h2load oha bombardier hey vegeta k6 siege \
        floor iron_cushion; do
        declare -F "$1_$tool" >/dev/null || continue
        # Siege starts a thread per connection, and does not end with a thousand of them.
        [ "$tool" = siege ] && [ "$2" -gt 255 ] && continue
        case $tool in
            springload*) ;;
            floor) [ -n "${FLOOR_CLIENT:-}" ] || continue ;;
            iron_cushion) [ -n "${IRON_CUSHION:-}" ] || continue ;;
            *) command -v "$tool" >/dev/null || continue ;;
        esac
        echo "$tool"
    done
}

compare() { # title, kind, connections
    local title=$1 kind=$2 connections=$3 tool tools base
    mapfile -t tools < <(tools_for "$kind" "$connections")
    rm -f "$work"/cpu.*
    for _ in $(seq "$rounds"); do
        for tool in "${tools[@]}"; do
            "${kind}_$tool" "$connections" >>"$work/cpu.$tool"
        done
    done
    base=$(median <"$work/cpu.springload")
    printf '\n## %s\n\n' "$title"
    printf '| tool | CPU per %s, µs: median (min to max) | springload / tool |\n|---|---|---|\n' \
        "${4:-request}"
    for tool in "${tools[@]}"; do
        awk -v tool="${tool/iron_cushion/Iron Cushion}" -v base="$base" \
            -v text="$(summary <"$work/cpu.$tool")" -v own="$(median <"$work/cpu.$tool")" \
            'BEGIN {printf "| %s | %s | %.2f |\n", tool, text, base / own}'
    done
    echo "$title: done" >&2
}

# A share 2 S / T of the requests falls due in one of two stalls of S in a run of T, and waits for
# its end, between 0 and S: a share 2 (S - w) / T for longer than w. So the percentile q is
# w = S - (1 - q) T / 2, where that is positive. The stalls are a twentieth of the run each.
compare_stalls() {
    local tool tools column stall
    stall=$((period * 50))
    mapfile -t tools < <(tools_for stall 50)
    rm -f "$work"/stall.*
    for _ in $(seq "$rounds"); do
        for tool in "${tools[@]}"; do
            start_server --stall "${stall}ms@$((period * 250))ms/$((period / 2))s"
            "stall_$tool" >"$work/times"
            paste -d' ' "$work/times" "$work/cost" | awk '{$1 = $1; print}' >>"$work/stall.$tool"
        done
    done
    cat <<TEXT

## Two stalls of $stall ms in $period s, GET at 10,000/s, 50 connections

Medians of $rounds rounds. The first row follows from the schedule alone: requests that fall due
during a stall wait for its end, and working off the backlog takes some milliseconds more. Each tool
measures from when a request was due if it can: wrk2 always does (its run is 10 s longer, for its
calibration), oha with \`--latency-correction\`, and vegeta without a limit on workers; k6, with a
user per connection, and bombardier have no such setting. *Sent* is the share of due requests that
reached the server.

| tool | p50, ms | p99, ms | p99.9, ms | sent, % | CPU per request, µs |
|---|---|---|---|---|---|
TEXT
    awk -v s="$stall" -v t="$period" 'BEGIN {
        printf "| *waits of the schedule* | 0 | %.0f | %.0f | 100 | |\n", s - 5 * t, s - 0.5 * t
    }'
    for tool in "${tools[@]}"; do
        for column in '$1' '$2' '$3' '$5' '$4 * 1e6 / $5'; do
            awk "{print $column}" "$work/stall.$tool" | median
        done | awk -v tool="${tool/_slack/ --slack 250us}" -v t="$period" '
            {v[NR] = $1}
            END {
                due = 10000 * (tool == "wrk2" ? t + 10 : t)
                printf "| %s | %.2f | %.0f | %.0f | %.0f | %.2f |\n", tool, v[1], v[2], v[3],
                    v[4] / due * 100, v[5]
            }'
    done
    echo "stalls: done" >&2
}

start_server
{
    cat <<TEXT
# Benchmarks

Written by \`make bench\`. Compare ratios within a session; absolute times mean little, because the
machine is shared. The server is the null responder (\`springload serve --null\`) on one core; the
client has one thread on another. Documents have about 250 bytes when read and 300 when written.
There are $rounds rounds of $seconds s, and the tools take turns. springload generates each document,
parses and checks each answer, and records the times of each request in histograms; the other tools,
except Iron Cushion, send constant requests. Requests are counted by the server. Tools written in Go
run on one processor; k6 discards bodies and makes no summary, and vegeta's results are discarded.
\`benches/peers.sh\` lists the tools that it looks for.
[Pathologies](pathologies.md) shows what these tools report about servers that are slow in known
ways.
TEXT
    [ -z "${FLOOR_CLIENT:-}" ] || cat <<TEXT
\`floor\` is a minimal client: it sends, waits, and finds the end of the answer.
TEXT
    cat <<TEXT

Machine: $(uname -sr), $(awk -F': ' '/model name/ {print $2; exit}' /proc/cpuinfo 2>/dev/null), $(nproc) cores.
TEXT
    compare "GET, 50 connections" get 50
    compare "PUT, 50 connections" put 50
    # Longer, because it begins with a thousand connections, which springload opens twice.
    seconds=$((3 * seconds))
    compare "GET, 1000 connections, runs of $seconds s" get 1000
    seconds=$((seconds / 3))
    half=$(capacity)
    compare "GET at $half/s, half of what the server gave, 50 connections" rate 50
    compare "The same, with --slack 1ms" slack 50
    compare "Mixed creates, reads, updates and deletes, 50 connections" crud 50
    compare "Bulk insert, per document, 100 in a request, 50 connections" fill 50 document
    if [ -n "${IRON_CUSHION:-}" ]; then
        compare "Iron Cushion's flags: mixed operations, 50 connections" mixed 50 operation
        compare "Iron Cushion's flags: bulk insert of 100 in a request" bulk 50 document
        cat <<'TEXT'

In these two tables, `springload cushion` and Iron Cushion have the same flags, schema and seed. The
CPU is the difference between a run and one of a quarter of its length, so that starting the Java
virtual machine and most of its compilation do not count. springload's strings have one to five
words and Iron Cushion's one to four, which makes Iron Cushion's documents about 7 % shorter.
TEXT
    fi
    [ -x /usr/bin/time ] && memory
    compare_stalls
} >"$work/table"
# The section of the other script is kept.
if grep -qs '^## HBase' "$out"; then
    { echo; sed -n '/^## HBase/,$p' "$out"; } >>"$work/table"
fi
cp "$work/table" "$out"
cat "$out"
