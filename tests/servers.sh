#!/usr/bin/env bash
# Installs and builds what the tests start: servers, and the driver of a browser. Anything that
# matches the lock files and sources here already is left alone. Anything whose build tools are
# missing is left out, and its tests are skipped.
set -euo pipefail
cd "$(dirname "$0")"

missing() { echo "$1 is missing: tests $2 will be skipped. Install $3." >&2; }

# of_today STAMP FILE...: whether STAMP, which is written last, has the contents of these files.
of_today() { [ -f "$1" ] && cat "${@:2}" | cmp -s - "$1"; }

from_npm() {
    local folder
    for folder in servers browser; do
        [ -f "$folder/package-lock.json" ] || continue
        of_today "$folder/node_modules/.springload-lock" "$folder/package-lock.json" && continue
        echo "Installing what the tests start (tests/$folder)" >&2
        (cd "$folder" && npm ci --loglevel=error --no-audit --no-fund </dev/null)
        mkdir -p "$folder/node_modules"
        cp "$folder/package-lock.json" "$folder/node_modules/.springload-lock"
    done
}

# The jars stay in Maven's cache; tests/servers/built has the class paths and our classes.
from_maven() {
    local names=(hbase cassandra infinispan mongojava ycsb) name
    local sources=(servers/pom.xml servers/Console.java servers/{hbase,cassandra,infinispan,mongojava,ycsb}/{pom.xml,*.java})
    of_today servers/built/.java "${sources[@]}" && return
    echo "Installing HBase, Cassandra, Infinispan, mongo-java-server and YCSB (tests/servers)" >&2
    rm -rf "${names[@]/#/servers/built/}" servers/built/.java
    mvn -q -B -Dstyle.color=never -Djansi.mode=strip -f servers/pom.xml dependency:build-classpath </dev/null
    for name in "${names[@]}"; do
        javac -nowarn -proc:none -Xlint:none -XDsuppressNotes \
            -d "servers/built/$name/classes" -cp "$(cat "servers/built/$name/classpath")" \
            servers/Console.java servers/"$name"/*.java
    done
    cat "${sources[@]}" >servers/built/.java
}

from_go() {
    local sources=(servers/ferretdb/{go.mod,go.sum,main.go})
    of_today servers/built/.go "${sources[@]}" && return
    echo "Building FerretDB (tests/servers)" >&2
    mkdir -p servers/built/ferretdb
    (cd servers/ferretdb &&
        go build -tags ferretdb_sqlite -o ../built/ferretdb/ferretdb . </dev/null)
    cat "${sources[@]}" >servers/built/.go
}

# Lithops, maturin and the validator of Kubernetes manifests, in a separate environment.
from_pypi() {
    local built=servers/built/python lock=servers/python/requirements.txt
    of_today "$built/.springload-lock" "$lock" && return
    echo "Installing Lithops and maturin (tests/servers)" >&2
    rm -rf "$built"
    python3 -m venv "$built"
    "$built/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        -r "$lock" </dev/null
    cp "$lock" "$built/.springload-lock"
}

# The Debian packages of programs that tests start and that are not installed.
debians() {
    [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || echo rabbitmq-server
    [ -x /usr/sbin/sshd ] && command -v ssh >/dev/null || echo openssh-server openssh-client
}

# RabbitMQ and sshd, without starting them as services.
from_debian() {
    local policy=/usr/sbin/policy-rc.d status=0
    echo "Installing $*" >&2
    if [ -e $policy ]; then policy=""; else
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
    fi
    apt-get update -q >&2 &&
        apt-get install -y -q --no-install-recommends "$@" </dev/null >&2 || status=$?
    [ -z "$policy" ] || rm -f "$policy"
    return $status
}

# Only this part, for a caller that has become root for it.
if [ "${1:-}" = debian ]; then
    from_debian rabbitmq-server openssh-server openssh-client
    exit
fi
packages=$(debians)
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # a word for each package
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then from_debian $packages; else
        missing "${packages//$'\n'/ }" "with agents over a broker or ssh" "these packages of Debian"
    fi
fi
if command -v npm >/dev/null; then from_npm; else
    missing npm "against pouchdb-server and in a browser" Node.js
fi
if command -v mvn >/dev/null && command -v javac >/dev/null; then from_maven; else
    missing "mvn or javac" "against HBase, Cassandra, Infinispan, mongo-java-server and bindings of YCSB" "Maven and a JDK, 17 or later"
fi
if command -v go >/dev/null; then from_go; else
    missing go "against FerretDB" Go
fi
if python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    from_pypi
else
    missing "Python 3.10 with venv" "with Lithops, and of the Python package" "python3 and python3-venv"
fi
