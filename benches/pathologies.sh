#!/usr/bin/env bash
# What load generators report about servers that are slow in known ways, compared with the truth:
# writes the results into docs/pathologies.md, from "## Results" on. The text above that is written
# by hand and explains how the truth is computed.
#
# Each tool has its own server, and all run at the same time, so that disturbances of the machine
# affect all of them. RATE per second for LENGTH seconds, once undisturbed and once beside BUSY
# loops that use as much of the processor as they get. The tools are springload and, if they are in
# the PATH, wrk2, vegeta, k6, oha, hey, bombardier and wrk, with their default flags. Siege has no
# percentiles to compare.
# SPRINGLOAD names a binary to use instead of building one, PATHOLOGIES the file.
set -euo pipefail
cd "$(dirname "$0")/.."

rate=${RATE:-200}
seconds=${LENGTH:-60}
busy=${BUSY:-3}
out=${PATHOLOGIES:-docs/pathologies.md}
springload=${SPRINGLOAD:-target/dist/springload}
work=$(mktemp -d)
children=()
stop() {
    [ ${#children[@]} = 0 ] || kill "${children[@]}" 2>/dev/null || true
    children=()
}
trap 'stop; wait; rm -rf "$work"' EXIT
[ -n "${SPRINGLOAD:-}" ] || cargo build --profile dist --quiet

# Each scenario: its name, the flags of its server, and the same as variables for the model below,
# in milliseconds.
half=$((seconds / 2))
scenarios=(
    "Steady: 10 ms|--delay 10ms|usual=10"
    "One stall of 1 s|--delay 10ms --stall 1s@${half}s|usual=10 stall=1000 at=${half}e3"
    "A pause of 200 ms every 10 s|--delay 10ms --stall 200ms@5s/10s|usual=10 stall=200 at=5e3 every=1e4"
    "A ramp from 10 to 100 ms|--delay 10ms..100ms/${seconds}s|usual=10 last=100 over=${seconds}e3"
    "300 ms for 2 %, 10 ms for the others|--delay 10ms,300ms@2%|usual=10 rare=300 share=0.02"
    "200 ms for 10 %, 5 ms for the others|--delay 5ms,200ms@10%|usual=5 rare=200 share=0.1"
    "A server that serves nine tenths of the rate|--capacity $((rate * 9 / 10))/s|capacity=$((rate * 9 / 10))"
)

tools=(springload)
for tool in wrk2 vegeta k6 oha hey bombardier wrk; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is not on the PATH: left out" >&2
        continue
    fi
    tools+=("$tool")
    [ "$tool" != oha ] || tools+=(oha_corrected)
done

cat >"$work/rate.js" <<'JS'
import http from 'k6/http';
const shares = ['p(50)', 'p(99)'];
export const options = {
  summaryTrendStats: shares,
  scenarios: {
    rate: {
      executor: 'constant-arrival-rate', rate: Number(__ENV.RATE), duration: __ENV.LENGTH,
      preAllocatedVUs: 50, maxVUs: 1000,
    },
  },
};
export default () => http.get(__ENV.TARGET);
export const handleSummary = (data) => ({
  stdout: shares.map((share) => data.metrics.http_req_duration.values[share]).join(' ') + '\n',
});
JS
cat >"$work/bombardier" <<'GO'
{{ with .Result.LatenciesStats (FloatsToArray 0.5 0.99) -}}
{{ index .Percentiles 0.5 }} {{ index .Percentiles 0.99 }}
{{ end }}
GO

# tool_NAME URL FOLDER: requests the URL and prints the p50 and p99 that the tool reports, in ms.
tool_springload() {
    "$springload" http "$1" -r "$rate" -d "${seconds}s" -q -o "$2/run" >"$2/line" 2>&1 || true
    "$springload" report "$2/run" | awk '
        /^ *response, / {unit = $2}
        /^ *request / {
            gsub(",", "")
            times = unit ~ /^µs/ ? 0.001 : unit ~ /^s/ ? 1000 : 1
            print $4 * times, $6 * times
        }'
}
# Lines of wrk and wrk2, such as "99.000%  10.50ms".
spectrum() {
    awk '/^ *(50|99)(.000)?% / {
        unit = $2
        sub(/[0-9.]*/, "", unit)
        printf "%s ", $2 * (unit == "us" ? 0.001 : unit == "s" ? 1000 : unit == "m" ? 6e4 : 1)
    }'
}
tool_wrk2() { wrk2 -d "${seconds}s" -R "$rate" -L "$1" | spectrum; }
tool_wrk() { wrk -d "${seconds}s" --latency "$1" | spectrum; }
tool_vegeta() {
    echo "GET $1" | vegeta attack -rate "$rate" -duration "${seconds}s" -output "$2/vegeta"
    vegeta encode -to csv "$2/vegeta" | cut -d, -f3 | sort -n | awk '
        {v[NR] = $1 / 1e6}
        END {print v[int(NR * 0.5)], v[int(NR * 0.99)]}'
}
tool_k6() {
    k6 run -q --address= --no-usage-report --no-thresholds -e TARGET="$1" -e RATE="$rate" \
        -e LENGTH="${seconds}s" "$work/rate.js"
}
tool_oha() { # URL, folder, further flags
    oha --no-tui -z "${seconds}s" -q "$rate" --output-format json "${@:3}" "$1" >"$2/json"
    sed -n '/latencyPercentiles/,/}/p' "$2/json" | tr -d '":,' \
        | awk '$1 ~ /^p(50|99)$/ {printf "%s ", $2 * 1000}'
}
tool_oha_corrected() { tool_oha "$1" "$2" --latency-correction; }
# Its rate is per worker, of which it has 50.
tool_hey() {
    hey -z "${seconds}s" -q "$((rate / 50))" "$1" | awk '/^ *(50|99)%/ {printf "%s ", $3 * 1000}'
}
tool_bombardier() {
    bombardier -d "${seconds}s" -r "$rate" -l -p r -o "path:$work/bombardier" "$1" \
        | awk 'NF == 2 {print $1 / 1000, $2 / 1000}'
}

# truth VARIABLES FROM <LOG: the share of the due requests that the server received, in %, and p50
# and p99 in ms of requests due at k / rate from FROM seconds to the end, on the server that wrote
# the log. docs/pathologies.md explains the steps.
truth() {
    local variables
    read -ra variables <<<"$1"
    sort -t, -n -k1,1 -k2,2 | awk -F, -v OFMT=%.10g -v rate="$rate" -v seconds="$seconds" -v from="$2" \
        "${variables[@]/#/-v}" '
        function held(due, within) {
            if (!stall || due < at) return due
            within = every ? (due - at) % every : due - at
            return within < stall ? due + stall - within : due
        }
        # When the model answers a request that arrives at "came". "free": when the queue is empty.
        function answered(came, slow, delay) {
            if (capacity) {
                free = (free > came ? free : came) + 1000 / capacity
                came = free
            }
            delay = slow ? rare : usual
            if (over) delay = came < over ? usual + (last - usual) * came / over : last
            return held(came + delay)
        }
        BEGIN {turn = 2 * 3.14159265358979 / 1000 * rate}
        $1 ~ /^[0-9]+$/ && $2 != "" {
            came = $1 / 1000
            ended = $2 / 1000
            if (came < seconds * 1000) sent++
            east += cos(turn * came)
            north += sin(turn * came)
            by_law = answered(came, rare && ended - came >= rare)
            n++
            arrival[n] = came
            late[n] = ended > by_law ? ended - by_law : 0
            print by_law, "gave", ended
        }
        END {
            printf "-1 sent %.0f\n", 100 * sent / rate / seconds
            free = 0
            j = 1
            most = 1000 / rate
            phase = atan2(north, east) / turn
            for (k = 0; k < rate * seconds; k++) {
                due = phase + k * 1000 / rate
                by_law = answered(due, share && int((k + 1) * share) > int(k * share))
                while (j < n && arrival[j + 1] <= due) j++
                if (due >= from * 1000) print by_law, "due", due, late[j] < most ? late[j] : most
            }
        }' | sort -n | awk -v OFMT=%.10g '
        $2 == "sent" {print -1, $3}
        $2 == "gave" && $3 > until {until = $3}
        $2 == "due" {end = $1 + $4; print (end > until ? end : until) - $3}' | sort -n | awk '
        NR == 1 {sent = $2}
        NR > 1 {v[NR - 1] = $1}
        function share(q) {return v[int((NR - 1) * q)]}
        END {print sent, share(0.5), share(0.99)}'
}

start_server() { # folder, flags
    mkdir -p "$1"
    : >"$1/server"
    # shellcheck disable=SC2086 # several flags
    "$springload" serve --null --listen 127.0.0.1:0 --log "$1/log" $2 >"$1/server" &
    children+=($!)
    until grep -q 'http://' "$1/server"; do
        kill -0 $! || exit 1
        sleep 0.05
    done
}

# One scenario with all tools: saves the output of each in a separate folder.
play() { # folder, flags of the server
    local tool running=()
    for tool in "${tools[@]}"; do
        start_server "$1/$tool" "$2"
    done
    for tool in "${tools[@]}"; do
        "tool_$tool" "$(grep -o 'http://[0-9.:]*' "$1/$tool/server")/db/x" "$1/$tool" \
            >"$1/$tool/said" 2>"$1/$tool/errors" &
        running+=($!)
    done
    wait "${running[@]}" || true
    local servers=("${children[@]}")
    stop
    wait "${servers[@]}" 2>/dev/null || true
}

# A tool's report, and the truth: six columns of a table.
columns() { # folder, variables, from
    echo "$(cat "$1/said") $(truth "$2" "$3" <"$1/log")" | awk '
        function ms(x) {return sprintf(x < 100 ? "%.1f" : "%.0f", x)}
        NF == 5 {
            printf "%s | %s | %s | %s | %+.0f %% | %s |", ms($1), ms($4), ms($2), ms($5),
                ($2 / $5 - 1) * 100, $3
        }
        NF != 5 {printf "- | - | - | - | - | - |"}'
}

table() { # kind of machine, scenario number, variables
    local tool from
    echo '| tool | p50, ms | true p50 | p99, ms | true p99 | error of p99 | sent, % |'
    echo '|---|---|---|---|---|---|---|'
    for tool in "${tools[@]}"; do
        from=0
        [ "$tool" != wrk2 ] || from=10
        printf '| %s | %s\n' "${tool/_corrected/ --latency-correction}" \
            "$(columns "$work/$1/$2/$tool" "$3" $from)"
    done
    printf '\nspringload says of itself: %s.\n' \
        "$(sed 's/^[^A-Z]*//; s/ · [^·]*$//; s/  /: /; q' "$work/$1/$2/springload/line")"
}

# All scenarios, on the undisturbed machine or on a busy one.
session() { # kind, title
    local i name flags variables before
    printf '\n### %s\n\n' "$2"
    before=$(cut -d' ' -f1 /proc/loadavg)
    for i in "${!scenarios[@]}"; do
        IFS='|' read -r name flags variables <<<"${scenarios[$i]}"
        mkdir -p "$work/$1/$i"
        play "$work/$1/$i" "$flags"
        printf '#### %s\n\n`serve --null %s`\n\n' "$name" "$flags"
        table "$1" "$i" "$variables"
        echo
        echo "$2, $name: done" >&2
    done
    echo "Load average of the machine: $before before, $(cut -d' ' -f1 /proc/loadavg) after."
}

# Summarizes the errors in all tables on stdin, in one table per session.
summary() {
    awk -F' [|] ' '
        /^### / {title = substr($0, 5); tools = heads = ""; n = 0}
        /^#### / {head[++n] = substr($0, 6)}
        /^\| / && !/^\| tool/ {
            tool = substr($1, 3)
            if (n == 1) order[++tools] = tool
            error[tool, n] = $6
        }
        /^Load average/ {
            printf "\nError of p99, %s:\n\n| tool |", tolower(substr(title, 1, 1)) substr(title, 2)
            for (i = 1; i <= n; i++) printf " %s |", head[i]
            printf "\n|---|"
            for (i = 1; i <= n; i++) printf "---|"
            for (t = 1; t <= tools; t++) {
                printf "\n| %s |", order[t]
                for (i = 1; i <= n; i++) printf " %s |", error[order[t], i]
            }
            print ""
        }'
}

{
    session quiet "The machine as it is"
    loops=()
    for _ in $(seq "$busy"); do
        sh -c 'while :; do :; done' &
        loops+=($!)
    done
    trap 'kill "${loops[@]}"; stop; wait; rm -rf "$work"' EXIT
    session busy "Beside $busy busy loops"
} >"$work/sessions"
{
    sed '/^## Results/,$d' "$out"
    cat <<TEXT
## Results

$rate requests/s for $seconds s. Machine: $(uname -sr), $(nproc) cores.
TEXT
    summary <"$work/sessions"
    cat "$work/sessions"
} >"$work/page"
cp "$work/page" "$out"
