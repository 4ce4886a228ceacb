#!/usr/bin/env bash
# Installs what the tests start, servers and what drives a browser, where a lock file is newer than
# what is installed.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
    echo "npm is missing: tests against pouchdb-server and in a browser will be skipped." \
        "Install Node.js." >&2
    exit 0
fi
for folder in servers browser; do
    [ -f "$folder/package-lock.json" ] || continue
    # A copy of the lock file, made last, tells that the whole of it is installed.
    if cmp -s "$folder/package-lock.json" "$folder/node_modules/.springload-lock"; then
        continue
    fi
    echo "Installing what the tests start (tests/$folder)" >&2
    (cd "$folder" && npm ci --loglevel=error --no-audit --no-fund </dev/null)
    mkdir -p "$folder/node_modules"
    cp "$folder/package-lock.json" "$folder/node_modules/.springload-lock"
done
