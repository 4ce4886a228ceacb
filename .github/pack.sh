#!/usr/bin/env bash
# pack.sh BINARY NAME FOLDER: FOLDER/NAME.tar.gz with the binary, its man pages and completions, the
# licenses, the notices of `make notices` and the documentation.
set -euo pipefail
binary=$1 name=$2 folder=$3
files=${FILES:-target/package-files}
make --no-print-directory pages BINARY="$binary" FILES="$files" >&2
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
packed=$build/$name
mkdir -p "$packed/completions"
cp "$binary" "$packed/springload"
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$files/NOTICES.txt" "$packed"
for asset in crates/report/assets/*/LICENSE; do
    cp "$asset" "$packed/LICENSE-$(basename "$(dirname "$asset")")"
done
cp "$files"/springload.{bash,zsh,fish} "$packed/completions"
cp -R "$files/man1" "$packed"
tar -czf "$folder/$name.tar.gz" -C "$build" "$name"
