#!/usr/bin/env bash
# Runs springload with $ARGS, writes the job summary and the test cases, and ends with springload's
# exit status.
set -uo pipefail

run=${RUNNER_TEMP:?}/springload-run
rm -rf "$run"
# Split as in a shell, but nothing is expanded or carried out.
if ! split=$(xargs printf '%s\n' <<<"${ARGS:?}"); then
    echo "::error::args: the quotes in the command line do not match"
    exit 2
fi
words=() # not mapfile, which the bash of macOS lacks
while IFS= read -r word; do words+=("$word"); done <<<"$split"

report=$RUNNER_TEMP/springload-report.txt
told=$RUNNER_TEMP/springload-stderr.txt
# Reports and messages quote texts from the server. Until the random word, which it cannot know, the
# runner takes no line as a command, such as one that sets a variable or masks a text.
word=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$word"
springload "${words[@]}" --output "$run" 2>&1 >"$report" | tee "$told"
status=${PIPESTATUS[0]}
cat "$report"
# On its own line, whatever the report ends with.
printf '\n::%s::\n' "$word"
echo "status=$status" >>"$GITHUB_OUTPUT"

[ ! -d "$run" ] || echo "run=$run" >>"$GITHUB_OUTPUT"
[ ! -f "$run/run.json" ] ||
    springload report "$run" --format junit --output "$run/junit.xml" 2>/dev/null ||
    echo "::warning::junit.xml could not be written"
if [ "${SUMMARY:-true}" = true ] && [ -s "$report" ]; then
    # Longer than any run of backticks in the report: texts from the server cannot end the block.
    fence=$(LC_ALL=C tr -c '`' '\n' <"$report" | awk -v fence='``````' '
        length($0) >= length(fence) { fence = $0 "`" }
        END { print fence }')
    {
        echo "### springload"
        echo "${fence}text"
        cat "$report"
        echo "$fence"
    } >>"$GITHUB_STEP_SUMMARY"
fi
# Annotations: each is one line, in which % begins an escape.
annotate() { tr -d '\r' | sed 's/##\[/# #[/g; s/%/%25/g; s/^/::error::/'; }
# Missed thresholds.
awk '/^  ✗ / { if (line) print line; sub(/^  ✗ /, ""); line = $0; next }
    line && /^    [^ ]/ { sub(/^ +/, " "); line = line $0; next }
    { if (line) print line; line = "" }
    END { if (line) print line }' "$report" | annotate
if [ "$status" != 0 ]; then
    # Why: the first error or, where the report begins with the result, that.
    why=$(sed -n 's/^error: //p' "$told" | head -n 1)
    [ -n "$why" ] || why=$(head -n 1 "$report" | sed 's/^[^A-Za-z]*//')
    echo "springload ended with exit status $status${why:+: $why}" | annotate
fi
exit "$status"
