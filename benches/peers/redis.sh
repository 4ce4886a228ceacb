# shellcheck shell=bash disable=SC2154,SC2034 # sourced by peers.sh, which sets the variables
# Redis, beside redis-benchmark and memtier_benchmark: GET and SET of values of 32 bytes, with one
# command in flight on each of 50 connections, or sixteen.

# Keys are as long in all tools. redis-benchmark's and springload's are numbered from 0 to 9999,
# memtier's from 100000000000.
keys=10000
memtier_from=100000000000

# ask_redis COMMAND: Redis's answer, if it is one text.
ask_redis() {
    local length text
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s\r\n' "$1" >&3
    IFS= read -r -t 5 length <&3
    length=${length//[!0-9]/}
    IFS= read -r -t 5 -N "$length" text <&3
    exec 3>&-
    printf '%s' "$text"
}
# Redis's own count of one command.
count_redis() { # get, set
    ask_redis "INFO commandstats" | awk -F'[=,]' -v line="cmdstat_$1:calls" '
        $1 == line {n = $2}
        END {print n + 0}'
}
redis_answers() { (ask_redis "INFO server") | grep -q "^process_id:${server}[^0-9]*\$"; }

launch_redis() {
    mkdir -p "$work/redis"
    redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$work/redis" \
        --daemonize no --logfile "$work/redis.log" >"$work/errors" 2>&1 &
    server=$!
}

# Stores every key that a tool may read.
fill_redis() {
    local answers
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    awk -v n="$keys" -v from="$memtier_from" 'BEGIN {
        for (i = 0; i < n; i++) {
            printf "SET key:%012d %032d\r\nSET key:%.0f %032d\r\n", i, i, from + i, i
        }
        printf "QUIT\r\n"
    }' >&3 &
    answers=$(grep -c OK <&3)
    exec 3>&-
    wait $!
    [ "$answers" = $((2 * keys + 1)) ]
}

start_redis() {
    start_somewhere launch_redis redis_answers || return 1
    fill_redis || return 1
    counter=redis
}

# springload_redis COMMAND CONNECTIONS QUERY WORDS: COMMAND is counted, WORDS are the operation.
springload_redis() {
    each "$1" "$springload" run "redis://127.0.0.1:$port$3" -q -t 1 -c "$2" --docs "$2" \
        -d "${seconds}s" --op "x=command $4" --mix x=1 -o "$work/run"
}
# Ends after that time, not after a number of requests.
redis_benchmark() { # command, connections, pipeline
    each "$1" timeout --foreground "$seconds" redis-benchmark -h 127.0.0.1 -p "$port" -q \
        -c "$2" -P "$3" -t "$1" -r "$keys" -d 32 -n 2000000000
}
memtier() { # command, connections, pipeline, sets:gets
    each "$1" memtier_benchmark -s 127.0.0.1 -p "$port" -t 1 -c "$2" --pipeline "$3" \
        --ratio "$4" --test-time "$seconds" -d 32 --key-prefix key: \
        --key-minimum "$memtier_from" --key-maximum $((memtier_from + keys - 1)) --hide-histogram
}
key='key:{{int 000000000000 000000009999}}'
value=$(printf '%032d' 0)
redis_get_springload() { springload_redis get "$1" "" "GET $key"; }
redis_set_springload() { springload_redis set "$1" "" "SET $key $value"; }
redis_get_redis_benchmark() { redis_benchmark get "$1" 1; }
redis_set_redis_benchmark() { redis_benchmark set "$1" 1; }
redis_get_memtier_benchmark() { memtier get "$1" 1 0:1; }
redis_set_memtier_benchmark() { memtier set "$1" 1 1:0; }
# springload's connections are commands in flight, sixteen of which share a connection.
piped_get_springload() { springload_redis get $((16 * $1)) "?pipeline=16" "GET $key"; }
piped_set_springload() { springload_redis set $((16 * $1)) "?pipeline=16" "SET $key $value"; }
piped_get_redis_benchmark() { redis_benchmark get "$1" 16; }
piped_set_redis_benchmark() { redis_benchmark set "$1" 16; }
piped_get_memtier_benchmark() { memtier get "$1" 16 0:1; }
piped_set_memtier_benchmark() { memtier set "$1" 16 1:0; }

section_redis() {
    local missing='' version
    command -v redis-server >/dev/null || missing="redis-server is not installed"
    if [ -z "$missing" ] && ! start_redis; then
        missing="redis-server did not start"
        cat "$work/errors" "$work/redis.log" >&2 || true
    fi
    if [ -n "$missing" ]; then
        printf '\n## Redis\n\nNot measured: %s.\n' "$missing"
        return
    fi
    compare "Redis: GET, 50 connections" redis_get 50 command
    compare "Redis: SET, 50 connections" redis_set 50 command
    compare "Redis: GET, 50 connections, 16 commands in flight on each" piped_get 50 command
    compare "Redis: SET, 50 connections, 16 commands in flight on each" piped_set 50 command
    version=$(redis-server --version | sed 's/.*v=\([^ ]*\).*/Redis \1/')
    cat <<TEXT

The server of these tables is $version, which counts the commands and keeps nothing on disk.
Values have 32 bytes, keys 16, and the tools draw from $keys of them. With 16 commands in flight,
springload has \`?pipeline=16\` and \`-c 800\`, redis-benchmark \`-P 16\`, and memtier_benchmark
\`--pipeline 16\`.
TEXT
}
