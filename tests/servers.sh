#!/usr/bin/env bash
# Installs the servers that the tests start, when the lock file is newer than what is installed.
set -euo pipefail
cd "$(dirname "$0")/servers" 2>/dev/null || exit 0
[ -f package-lock.json ] || exit 0

if ! command -v npm >/dev/null; then
    echo "npm is missing: tests against pouchdb-server will be skipped. Install Node.js." >&2
    exit 0
fi
# A copy of the lock file, made last, tells that the whole of it is installed.
if cmp -s package-lock.json node_modules/.springload-lock; then
    exit 0
fi
echo "Installing the servers that the tests start (tests/servers)" >&2
npm ci --loglevel=error --no-audit --no-fund </dev/null
mkdir -p node_modules
cp package-lock.json node_modules/.springload-lock
