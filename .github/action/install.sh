#!/usr/bin/env bash
# Installs springload into the PATH of later steps: the release's binary if the action is used with
# a version (`uses: …@v1.2.3`) and there is one for this machine, otherwise a build from source.
set -euo pipefail

folder=$RUNNER_TEMP/springload-bin
mkdir -p "$folder"
echo "$folder" >> "$GITHUB_PATH"

case $RUNNER_OS-$RUNNER_ARCH in
    Linux-X64) target=x86_64-unknown-linux-musl ;;
    Linux-ARM64) target=aarch64-unknown-linux-musl ;;
    macOS-X64) target=x86_64-apple-darwin ;;
    macOS-ARM64) target=aarch64-apple-darwin ;;
    *) echo "::error::springload does not run on $RUNNER_OS $RUNNER_ARCH; use Linux or macOS"; exit 1 ;;
esac

if [[ ${ACTION_REF:-} =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
    name=springload-${ACTION_REF#v}-$target
    cd "$folder"
    gh release download "$ACTION_REF" --repo "$ACTION_REPOSITORY" \
        --pattern "$name.tar.gz" --pattern SHA256SUMS
    # Both tools print and read the same lines.
    if command -v sha256sum >/dev/null; then check=(sha256sum); else check=(shasum -a 256); fi
    grep " $name.tar.gz\$" SHA256SUMS | "${check[@]}" --check -
    tar -xzf "$name.tar.gz" --strip-components 1 "$name/springload"
else
    # With all that the static binaries of releases have.
    cargo install --locked --path "$GITHUB_ACTION_PATH" --root "$folder/built" \
        --features databases,broker,push,http2
    mv "$folder/built/bin/springload" "$folder/"
fi
"$folder/springload" --version
