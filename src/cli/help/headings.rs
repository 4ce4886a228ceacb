//! The headings of the flags of verbs that measure: the same flags under the same headings, and in
//! the same order, for every verb.

use clap::{Arg, Command};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The headings, each with the ids of its flags.
const HEADINGS: &[(&str, &str)] = &[
    (
        "Target",
        "plan target database_address database_name binding db table cp java auth basic_auth user \
        password_file netrc bearer_file roles header insecure tls_ca tls_cert tls_key use_existing \
        keep pin",
    ),
    ("Sides", "a b before_a before_b against pairs metric gate delta"),
    (
        "Drill",
        "stop start maintenance partition before broken after settle command_timeout no_audit",
    ),
    ("Search", "slo search from to searches"),
    ("Sweep", "axes preset scale rounds x resume"),
    ("Replication", "topology push marker_every start_timeout converge_timeout"),
    (
        "Load",
        "connections num_connections concurrent ycsb_threads workers rate ycsb_target stages \
        arrivals max_in_flight max_connections slack think delay benchmark duration seconds time \
        ops reps num_crud_operations warmup write read both repeat every gather conditional load \
        transactions mix op data_list ddocs no_build create_weight read_weight update_weight \
        delete_weight workload files properties",
    ),
    (
        "Documents",
        "docs batch databases compaction num_documents_per_bulk_insert num_bulk_insert_operations schema \
        json_document_schema_filename xml_document_schema_filename size body wire_size id \
        go_ycsb_keys growth wait_for_server verify audit audit_view probe probe_every follow \
        follow_feed follow_filter",
    ),
    (
        "Requests",
        "file request data lists content_type user_agent random internet literal no_follow \
        no_parser no_cookies decode http2 streams close retry no_retry get print",
    ),
    (
        "Results",
        "output label format json_output fail_if noise baseline baseline_by max_regression metrics \
        metrics_public serve_page serve_page_public jsonl otlp remote_write push_header push_ca \
        push_every log mark quiet verbose debug status status_label no_tui dry_run config",
    ),
    (
        "Agents",
        "agents on ssh broker listen listen_cert listen_key join_token_file run_id ready_timeout \
        silence grace allow_lost",
    ),
    (
        "Advanced",
        "threads seed timeout give_up max_answer no_observe observe_url observe_series rc",
    ),
    ("Help", "help version"),
];

/// The position of a flag in the help.
#[derive(Clone, Copy)]
struct FlagPlace {
    heading: &'static str,
    /// Its position among all flags of all headings.
    at: usize,
}

/// The positions by flag id. Every start of the program looks up some 1,500.
static PLACES: LazyLock<HashMap<&str, FlagPlace>> = LazyLock::new(|| {
    let all = HEADINGS
        .iter()
        .flat_map(|(heading, ids)| ids.split_ascii_whitespace().map(move |id| (id, *heading)));
    all.enumerate().map(|(at, (id, heading))| (id, FlagPlace { heading, at })).collect()
});

/// The command with its flags under headings. clap shows headings in the order of their first flags
/// in a command, so the flags are sorted.
pub(super) fn put(command: Command, flagged: &Command) -> Command {
    let place = |argument: &Arg| match PLACES.get(argument.get_id().as_str()) {
        _ if argument.is_positional() => None,
        place => place.copied(),
    };
    let mut arguments: Vec<Arg> = flagged.get_arguments().cloned().collect();
    arguments.sort_by_cached_key(|it| match place(it) {
        _ if it.is_positional() => 0,
        Some(place) => place.at + 1,
        None => usize::MAX,
    });
    let arguments = arguments.into_iter().map(|argument| match place(&argument) {
        Some(place) => argument.help_heading(place.heading).display_order(place.at),
        None => argument,
    });
    let groups: Vec<_> = flagged.get_groups().cloned().collect();
    command.args(arguments).groups(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::VERBS;
    use std::collections::BTreeSet;

    #[test]
    fn every_flag_of_a_verb_that_measures_has_a_heading() {
        let mut used = BTreeSet::new();
        for verb in VERBS.iter().filter(|verb| verb.family.measures()) {
            let command = verb.grammar();
            let mut last = 0;
            for argument in command.get_arguments().filter(|it| !it.is_positional()) {
                let id = argument.get_id().as_str();
                let place = PLACES
                    .get(id)
                    .unwrap_or_else(|| panic!("springload {}: no heading for {id}", verb.name));
                assert_eq!(argument.get_help_heading(), Some(place.heading), "{} {id}", verb.name);
                assert!(place.at >= last, "springload {}: {id} comes too late", verb.name);
                last = place.at;
                used.insert(id.to_owned());
            }
        }
        let listed = HEADINGS.iter().flat_map(|(_, ids)| ids.split_whitespace());
        let positional = ["plan", "target", "binding"];
        for id in listed.filter(|id| !positional.contains(id)) {
            assert!(used.contains(id), "no verb has {id}");
        }
    }
}
