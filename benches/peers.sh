#!/usr/bin/env bash
# Client CPU per request beside other load generators, on the same server in the same session.
# The null responder has one core, the client the other; the tools take turns, round by round.
# CPU time is the operating system's own (user + system of the finished process), medians with
# minimum and maximum. Writes docs/benchmarks.md. ROUNDS and SECONDS_EACH change the effort.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
out=docs/benchmarks.md
work=$(mktemp -d)
springload=target/release/springload
cargo build --release --quiet
$springload serve --null --listen 127.0.0.1:0 >"$work/server" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until grep -q 'http://' "$work/server"; do sleep 0.05; done
url=$(grep -o 'http://[0-9.:]*' "$work/server")
client=()
if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
    taskset -a -cp 1 $server >/dev/null
    client=(taskset -c 0)
fi

# A PUT of a constant document of about 250 bytes, for wrk.
cat >"$work/put.lua" <<LUA
wrk.method = "PUT"
wrk.body = '{"type":"t","n":12345,"pad":"' .. string.rep("p", 220) .. '"}'
wrk.headers["Content-Type"] = "application/json"
LUA

# measure COMMAND...: user + system seconds of the command; its output is left in $work/output.
# Against a server that does nothing springload calls itself client-bound (status 5), and is right.
measure() {
    local TIMEFORMAT='%U %S'
    { time "${client[@]}" "$@" >"$work/output" 2>"$work/errors" || true; } 2>&1 \
        | awk '{print $1 + $2}'
}

# One round of one tool: prints microseconds of CPU per request.
springload_() { # connections, further flags
    local connections=$1 cpu
    shift
    cpu=$(measure $springload run "$url" -q -t 1 -c "$connections" --docs "$connections" --batch 1 \
        -o "$work/run" --format csv "$@")
    awk -F, -v cpu="$cpu" 'NR > 1 {n += $4} END {printf "%.3f\n", cpu * 1e6 / n}' "$work/output"
}
wrk_() { # connections, further flags
    local connections=$1 cpu
    shift
    cpu=$(measure wrk -t1 -c"$connections" -d"${seconds}s" "$@" "$url/db/x")
    awk -v cpu="$cpu" '/requests in/ {printf "%.3f\n", cpu * 1e6 / $1}' "$work/output"
}
h2load_() {
    local connections=$1 cpu
    cpu=$(measure h2load --h1 -t1 -c"$connections" -D"$seconds" "$url/db/x")
    awk -v cpu="$cpu" '/^requests:/ {printf "%.3f\n", cpu * 1e6 / $8}' "$work/output"
}
oha_() {
    local connections=$1 cpu
    cpu=$(measure oha --no-tui -c "$connections" -z "${seconds}s" "$url/db/x")
    awk -v cpu="$cpu" '/responses$/ {n += $2} END {printf "%.3f\n", cpu * 1e6 / n}' "$work/output"
}

wrk2_() { # connections, further flags
    local connections=$1 cpu
    shift
    cpu=$(measure wrk2 -t1 -c"$connections" -d"${seconds}s" "$@" "$url/db/x")
    awk -v cpu="$cpu" '/requests in/ {printf "%.3f\n", cpu * 1e6 / $1}' "$work/output"
}
siege_() {
    local connections=$1 cpu
    cpu=$(measure siege -b -j -c "$connections" -t "${seconds}S" "$url/db/x")
    awk -v cpu="$cpu" -F: '/"transactions"/ {printf "%.3f\n", cpu * 1e6 / $2}' "$work/output"
}

