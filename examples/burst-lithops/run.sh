#!/usr/bin/env bash
# The experiment of README.md: run.sh [AGENTS [SECONDS [SIZE [springload's other options]]]].
set -euo pipefail
cd "$(dirname "$0")"
: "${COUCHDB:?the address of CouchDB, as the functions reach it: http://USER:PASSWORD@HOST:5984}"
: "${SPRINGLOAD_BROKER:?the address of RabbitMQ, as the functions reach it}"

agents=${1:-600} seconds=${2:-20} size=${3:-250}
launcher=()
# Where there is none, Lithops uses its own places, and without any the processes of this machine.
[ -f lithops.yaml ] && launcher+=(--config lithops.yaml)
exec springload-lithops -n "$agents" ${launcher[@]+"${launcher[@]}"} -- \
    bm-couchdb -n "$agents" -t "$seconds" -s "$size" "${@:4}" "$COUCHDB"
