# shellcheck shell=bash disable=SC2154 # sourced by peers.sh, which sets the variables
# The peak memory of springload and wrk, with few and with many connections.

# The peak memory of this command, in MB.
resident() {
    /usr/bin/time -f %M -o "$work/memory" "$@" >/dev/null 2>&1 || true
    awk 'END {printf "%.1f\n", $1 / 1024}' "$work/memory"
}

memory_springload() {
    resident "$springload" http "$url/" -q -t 1 -c "$1" -d "${seconds}s" -o "$work/run"
}
memory_wrk() { resident wrk -t 1 -c "$1" -d "${seconds}s" "$url/"; }

section_memory() {
    local connections tools tool ratio
    [ -x /usr/bin/time ] || return 0
    start_server
    mapfile -t tools < <(tools_for memory 50)
    cat <<TEXT

## Peak memory

| connections | tool | MB: median (min to max) | springload / tool |
|---|---|---|---|
TEXT
    for connections in 50 1000 10000; do
        rm -f "$work"/memory.*
        for _ in $(seq "$rounds"); do
            for tool in "${tools[@]}"; do
                "$(round memory "$tool")" "$connections" >>"$work/memory.$tool"
            done
        done
        for tool in "${tools[@]}"; do
            ratio=$(ratio_to "$work/memory.springload" "$work/memory.$tool")
            printf '| %d | %s | %s | %s |\n' "$connections" "$tool" \
                "$(summary 0 <"$work/memory.$tool")" "$ratio"
        done
    done
    echo "memory: done" >&2
}
