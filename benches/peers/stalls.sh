# shellcheck shell=bash disable=SC2154 # sourced by peers.sh, which sets the variables
# What the tools report about a server that stalls twice.

cat >"$work/rate.js" <<'JS'
import http from 'k6/http';
const url = `${__ENV.TARGET}/db/x`;
const shares = ['p(50)', 'p(99)', 'p(99.9)'];
export const options = {
  discardResponseBodies: true,
  summaryTrendStats: shares,
  scenarios: {
    rate: {
      executor: 'constant-arrival-rate', rate: 10000, duration: __ENV.LENGTH,
      preAllocatedVUs: 50, maxVUs: 50,
    },
  },
};
export default () => http.get(url);
export const handleSummary = (data) => ({
  stdout: shares.map((share) => data.metrics.http_req_duration.values[share]).join(' ') + '\n',
});
JS
# For bombardier; times in microseconds.
cat >"$work/bombardier" <<'GO'
{{ with .Result.LatenciesStats (FloatsToArray 0.5 0.99 0.999) -}}
{{ index .Percentiles 0.5 }} {{ index .Percentiles 0.99 }} {{ index .Percentiles 0.999 }}
{{ end }}
GO

# CPU seconds and requests of a command with stalls, kept apart from its own report.
stalled() { measure requests "$@" >"$work/cost"; }

# One round of one tool at 10,000/s over 50 connections, against a server that stalls twice: prints
# p50, p99 and p99.9 in milliseconds.
stall_springload() { # further flags
    stalled "$springload" run "$url" -q -t 1 -c 50 --docs 50 --batch 1 --mix read=1 \
        -d "${period}s" --rate 10000 -o "$work/run" "$@"
    # The columns: operation, successes/s, failures, p50, p90, p99, p99.9, maximum.
    "$springload" report "$work/run" | awk '$1 == "read" {gsub(",", ""); print $4, $6, $7; exit}'
}
stall_springload_slack() { stall_springload --slack 250us; }
# wrk2 discards the first 10 s, in which it calibrates itself.
stall_wrk2() {
    stalled wrk2 -t1 -c50 -d$((period + 10))s -R 10000 -L "$url/db/x"
    awk '/^ *(50.000|99.000|99.900)%/ {
        unit = $2; sub(/[0-9.]*/, "", unit)
        printf "%s ", $2 * (unit == "us" ? 0.001 : unit == "s" ? 1000 : 1)
    }' "$work/output"
}
stall_oha() {
    stalled oha --no-tui -c 50 -z "${period}s" -q 10000 --latency-correction \
        --output-format json "$url/db/x"
    sed -n '/latencyPercentiles/,/}/p' "$work/output" | tr -d '":,' \
        | awk '$1 ~ /^p(50|99|99.9)$/ {printf "%s ", $2 * 1000}'
}
stall_k6() {
    stalled k6 run -q --address= --no-usage-report --no-thresholds -e TARGET="$url" \
        -e LENGTH="${period}s" "$work/rate.js"
    cat "$work/output"
}
stall_vegeta() {
    stalled vegeta attack -targets "$work/targets" -output "$work/vegeta" -max-body 0 -rate 10000 \
        -connections 50 -max-connections 50 -duration "${period}s"
    vegeta encode -to csv "$work/vegeta" | cut -d, -f3 | sort -n | awk '
        {v[NR] = $1 / 1e6}
        END {print v[int(NR * 0.5)], v[int(NR * 0.99)], v[int(NR * 0.999)]}'
}
stall_bombardier() {
    stalled bombardier -c 50 -d "${period}s" -r 10000 -l -p r -o "path:$work/bombardier" "$url/db/x"
    awk 'NF == 3 {print $1 / 1000, $2 / 1000, $3 / 1000}' "$work/output"
}

# A share 2 S / T of the requests falls due in one of two stalls of S in a run of T, and waits for
# its end, between 0 and S: a share 2 (S - w) / T for longer than w. So the percentile q is
# w = S - (1 - q) T / 2, where that is positive. The stalls are a twentieth of the run each.
section_stalls() {
    local tool tools column stall
    stall=$((period * 50))
    mapfile -t tools < <(tools_for stall 50)
    rm -f "$work"/stall.* "$work"/stalled.*
    for _ in $(seq "$rounds"); do
        for tool in "${tools[@]}"; do
            start_server --stall "${stall}ms@$((period * 250))ms/$((period / 2))s"
            "$(round stall "$tool")" >"$work/times"
            paste -d' ' "$work/times" "$work/cost" | awk '{$1 = $1; print}' >>"$work/stall.$tool"
        done
    done
    cat <<TEXT

## Two stalls of $stall ms in $period s, GET at 10,000/s, 50 connections

Medians of $rounds rounds. The first row follows from the schedule alone: requests that fall due
during a stall wait for its end, and working off the backlog takes some milliseconds more. Each tool
measures from when a request was due if it can: wrk2 always does (its run is 10 s longer, for its
calibration), oha with \`--latency-correction\`, and vegeta without a limit on workers; k6, with a
user per connection, and bombardier have no such setting. *Sent* is the share of due requests that
reached the server.

| tool | p50, ms | p99, ms | p99.9, ms | sent, % | CPU per request, µs: median (min to max) | springload / tool |
|---|---|---|---|---|---|---|
TEXT
    awk -v s="$stall" -v t="$period" 'BEGIN {
        printf "| *waits of the schedule* | 0 | %.0f | %.0f | 100 | | |\n", s - 5 * t, s - 0.5 * t
    }'
    for tool in "${tools[@]}"; do
        awk '{print $4 * 1e6 / $5}' "$work/stall.$tool" >"$work/stalled.$tool"
    done
    for tool in "${tools[@]}"; do
        # shellcheck disable=SC2016 # for awk
        for column in '$1' '$2' '$3' '$5'; do
            awk "{print $column}" "$work/stall.$tool" | median
        done | awk -v tool="${tool/_slack/ --slack 250us}" -v t="$period" '
            {v[NR] = $1}
            END {
                due = 10000 * (tool == "wrk2" ? t + 10 : t)
                printf "| %s | %.2f | %.0f | %.0f | %.0f |", tool, v[1], v[2], v[3], v[4] / due * 100
            }'
        printf ' %s | %s |\n' "$(summary 2 <"$work/stalled.$tool")" \
            "$(ratio_to "$work/stalled.springload" "$work/stalled.$tool")"
    done
    echo "stalls: done" >&2
}
