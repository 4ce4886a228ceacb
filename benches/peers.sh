#!/usr/bin/env bash
# Client CPU per request compared with other load generators, on the same server in the same
# session. The server has one core, the client the other; the tools take turns, round by round. CPU
# time is the operating system's own (user + system of the finished process, and of those that it
# waited for), divided by the requests that the server counted; medians with minimum and maximum.
# Writes docs/benchmarks.md. Each part in benches/peers/ has some of the sections.
#
# Measured are wrk, wrk2, h2load, oha, siege, k6, vegeta, bombardier and hey (the one in Go), if
# they are in the PATH; over TLS against nginx, with a certificate by openssl; redis-benchmark and
# memtier_benchmark against redis-server. Two more get rows if a variable has their command, split
# at white space:
#   FLOOR_CLIENT   a client that does the bare minimum, for comparison. It takes -p PORT (of
#                  127.0.0.1), -c CONNECTIONS, -d SECONDS and -m GET or PUT, and requests /db/x in
#                  a closed loop; its output is ignored.
#   IRON_CUSHION   Iron Cushion; it takes that program's flags. Its jar and netty's do:
#                  IRON_CUSHION='java -cp IRON.jar:NETTY.jar co.adhoclabs.ironcushion.Benchmark'
# ROUNDS, SECONDS_EACH and STALL_SECONDS (of a run with two stalls; a multiple of two) change the
# effort, OUT the file of the tables. SECTIONS='tls redis' measures these alone; without OUT, they
# are only printed. SPRINGLOAD names a binary to use instead of building one.
# shellcheck disable=SC2034 # the parts use the variables
set -euo pipefail
cd "$(dirname "$0")/.."

all="get agents put many rate slack crud fill tls redis cushion memory stalls"
read -ra sections <<<"${SECTIONS:-$all}"
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
period=${STALL_SECONDS:-10}
out=${OUT:-${SECTIONS:+/dev/null}}
out=${out:-docs/benchmarks.md}
springload=${SPRINGLOAD:-target/dist/springload}
read -ra floor <<<"${FLOOR_CLIENT:-}" || true
read -ra iron_cushion <<<"${IRON_CUSHION:-}" || true
export GOMAXPROCS=1

for section in "${sections[@]}"; do
    [[ " $all " == *" $section "* ]] || {
        echo "no section $section; there are: $all" >&2
        exit 2
    }
done
[ -n "${SPRINGLOAD:-}" ] || cargo build --profile dist --quiet

work=$(mktemp -d)
server=
client=()
trap 'stop_server; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
for part in measure http tls redis cushion memory stalls; do
    # shellcheck source=/dev/null
    source "benches/peers/$part.sh"
done

# The version and, if it was built here, the commit.
program() {
    local text commit
    text=$("$springload" --version)
    if [ -z "${SPRINGLOAD:-}" ] && [ -e .git ] \
        && commit=$(git rev-parse --short HEAD 2>/dev/null); then
        text+=", commit $commit"
        git diff --quiet HEAD -- src crates Cargo.toml Cargo.lock || text+=" with changes"
    fi
    echo "$text"
}

processor() { awk -F': ' '/model name/ {print $2; exit}' /proc/cpuinfo 2>/dev/null; }

introduction() {
    cat <<TEXT
# Benchmarks

Written by \`make bench\`. Compare ratios within a session; absolute times mean little, because the
machine is shared. The server is the null responder (\`springload serve --null\`) on one core,
unless a section names another; the client has one thread on another. Documents have about 250 bytes
when read and 300 when written. There are $rounds rounds of $seconds s, and the tools take turns.
springload generates each document, parses and checks each answer, and records the times of each
request in histograms; the other tools, except Iron Cushion, send constant requests. Requests are
counted by the server. Tools written in Go run on one processor; k6 discards bodies and makes no
summary, and vegeta's results are discarded. \`benches/peers.sh\` lists the tools that it looks for.
Cassandra is not measured here: [its page](cassandra.md#beside-another-tool) has figures beside
latte, and the last section those beside YCSB, on HBase. [Pathologies](pathologies.md) shows what
these tools report about servers that are slow in known ways.
TEXT
    [ -z "${FLOOR_CLIENT:-}" ] || cat <<TEXT
\`floor\` is a minimal client: it sends, waits, and finds the end of the answer.
TEXT
    cat <<TEXT

Program: $(program).

Machine: $(uname -sr), $(processor), $(nproc) cores.
TEXT
}

{
    introduction
    for section in "${sections[@]}"; do
        "section_$section"
    done
} >"$work/table"
# The section of the other script is kept.
if grep -qs '^## HBase' "$out"; then
    { echo; sed -n '/^## HBase/,$p' "$out"; } >>"$work/table"
fi
cp "$work/table" "$out"
cat "$work/table"