get_springload() { springload_ "$1" --mix read=1 -d "${seconds}s"; }
get_wrk() { wrk_ "$1"; }
get_h2load() { h2load_ "$1"; }
get_oha() { oha_ "$1"; }
get_siege() { siege_ "$1"; }
rate_springload() { springload_ "$1" --mix read=1 -d "${seconds}s" --rate "$half"; }
rate_wrk2() { wrk2_ "$1" -R "$half"; }
crud_springload() { springload_ "$1" -d "${seconds}s"; }
fill_springload() { # per document, 100 in a request
    local cpu
    cpu=$(measure $springload run "$url" -q -t 1 -c "$1" --docs 2m --batch 100 --ops 0 \
        -o "$work/run" --format csv)
    awk -v cpu="$cpu" 'BEGIN {printf "%.3f\n", cpu * 1e6 / 2e6}'
}
put_springload() { springload_ "$1" --mix create=1 -d "${seconds}s"; }
put_wrk() { wrk_ "$1" -s "$work/put.lua"; }

# Half of the requests per second that the server gave to springload in a closed loop.
capacity() {
    springload_ 50 --mix read=1 -d "${seconds}s" >/dev/null
    awk -F, -v seconds="$seconds" '$1 == "crud" {n += $4} END {printf "%d\n", n / seconds / 2}' \
        "$work/output"
}

# The most memory that springload took, in a run with few and with many connections.
memory() {
    local connections
    printf '\n## Peak memory\n\n| connections | resident, MB |\n|---|---|\n'
    for connections in 50 1000; do
        /usr/bin/time -f %M -o "$work/memory" $springload run "$url" -q -t 1 -c "$connections" \
            --docs "$connections" --mix read=1 -d "${seconds}s" -o "$work/run" >/dev/null 2>&1 || true
        awk -v c="$connections" 'END {printf "| %d | %.0f |\n", c, $1 / 1024}' "$work/memory"
    done
}

# Sorted values on stdin: median (min to max).
summary() { sort -n | awk '{v[NR] = $1} END {printf "%.2f (%.2f to %.2f)", v[int((NR + 1) / 2)], v[1], v[NR]}'; }
median() { sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

compare() { # title, kind, connections
    local title=$1 kind=$2 connections=$3 tool tools=(springload)
    for tool in wrk wrk2 h2load oha siege; do
        # Siege makes a thread for each connection, and does not end with a thousand of them.
        [ "$tool" = siege ] && [ "$connections" -gt 255 ] && continue
        if command -v $tool >/dev/null && declare -F "${kind}_$tool" >/dev/null; then
            tools+=("$tool")
        fi
    done
    rm -f "$work"/cpu.*
    for _ in $(seq "$rounds"); do
        for tool in "${tools[@]}"; do
            "${kind}_$tool" "$connections" >>"$work/cpu.$tool"
        done
    done
    local base
    base=$(median "$work/cpu.springload")
    printf '\n## %s\n\n| tool | CPU per request, µs: median (min to max) | springload / tool |\n' "$title"
    printf '|---|---|---|\n'
    for tool in "${tools[@]}"; do
        awk -v tool="$tool" -v text="$(summary <"$work/cpu.$tool")" -v base="$base" \
            -v own="$(median "$work/cpu.$tool")" \
            'BEGIN {printf "| %s | %s | %.2f |\n", tool, text, base / own}'
    done
    echo "$title: done" >&2
}

{
    cat <<TEXT
# Benchmarks

Written by \`make bench\`. Ratios within one session mean something, absolute times little: the
machine is shared. Server: the null responder (\`springload serve --null\`), one core; client: one
thread on another core; documents of about 250 bytes; $rounds rounds of $seconds s, tools in turn.
springload makes each document, parses and checks each answer, and records three histograms per
request; the others send constant requests.

Machine: $(uname -sr), $(awk -F': ' '/model name/ {print $2; exit}' /proc/cpuinfo 2>/dev/null), $(nproc) cores.
TEXT
    compare "GET, 50 connections" get 50
    compare "PUT, 50 connections" put 50
    compare "GET, 1000 connections" get 1000
    half=$(capacity)
    compare "GET at $half/s, half of what the server gave, 50 connections" rate 50
    compare "Mixed creates, reads, updates and deletes, 50 connections" crud 50
    compare "Bulk insert, per document, 100 in a request, 50 connections" fill 50
    [ -x /usr/bin/time ] && memory
} >"$work/table"
cp "$work/table" $out
cat $out
