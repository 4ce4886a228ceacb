#!/usr/bin/env bash
# Client CPU per operation and throughput on HBase, compared with YCSB and its own binding, on the
# same server and the same records, alternately. Writes the last section of docs/benchmarks.md.
#
#   YCSB=ycsb-0.17.0/bin/ycsb HBASE_CONF=/etc/hbase/conf benches/hbase.sh
#
# YCSB names its launcher, HBASE_CONF the folder of the server's hbase-site.xml, BINDING YCSB's
# binding (hbase20). ROUNDS, RECORDS, OPERATIONS and THREADS change the effort, OUT the file. The
# table stays on the server; its name is printed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${YCSB:?names the launcher of YCSB, such as ycsb-0.17.0/bin/ycsb}"
: "${HBASE_CONF:?names the folder of hbase-site.xml}"
read -ra ycsb <<<"$YCSB"
binding=${BINDING:-hbase20}
rounds=${ROUNDS:-5}
records=${RECORDS:-20000}
operations=${OPERATIONS:-200000}
threads=${THREADS:-16}
out=${OUT:-docs/benchmarks.md}
springload=${SPRINGLOAD:-target/dist/springload}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "${SPRINGLOAD:-}" ] || cargo build --profile dist --quiet

value() {
    sed -n "/<name>$1</,/<\/property>/s/.*<value>\(.*\)<\/value>.*/\1/p" \
        "$HBASE_CONF/hbase-site.xml" | head -n 1
}
host=$(value hbase.zookeeper.quorum | cut -d, -f1 | cut -d: -f1)
port=$(value hbase.master.port)
server=hbase://${host:-127.0.0.1}:${port:-16000}
table=springload_bench_$$
"$springload" hbase create-table "$server/$table" --cf cf --splits 20 >&2
common=("$binding" -cp "$HBASE_CONF" -p workload=site.ycsb.workloads.CoreWorkload -p table="$table"
    -p columnfamily=cf -p recordcount="$records" -p requestdistribution=zipfian
    -threads "$threads")
mix() {
    case $1 in
    a) echo "-p readproportion=0.5 -p updateproportion=0.5" ;;
    c) echo "-p readproportion=1 -p updateproportion=0" ;;
    esac
}

# run TOOL MIX OPERATIONS: CPU seconds of the process, and operations per second.
run() {
    local TIMEFORMAT='%U %S' tool=("${ycsb[@]}") cpu
    [ "$1" != springload ] || tool=("$springload" ycsb)
    # shellcheck disable=SC2046 # several words on purpose
    cpu=$({ time "${tool[@]}" run "${common[@]}" $(mix "$2") -p operationcount="$3" \
        >"$work/output" 2>"$work/errors" || true; } 2>&1)
    if [ "$(grep -c 'Return=OK' "$work/output")" = 0 ] || grep -q 'Return=[^O]' "$work/output"; then
        cat "$work/errors" "$work/output" >&2
        exit 1
    fi
    awk -F', ' -v cpu="$cpu" '
        /Throughput/ { split(cpu, part, " "); print part[1] + part[2], $3 }' "$work/output"
}
# CPU per operation in microseconds, and the throughput of the longer run. The CPU is the difference
# between a run and one of a quarter of its length, so that the JVM's start and most of its
# compilation do not count.
measure() {
    local long short
    short=$(run "$1" "$2" $((operations / 4)))
    long=$(run "$1" "$2" "$operations")
    awk -v short="$short" -v long="$long" -v n="$operations" 'BEGIN {
        split(short, s, " "); split(long, l, " ")
        print (l[1] - s[1]) * 1e6 / (0.75 * n), l[2]
    }'
}
# The median, with minimum and maximum, of a column.
middle() {
    sort -n -k"$1,$1" "$2" | awk -v column="$1" -v form="$3" '{ of[NR] = $column }
        END { printf form " (" form " to " form ")", of[int((NR + 1) / 2)], of[1], of[NR] }'
}
median() { sort -n -k1,1 "$1" | awk '{ of[NR] = $1 } END { print of[int((NR + 1) / 2)] }'; }

# The records are written by YCSB's own binding, and read by both.
"${ycsb[@]}" load "${common[@]}" -p operationcount=1 >"$work/output" 2>"$work/errors" || {
    cat "$work/errors" >&2
    exit 1
}
{
    cat <<TEXT
## HBase, beside YCSB with its own binding

Written by \`benches/hbase.sh\`. One server has one table of 21 regions with $records records,
loaded by YCSB's binding $binding. There are $threads threads or connections, and the tools take turns,
$rounds rounds of $operations operations. The CPU is the difference between a run and one of a
quarter of its length, so that starting the Java virtual machine and most of its compilation do not
count. Client and server share the processors, and the server takes most of them: the throughput is
the server's.

| workload | tool | client CPU per operation, µs: median (min to max) | operations per client CPU second | operations/s: median (min to max) |
|---|---|---|---|---|
TEXT
    for name in a c; do
        rm -f "$work"/times.*
        for _ in $(seq "$rounds"); do
            for tool in springload ycsb; do
                measure "$tool" "$name" >>"$work/times.$tool"
            done
        done
        for tool in springload ycsb; do
            shown=$([ "$tool" = ycsb ] && echo "YCSB $binding" || echo springload)
            echo "| $name | $shown | $(middle 1 "$work/times.$tool" %.1f) |" \
                "$(median "$work/times.$tool" | awk '{ printf "%.0f", 1e6 / $1 }') |" \
                "$(middle 2 "$work/times.$tool" %.0f) |"
        done
    done
} >"$work/section"
touch "$out"
# The lines before it, without trailing empty ones.
{ printf '%s\n\n' "$(sed '/^## HBase/,$d' "$out")"; cat "$work/section"; } >"$work/whole"
cp "$work/whole" "$out"
cat "$work/section"
echo "table $table stays on the server" >&2
