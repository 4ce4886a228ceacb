# shellcheck shell=bash disable=SC2154 # sourced by peers.sh, which sets the variables
# One round of each tool on an HTTP server: prints microseconds of CPU per request. The first
# argument is the number of connections, the others are further flags.

# A PUT of a constant document, as long as springload's are on average, for wrk.
cat >"$work/put.lua" <<'LUA'
wrk.method = "PUT"
wrk.body = '{"type":"t","n":12345,"pad":"' .. string.rep("p", 273) .. '"}'
wrk.headers["Content-Type"] = "application/json"
LUA
# The mix of springload's creates, reads, updates and deletes, of constant requests.
cat >"$work/crud.lua" <<'LUA'
local rev = "1-967a00dff5e02add41819138abb3284d"
local body = '{"_id":"x","type":"t","n":12345,"pad":"' .. string.rep("p", 263) .. '"}'
local changed = '{"_id":"x","_rev":"' .. rev .. '","pad":"' .. string.rep("p", 279) .. '"}'
local headers = {["Content-Type"] = "application/json"}
local turns, n = {}, 0
init = function()
    local create = wrk.format("PUT", "/db/x", headers, body)
    local update = wrk.format("PUT", "/db/x", headers, changed)
    local read = wrk.format("GET", "/db/x")
    local delete = wrk.format("DELETE", "/db/x?rev=" .. rev)
    turns = {create, read, update, read, create, read, update, delete}
end
request = function()
    n = n % 8 + 1
    return turns[n]
end
LUA
# A constant bulk insert of a hundred documents.
cat >"$work/bulk.lua" <<'LUA'
local documents = {}
for i = 1, 100 do
    documents[i] = '{"_id":"' .. 1000000 + i .. '","pad":"' .. string.rep("p", 270) .. '"}'
end
wrk.method = "POST"
wrk.body = '{"docs":[' .. table.concat(documents, ",") .. ']}'
wrk.headers["Content-Type"] = "application/json"
LUA
cat >"$work/get.js" <<'JS'
import http from 'k6/http';
const url = `${__ENV.TARGET}/db/x`;
export default () => http.get(url);
JS

run_springload() {
    each requests "$springload" run "$url" -q -t 1 -c "$1" --docs "$1" --batch 1 \
        -o "$work/run" "${@:2}"
}

get_springload() { run_springload "$1" --mix read=1 -d "${seconds}s" "${@:2}"; }
get_wrk() { each requests wrk -t1 -c"$1" -d"${seconds}s" "$url/db/x"; }
get_h2load() { each requests h2load --h1 -t1 -c"$1" -D"$seconds" "$url/db/x"; }
get_oha() { each requests oha --no-tui -c "$1" -z "${seconds}s" "${@:2}" "$url/db/x"; }
get_siege() { each requests siege -b -j -c "$1" -t "${seconds}S" "$url/db/x"; }
get_bombardier() { each requests bombardier -q -c "$1" -d "${seconds}s" "${@:2}" "$url/db/x"; }
get_hey() { each requests hey -cpus 1 -c "$1" -z "${seconds}s" "$url/db/x"; }
get_k6() {
    each requests k6 run -q --address= --no-usage-report --no-thresholds --no-summary \
        --discard-response-bodies -e TARGET="$url" -u "$1" -d "${seconds}s" "${@:2}" \
        "$work/get.js"
}
get_vegeta() {
    each requests vegeta attack -targets "$work/targets" -output /dev/null -max-body 0 -rate 0 \
        -workers "$1" -max-workers "$1" -connections "$1" -duration "${seconds}s" "${@:2}"
}
get_floor() { each requests "${floor[@]}" -p "$port" -c "$1" -d "$seconds" -m GET; }

# Coordinator and agents have the client's core together.
agents_springload() { get_springload "$1"; }
agents_springload_agents_1() { get_springload "$1" --agents 1; }
agents_springload_agents_2() { get_springload "$1" --agents 2; }

rate_springload() { get_springload "$1" --rate "$half" "${@:2}"; }
rate_wrk2() { each requests wrk2 -t1 -c"$1" -d"${seconds}s" -R "$half" "$url/db/x"; }
slack_springload() { rate_springload "$1" --slack 1ms; }
slack_wrk2() { rate_wrk2 "$1"; }

put_springload() { run_springload "$1" --mix create=1 -d "${seconds}s"; }
put_wrk() { each requests wrk -t1 -c"$1" -d"${seconds}s" -s "$work/put.lua" "$url/db/x"; }
put_floor() { each requests "${floor[@]}" -p "$port" -c "$1" -d "$seconds" -m PUT; }

crud_springload() { run_springload "$1" -d "${seconds}s"; }
crud_springload_get() { get_springload "$1"; }
crud_wrk() { each requests wrk -t1 -c"$1" -d"${seconds}s" -s "$work/crud.lua" "$url/db/x"; }

# Per document, 100 in a request.
fill_springload() {
    each documents_bulk "$springload" run "$url" -q -t 1 -c "$1" --docs 2m --batch 100 --ops 0 \
        -o "$work/run"
}
fill_wrk() {
    each documents_bulk wrk -t1 -c"$1" -d"${seconds}s" -s "$work/bulk.lua" "$url/db/_bulk_docs"
}

# Half of the rate that springload reached in a closed loop.
capacity() {
    local before
    before=$(count requests)
    get_springload 50 >/dev/null
    echo $((($(count requests) - before) / seconds / 2))
}

section_get() {
    start_server
    compare "GET, 50 connections" get 50
}
section_agents() {
    start_server
    compare "GET with agents, 50 connections" agents 50
    cat <<'TEXT'

The coordinator starts the agents as processes of its own, on its core, and waits for them: the time
is that of all of them, from start to end. The ratio is to springload without agents.
TEXT
}
section_put() {
    start_server
    compare "PUT, 50 connections" put 50
}
# Longer, because it begins with a thousand connections, which springload opens twice.
section_many() {
    local seconds=$((3 * seconds))
    start_server
    compare "GET, 1000 connections, runs of $seconds s" get 1000
}
section_rate() {
    start_server
    half=${half:-$(capacity)}
    compare "GET at $half/s, half of what the server gave, 50 connections" rate 50
}
section_slack() {
    start_server
    half=${half:-$(capacity)}
    compare "GET at $half/s with --slack 1ms, 50 connections" slack 50
}
section_crud() {
    start_server
    compare "Mixed creates, reads, updates and deletes, 50 connections" crud 50
    command -v wrk >/dev/null || return 0
    cat <<'TEXT'

wrk has a script that sends eight constant requests in turn, in the proportions of springload's mix;
only the script's choice of the next one takes time.
TEXT
}
section_fill() {
    start_server
    compare "Bulk insert, per document, 100 in a request, 50 connections" fill 50 document
    command -v wrk >/dev/null || return 0
    cat <<'TEXT'

wrk sends one constant request again and again, and generates no document.
TEXT
}
