#!/usr/bin/env bash
# site.sh FOLDER [REPOSITORY REF]: the sources of the site: docs/, with README.md as its first page.
# Links to other files point to that revision of the repository; without its address, only their
# text is kept, because they would have no target on the site.
set -euo pipefail
folder=$1
export REPOSITORY=${2:-} REF=${3:-main}
rm -rf "$folder"
cp -R docs "$folder"
perl -pe 's{\]\((?!docs/|#|[a-z]+:)}{](../}g; s{\]\(docs/}{](}g' README.md >"$folder/index.md"
perl -0pi -e 's{\n}{\n\n[springload](index.md)\n}' "$folder/SUMMARY.md"
perl -0pi -e '
    s{\]\(\.\./README\.md}{](index.md}g;
    s{\[([^][]*)\]\(\.\./([^)]*)\)}{
        $ENV{REPOSITORY} ? "[$1]($ENV{REPOSITORY}/blob/$ENV{REF}/$2)" : $1
    }gex' "$folder"/*.md
