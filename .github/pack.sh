#!/usr/bin/env bash
# pack.sh BINARY NAME FOLDER: FOLDER/NAME.tar.gz with the binary, the licenses, the notices of
# `make notices` and the documentation.
set -euo pipefail
binary=$1 name=$2 folder=$3
mkdir "$name"
cp "$binary" "$name/springload"
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md target/package-files/NOTICES.txt "$name"
for asset in crates/report/assets/*/LICENSE; do
    cp "$asset" "$name/LICENSE-$(basename "$(dirname "$asset")")"
done
tar -czf "$folder/$name.tar.gz" "$name"
rm -r "$name"
