# shellcheck shell=bash disable=SC2154 # sourced by peers.sh, which sets the variables
# The peak memory of springload and wrk, with few and with many connections.

# The peak memory of this command, in MB.
resident() {
    /usr/bin/time -f %M -o "$work/memory" "$@" >/dev/null 2>&1 || true
    awk 'END {printf "%.0f", $1 / 1024}' "$work/memory"
}

section_memory() {
    local connections ours theirs
    [ -x /usr/bin/time ] || return 0
    start_server
    printf '\n## Peak memory\n\n| connections | springload, MB | wrk, MB |\n|---|---|---|\n'
    for connections in 50 1000 10000; do
        ours=$(resident "$springload" http "$url/" -q -t 1 -c "$connections" -d "${seconds}s" \
            -o "$work/run")
        theirs=
        if command -v wrk >/dev/null; then
            theirs=$(resident wrk -t 1 -c "$connections" -d "${seconds}s" "$url/")
        fi
        printf '| %d | %s | %s |\n' "$connections" "$ours" "$theirs"
    done
}
