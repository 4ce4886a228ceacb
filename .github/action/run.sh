#!/usr/bin/env bash
# Runs springload with $ARGS, writes the job summary and the test cases, and ends with springload's
# exit status.
set -uo pipefail

run=${RUNNER_TEMP:?}/springload-run
rm -rf "$run"
# As a shell splits them, but nothing is expanded or carried out.
if ! split=$(xargs printf '%s\n' <<<"${ARGS:?}"); then
    echo "::error::args: the quotes in the command line do not match"
    exit 2
fi
words=() # not mapfile, which the bash of macOS does not have
while IFS= read -r word; do words+=("$word"); done <<<"$split"

springload "${words[@]}" --output "$run" >"$RUNNER_TEMP/springload-report.txt"
status=$?
cat "$RUNNER_TEMP/springload-report.txt"
echo "status=$status" >>"$GITHUB_OUTPUT"

[ ! -d "$run" ] || echo "run=$run" >>"$GITHUB_OUTPUT"
[ ! -f "$run/run.json" ] || springload report "$run" --format junit --output "$run/junit.xml"
if [ "${SUMMARY:-true}" = true ] && [ -s "$RUNNER_TEMP/springload-report.txt" ]; then
    {
        echo "### springload"
        # More backticks than any line of the report begins with.
        echo '``````text'
        cat "$RUNNER_TEMP/springload-report.txt"
        echo '``````'
    } >>"$GITHUB_STEP_SUMMARY"
fi
# What was missed as annotations, each in one line; there, % begins an escape.
awk '/^  ✗ / { if (line) print line; sub(/^  ✗ /, ""); line = $0; next }
    line && /^    [^ ]/ { sub(/^ +/, " "); line = line $0; next }
    { if (line) print line; line = "" }
    END { if (line) print line }' "$RUNNER_TEMP/springload-report.txt" |
    sed 's/%/%25/g; s/^/::error::/'
[ "$status" = 0 ] || echo "::error::springload ended with exit status $status"
exit "$status"
