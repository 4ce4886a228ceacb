complete -c springload -n "__fish_springload_using_subcommand VERB" -k -a "(springload list --names 2>/dev/null)"
