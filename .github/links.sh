#!/usr/bin/env bash
# links.sh REPOSITORY REF FILE...: makes the relative links of these files at the top lead to that
# revision of the repository, whose address only whoever publishes it knows. In a package, and on
# the page of a registry, there is nothing that they could lead to.
set -euo pipefail
repository=$1 ref=$2
shift 2
for file; do
    sed -E "s|(!\[[^]]*\]\()([^):#]+\))|\1$repository/raw/$ref/\2|g
        s|(\]\()([^):#][^):]*\))|\1$repository/blob/$ref/\2|g" "$file" >"$file.new"
    cat "$file.new" >"$file"
    rm "$file.new"
done
