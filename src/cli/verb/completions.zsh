_springload_runs() {
    local -a runs
    runs=("${(@f)$(_call_program runs springload list --names 2>/dev/null)}")
    runs=("${(@)runs//:/\:}")
    runs=("${(@)runs/$'\t'/:}")
    _describe -V -t runs run runs
    _files
}

