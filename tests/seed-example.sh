#!/usr/bin/env bash
# The example from Iron Cushion's README in full size, through `springload cushion` against the
# stand-in in a separate process: 2,000,000 documents, 100,000 operations on 100 connections.
# Asserts every count, that nothing failed, and the client's peak memory. Needs no server.
set -euo pipefail
cd "$(dirname "$0")/.."

most_kib=$((300 * 1024))
cargo build --release --quiet
bin=${CARGO_TARGET_DIR:-target}/release/springload
dir=$(mktemp -d)
server=
# Only the process that this script started, by its ID.
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT

fail() {
    echo "seed example: $*" >&2
    exit 1
}

"$bin" serve --listen 127.0.0.1:0 >"$dir/serve" &
server=$!
for _ in $(seq 100); do
    url=$(grep -o 'http://[0-9.:]*' "$dir/serve" || true)
    [ -n "$url" ] && break
    sleep 0.1
done
[ -n "$url" ] || fail "the stand-in does not start"
curl -fsS -X PUT "$url/seed" >/dev/null

"$bin" cushion --database_address="$url" --database_name=seed --num_connections=100 \
    --json_document_schema_filename=examples/schemas/example.json \
    --num_documents_per_bulk_insert=1000 --num_bulk_insert_operations=20 \
    --num_crud_operations=1000 --create_weight=2 --read_weight=2 --update_weight=3 \
    --delete_weight=3 --quiet --output "$dir/out" >"$dir/report" &
client=$!
# The kernel records the peak; the last reading is at most 0.2 s before the end.
peak=0
while kill -0 "$client" 2>/dev/null; do
    now=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$client/status" 2>/dev/null || true)
    [ -z "$now" ] || peak=$now
    sleep 0.2
done
code=0
wait "$client" || code=$?
cat "$dir/report"
[ "$code" = 0 ] || [ "$code" = 5 ] || fail "exit status $code"

# The server's counters and the record's must both be exactly these.
counters=$(curl -fsS "$url/_springload/counters")
for expected in documents_bulk=2000000 bulk_requests=2000 documents_created=20000 \
    documents_read=20000 documents_updated=30000 documents_deleted=30000 conflicts=0 \
    errors_other=0; do
    case "$counters" in
        *"\"${expected%=*}\":${expected#*=}"[,}]*) ;;
        *) fail "the server does not count $expected: $counters" ;;
    esac
done
tallied=$(awk -F'[ ,:]+' '
    /^        {/ { kind = "" }
    /^          "kind":/ { gsub(/"/, "", $3); kind = $3 }
    /^          "(issued|ok|unfinished)":/ { gsub(/"/, "", $2); printf "%s.%s=%s ", kind, $2, $3 }
    /^          "failures": \{\}/ { printf "%s.failures=0 ", kind }
    ' "$dir/out/run.json")
wanted=
for pair in bulk_insert=2000000 create=20000 read=20000 update=30000 delete=30000; do
    kind=${pair%=*} count=${pair#*=}
    wanted+="$kind.issued=$count $kind.ok=$count $kind.failures=0 $kind.unfinished=0 "
done
[ "$tallied" = "$wanted" ] || fail "on record is $tallied, not $wanted"

[ "$peak" -gt 0 ] || fail "no reading of the client's memory"
[ "$peak" -lt "$most_kib" ] || fail "the client needed $peak KiB of memory, above $most_kib"
echo "seed example: all counts exact, no failure, client's peak memory $((peak / 1024)) MiB," \
    "exit status $code"
