//! The cases by name, and the known differences of pouchdb-server.

mod bulk;
mod changes;
mod documents;
mod listings;
mod server;

use crate::servers::Server;

/// A test of one behavior of CouchDB.
pub(crate) type Case = fn(&Server);

macro_rules! cases {
    ($($room:ident { $($name:ident,)* })*) => {
        /// All cases.
        pub(crate) const CASES: &[(&str, Case)] = &[$($((stringify!($name), $room::$name),)*)*];
    };
}

cases! {
    server {
        welcome_says_couchdb,
        answers_are_declared_as_json,
        answers_end_with_a_line_feed,
        up_answers,
        all_dbs_lists_a_new_database,
        dbs_info_tells_of_several_databases,
        uuids_are_handed_out,
        uuids_have_32_digits,
        too_many_uuids_are_refused,
        a_session_names_its_user,
        a_database_is_made_once,
        an_illegal_database_name_is_refused,
        a_database_has_info,
        a_missing_database_is_not_found,
        a_missing_database_is_told_from_a_document,
        a_missing_database_is_not_deleted,
        a_database_is_deleted,
        a_database_name_may_hold_a_slash,
        full_commit_and_compact_are_accepted,
        a_post_needs_a_json_content_type,
        a_method_without_meaning_is_not_allowed,
    }
    documents {
        a_put_document_reads_back,
        a_put_answers_etag_and_location,
        a_get_answers_the_revision_as_etag,
        a_known_revision_is_not_sent_again,
        a_head_has_no_body,
        a_stale_revision_conflicts,
        a_conflict_has_couchdbs_reason,
        an_update_grows_the_generation,
        a_revision_may_come_by_query,
        a_revision_may_come_by_header,
        a_delete_leaves_a_tombstone,
        a_deleted_document_says_so,
        a_tombstone_can_be_written_over,
        a_document_may_be_deleted_by_put,
        a_delete_needs_the_revision,
        a_delete_of_a_stale_revision_conflicts,
        a_missing_document_says_so,
        the_current_revision_can_be_asked_for,
        equal_first_revisions_are_equal,
        a_posted_document_gets_an_id,
        a_posted_document_may_bring_its_id,
        an_id_may_be_percent_encoded,
        a_design_document_is_a_document,
        invalid_json_is_refused,
        a_document_must_be_an_object,
        an_unknown_special_member_is_refused,
        a_reserved_id_is_refused,
        batch_ok_answers_without_a_revision,
        too_large_a_document_is_refused,
        unicode_and_numbers_survive,
    }
    bulk {
        bulk_docs_answers_a_row_for_each,
        bulk_docs_without_ids_get_them,
        bulk_docs_reports_conflicts_in_rows,
        bulk_docs_updates_and_deletes,
        bulk_docs_without_new_edits_answers_nothing,
        bulk_docs_needs_docs,
        bulk_docs_must_be_an_array,
        bulk_docs_must_be_json,
        bulk_get_finds_documents,
        bulk_get_reports_the_missing,
    }
    listings {
        all_docs_lists_in_order,
        all_docs_knows_ranges,
        all_docs_leaves_an_end_out,
        all_docs_runs_backwards,
        all_docs_by_keys_shows_gaps,
        all_docs_shows_the_deleted_by_key,
        all_docs_includes_documents,
        all_docs_counts_what_it_skips,
        all_docs_is_sent_in_chunks,
    }
    changes {
        changes_list_each_document_once,
        changes_since_now_are_none,
        changes_go_on_where_they_ended,
        changes_of_some_documents_are_listed,
        changes_tell_tombstones,
        changes_include_documents,
        longpoll_waits_for_an_update,
        longpoll_ends_at_its_timeout,
        a_limit_of_none_lists_nothing,
        continuous_ends_at_its_limit,
    }
}

/// Cases that pouchdb-server 4.2.0 fails, and the reasons.
pub(crate) const POUCHDB_DIFFERENCES: &[(&str, &str)] = &[
    ("welcome_says_couchdb", "greets with express-pouchdb"),
    ("answers_are_declared_as_json", "sends text/plain to who does not accept JSON by name"),
    ("up_answers", "has no /_up"),
    ("dbs_info_tells_of_several_databases", "has no /_dbs_info"),
    ("uuids_have_32_digits", "its UUIDs have dashes"),
    ("too_many_uuids_are_refused", "403 and not 400"),
    ("an_illegal_database_name_is_refused", "takes any name"),
    ("a_missing_database_is_told_from_a_document", "its reason is no_db_file"),
    ("a_missing_database_is_not_deleted", "200 although there was none"),
    ("a_database_name_may_hold_a_slash", "tells the name up to the slash only"),
    ("a_post_needs_a_json_content_type", "takes any content type"),
    ("a_method_without_meaning_is_not_allowed", "takes the path for a document's"),
    ("a_get_answers_the_revision_as_etag", "its ETag of a GET is a weak hash of the body"),
    ("a_known_revision_is_not_sent_again", "its ETag of a GET is not the revision"),
    ("a_conflict_has_couchdbs_reason", "leaves the full stop out"),
    ("a_revision_may_come_by_header", "knows no If-Match"),
    ("a_deleted_document_says_so", "its reason is missing"),
    ("a_delete_needs_the_revision", "deletes without one"),
    ("equal_first_revisions_are_equal", "its hash covers the id too"),
    ("an_unknown_special_member_is_refused", "500 and not 400"),
    ("batch_ok_answers_without_a_revision", "ignores batch=ok"),
    ("too_large_a_document_is_refused", "has no limit of 8 MB"),
    ("bulk_docs_must_be_an_array", "500 with a page of HTML"),
    ("bulk_get_reports_the_missing", "says nothing of a missing document"),
    ("all_docs_counts_what_it_skips", "its offset is the value of skip"),
    ("all_docs_is_sent_in_chunks", "sends Content-Length"),
    ("longpoll_ends_at_its_timeout", "ignores the timeout and never ends"),
    ("a_document_may_be_deleted_by_put", "201 and not 200"),
    ("a_limit_of_none_lists_nothing", "takes 0 for 1"),
    ("continuous_ends_at_its_limit", "ignores the limit and never ends"),
];
