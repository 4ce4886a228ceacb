# shellcheck shell=bash disable=SC2154 # sourced by peers.sh, which sets the variables
# Iron Cushion, beside the verb that has its flags.

# A document of about 250 bytes as an example, for its flags.
cat >"$work/schema.json" <<'JSON'
{"type": "", "name": "", "title": "", "born": 0, "active": true, "balance": 0.0,
 "address": {"city": "", "zip": 0, "verified": false}, "scores": [0.0, 0.0]}
JSON

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
mixed_springload() { mixed "$1" "$springload" cushion -q -t 1 -o "$work/run"; }
mixed_iron_cushion() { mixed "$1" "${iron_cushion[@]}"; }
bulk_springload() { bulk "$1" "$springload" cushion -q -t 1 -o "$work/run"; }
# With a few operations, because it fails after the bulk insert without any.
bulk_iron_cushion() { bulk "$1" "${iron_cushion[@]}" --num_crud_operations=8; }

section_cushion() {
    [ -n "${IRON_CUSHION:-}" ] || return 0
    start_server
    compare "Iron Cushion's flags: mixed operations, 50 connections" mixed 50 operation
    compare "Iron Cushion's flags: bulk insert of 100 in a request" bulk 50 document
    cat <<'TEXT'

In these two tables, `springload cushion` and Iron Cushion have the same flags, schema and seed. The
CPU is the difference between a run and one of a quarter of its length, so that starting the Java
virtual machine and most of its compilation do not count. springload's strings have one to five
words and Iron Cushion's one to four, which makes Iron Cushion's documents about 7 % shorter.
TEXT
}
