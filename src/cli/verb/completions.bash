
_springload_runs() {
    _springload "$@"
    local cur="${COMP_WORDS[COMP_CWORD]}" name rest
    case "${COMP_WORDS[1]}" in report | show) ;; *) return 0 ;; esac
    case "${COMP_WORDS[COMP_CWORD-1]}" in --format | --chart | --output | -o) return 0 ;; esac
    [[ $COMP_CWORD -lt 2 || $cur == -* ]] && return 0
    COMPREPLY=()
    while IFS=$'\t' read -r name rest; do
        # Bash would split these in two.
        [[ $name == *[:=]* || $name != "${cur//\\/}"* ]] && continue
        COMPREPLY+=("$(printf '%q' "$name")")
    done < <("${1:-springload}" list --names 2>/dev/null)
    return 0
}
