# shellcheck shell=bash disable=SC2154 # sourced by peers.sh, which sets the variables
# The server of a section, what a round of a tool costs, and the table of several tools.

# Stops the server, by its process id.
stop_server() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    server=
}

# Gives the server one core and the client another.
pin_server() {
    if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
        taskset -a -cp 1 "$server" >/dev/null
        client=(taskset -c 0)
    fi
}

# Replaces the server with a null responder that has further flags; sets url and port.
start_server() {
    stop_server
    counter=null
    : >"$work/server"
    "$springload" serve --null --listen 127.0.0.1:0 "$@" >"$work/server" &
    server=$!
    until grep -q 'http://' "$work/server"; do
        kill -0 $server || exit 1
        sleep 0.05
    done
    url=$(grep -o 'http://[0-9.:]*' "$work/server")
    port=${url##*:}
    pin_server
    echo "GET $url/db/x" >"$work/targets"
}

# A port that nothing listens on, below those that the system hands out. Until it is used, another
# program may take it.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 10000))
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# start_somewhere START ANSWERS: replaces the server with one that cannot choose its port. START
# starts it in the background on $port, and sets server; ANSWERS tells whether it is this server
# that answers there. Fails if there is none after five tries.
start_somewhere() {
    for _ in 1 2 3 4 5; do
        stop_server
        port=$(free_port)
        "$1"
        for _ in {1..100}; do
            kill -0 "$server" 2>/dev/null || break
            if "$2" 2>/dev/null; then
                pin_server
                return
            fi
            sleep 0.05
        done
    done
    stop_server
    return 1
}

# count FIELD: the server's counter; reading it does not count.
count() { "count_$counter" "$1"; }
count_null() {
    local text
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /_springload/counters HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3
    IFS= read -r -d '}' -t 5 text <&3
    exec 3>&-
    grep -o "\"$1\":[0-9]*" <<<"$text" | cut -d: -f2
}

# measure FIELD COMMAND...: CPU seconds of the command, with those of the processes that it starts
# and waits for, and the growth of FIELD; its output is saved in $work/output. Against a server that
# does nothing, springload rightly reports that it is client-bound (status 5).
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

# Values on stdin: median (min to max), with this many decimal places.
summary() {
    sort -n | awk -v f="%.$1f" '{v[NR] = $1} END {
        printf f " (" f " to " f ")", v[int((NR + 1) / 2)], v[1], v[NR]
    }'
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
# The medians of two files of values, the first divided by the second.
ratio_to() { awk -v a="$(median <"$1")" -v b="$(median <"$2")" 'BEGIN {printf "%.2f", a / b}'; }

# The function that is a round of a tool.
round() { echo "$1_${2//-/_}"; } # kind, tool

tools_for() { # kind, connections: the tools that are there and have such a round
    local tool
    for tool in springload springload_agents_1 springload_agents_2 springload_slack \
        springload_get wrk wrk2 h2load oha bombardier hey vegeta k6 siege redis-benchmark \
        memtier_benchmark floor iron_cushion; do
        declare -F "$(round "$1" "$tool")" >/dev/null || continue
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

name() { # tool: what a table calls it
    case $1 in
        iron_cushion) echo "Iron Cushion" ;;
        springload_agents_*) echo "springload --agents ${1##*_}" ;;
        springload_get) echo "springload, only reads" ;;
        *) echo "$1" ;;
    esac
}

compare() { # title, kind, connections, what the time is for if not a request
    local title=$1 kind=$2 connections=$3 tool tools ratio
    mapfile -t tools < <(tools_for "$kind" "$connections")
    rm -f "$work"/cpu.*
    for _ in $(seq "$rounds"); do
        for tool in "${tools[@]}"; do
            "$(round "$kind" "$tool")" "$connections" >>"$work/cpu.$tool"
        done
    done
    printf '\n## %s\n\n' "$title"
    printf '| tool | CPU per %s, µs: median (min to max) | springload / tool |\n|---|---|---|\n' \
        "${4:-request}"
    for tool in "${tools[@]}"; do
        ratio=$(ratio_to "$work/cpu.springload" "$work/cpu.$tool")
        # A ratio to itself says nothing.
        [ ${#tools[@]} -gt 1 ] || ratio=none
        printf '| %s | %s | %s |\n' "$(name "$tool")" "$(summary 2 <"$work/cpu.$tool")" "$ratio"
    done
    [ ${#tools[@]} -gt 1 ] || printf '\nNo tool to compare springload with was there.\n'
    echo "$title: done" >&2
}
