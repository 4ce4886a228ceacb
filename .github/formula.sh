#!/usr/bin/env bash
# formula.sh REPOSITORY VERSION SHA256SUMS: prints the Homebrew formula of a release, from the sums
# of its archives.
set -euo pipefail
repository=$1 version=$2 sums=$(cat "$3")

# The lines that name the archive for a platform.
archive() {
    local file=springload-$version-$1.tar.gz sum
    sum=$(awk -v file="$file" '$2 == file { print $1 }' <<<"$sums")
    [ -n "$sum" ] || { echo "formula.sh: there is no $file" >&2; return 1; }
    printf '      url "%s/releases/download/v%s/%s"\n' "$repository" "$version" "$file"
    printf '      sha256 "%s"' "$sum"
}

mac_arm=$(archive aarch64-apple-darwin)
mac_intel=$(archive x86_64-apple-darwin)
linux_arm=$(archive aarch64-unknown-linux-gnu)
linux_intel=$(archive x86_64-unknown-linux-gnu)
cat <<END
class Springload < Formula
  desc "Benchmark and load tester for CouchDB and other document databases"
  homepage "$repository"
  version "$version"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
$mac_arm
    end
    on_intel do
$mac_intel
    end
  end
  on_linux do
    on_arm do
$linux_arm
    end
    on_intel do
$linux_intel
    end
  end

  def install
    bin.install "springload"
    man1.install Dir["man1/*"]
    bash_completion.install "completions/springload.bash" => "springload"
    zsh_completion.install "completions/springload.zsh" => "_springload"
    fish_completion.install "completions/springload.fish"
    doc.install Dir["*.md"], Dir["LICENSE-*"], "NOTICES.txt"
  end

  test do
    assert_equal "springload #{version}", shell_output("#{bin}/springload --version").strip
    system bin/"springload", "run", "basic", "--duration", "1s"
  end
end
END
