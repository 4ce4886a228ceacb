#!/usr/bin/env bash
# links.sh REPOSITORY REF FILE...: makes the relative links in these top-level files point to that
# revision of the repository, whose address is only known when it is published. In a package, and on
# the page of a registry, they would have no target.
set -euo pipefail
repository=$1 ref=$2
shift 2
for file; do
    sed -E "s|(!\[[^]]*\]\()([^):#]+\))|\1$repository/raw/$ref/\2|g
        s|(\]\()([^):#][^):]*\))|\1$repository/blob/$ref/\2|g" "$file" >"$file.new"
    cat "$file.new" >"$file"
    rm "$file.new"
done
