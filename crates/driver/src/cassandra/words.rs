//! Cassandra's own word for the operations of a plan: any statement.

use super::answer::Prepared;
use super::consistency::{Consistency, Serial};
use super::cql::Table;
use super::frame::MOST_PAGE;
use super::servers::Beside;
use super::spelled::BoundValues;
use crate::call::CallError;
use crate::library::LibraryPen;
use crate::mistake::Invalid;
use crate::values::{Holes, parts};
use crate::words::{OperationPlan, Word, Wrong, flag_of, malformed, refused, word_of};
use crate::{TargetError, words};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::num::NonZeroU32;

const EXAMPLE: &str = "SELECT * FROM {{table}} WHERE y_id = {{key}}";

/// The word as the driver's card lists it.
pub(super) const CARDS: &[Word] = &[Word {
    name: "cql",
    help: "Any statement, whose values are bound; {{table}} and {{keyspace}} are the run's, and the \
           parameters consistency, serial_consistency and page_size are for this statement alone",
    example: EXAMPLE,
}];

/// A statement with a question mark for each of its values.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) cql: String,
    /// Which hole each question mark stands for.
    order: Vec<usize>,
    pub(super) holes: Holes,
    pub(super) consistency: Option<Consistency>,
    /// How many servers must agree on a condition, such as `IF NOT EXISTS`.
    pub(super) serial: Option<Serial>,
    /// The maximum number of rows in one answer.
    pub(super) page: Option<NonZeroU32>,
}

/// Spells the statement of an operation on a table.
///
/// # Errors
/// Fails if the operation is invalid.
pub(super) fn spell(operation: &OperationPlan, table: &Table) -> Result<Statement, Invalid> {
    let word = word_of(operation, CARDS, "Cassandra")?;
    statement(operation, table).map_err(|(problem, cure)| {
        let flag = flag_of(operation.name.name());
        Invalid::new(flag, format!("{}: {problem}", word.name), cure)
    })
}

fn statement(operation: &OperationPlan, table: &Table) -> Result<Statement, Wrong> {
    let mut rest = operation.clone();
    let given = rest.params.remove("consistency");
    let consistency =
        given.map(|it| level("consistency", "ONE or LOCAL_QUORUM", it)).transpose()?;
    let given = rest.params.remove("serial_consistency");
    let serial =
        given.map(|it| level("serial_consistency", "SERIAL or LOCAL_SERIAL", it)).transpose()?;
    let given = rest.params.remove("page_size");
    let page = given.map(|it| level("page_size", "100 or 5000", it)).transpose()?;
    if page.is_some_and(|page: NonZeroU32| page > MOST_PAGE) {
        let problem = format!("page_size: more than {MOST_PAGE}");
        return Err((problem, "give one such as 5000".to_owned()));
    }
    rest.only_rows()?;
    let text = table.named(operation.text(EXAMPLE)?.trim().trim_end_matches(';'));
    if text.is_empty() {
        return Err(("it is empty".to_owned(), format!("write it like {EXAMPLE}")));
    }
    let (mut cql, mut order, mut holes) = (String::new(), Vec::new(), Holes::default());
    for (is_hole, part) in parts(&text).map_err(|error| malformed(&error))? {
        if !is_hole {
            cql.push_str(part);
            continue;
        }
        // Quotes within a text are doubled.
        if cql.matches('\'').count() % 2 == 1 {
            let problem = format!("{{{{{part}}}}} is inside quotes, where nothing can be bound");
            return Err((problem, "leave the quotes out".to_owned()));
        }
        cql.push('?');
        order.push(holes.place(part));
    }
    Ok(Statement { cql, order, holes, consistency, serial, page })
}

/// Reads the parameter of this name; `such` gives examples.
fn level<L: DeserializeOwned>(name: &str, such: &str, value: Value) -> Result<L, Wrong> {
    serde_json::from_value(value)
        .map_err(|error| (format!("{name}: {error}"), format!("give one such as {such}")))
}

/// Spells an operation for a plan whose table is not known yet. Returns the contents of its holes.
pub(super) fn spell_beforehand(operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
    Ok(spell(operation, &Table::new("k", "t", "y_id", Vec::new()))?.holes.0)
}

impl Statement {
    pub(super) fn only_reads(&self) -> bool {
        self.cql.get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("select"))
    }

    /// The values of a request, in the types of the statement.
    ///
    /// # Errors
    /// Fails if a value is not of its type.
    pub(super) fn bind(
        &self,
        statement: &Prepared,
        pen: &LibraryPen,
    ) -> Result<BoundValues, CallError> {
        let mut bound = BoundValues::default();
        for (column, place) in statement.wanted.iter().zip(&self.order) {
            let (text, _) = pen.values().get(*place);
            bound.push(|out| column.of.write(text, out)).ok_or_else(|| column.is_not(text))?;
        }
        Ok(bound)
    }
}

/// Has the server prepare each statement.
///
/// # Errors
/// Fails with the server's words about the first statement that it refuses, or if the type of a
/// value is not supported.
pub(super) async fn try_out(own: &Own, beside: &Beside<'_>) -> Result<(), TargetError> {
    for (kind, statement) in own.iter() {
        let prepared = beside.prepare(&statement.cql).await;
        let prepared = prepared.map_err(|trouble| refused(kind, &trouble.reason))?;
        if prepared.wanted.len() != statement.order.len() {
            let flag = flag_of(kind.name());
            return Err(TargetError(format!(
                "{flag}: the statement has a question mark of its own; write what it stands for"
            )));
        }
        let unknown = prepared.wanted.iter().find(|it| !it.of.is_known());
        if let Some(column) = unknown {
            let (flag, name) = (flag_of(kind.name()), &column.name);
            return Err(TargetError(format!(
                "{flag}: values of the type of {name} are not supported; write them into the \
                 statement"
            )));
        }
    }
    Ok(())
}

pub(super) type Own = words::Own<Statement>;

/// The statements of operations on a table.
pub(super) fn own(operations: &[OperationPlan], table: &Table) -> Result<Own, TargetError> {
    Own::new(operations, |operation| spell(operation, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Result<(String, Vec<usize>, Vec<String>), String> {
        let plan = OperationPlan::parse(&format!("cql-spelled={text}")).unwrap();
        let table = Table::new("k", "t", "y_id", Vec::new());
        let statement = spell(&plan, &table).map_err(|mistake| mistake.to_string())?;
        Ok((statement.cql, statement.order, statement.holes.0))
    }

    #[test]
    fn values_are_bound_in_the_order_in_which_they_are_written() {
        let (cql, order, holes) = spelled(
            "cql UPDATE {{table}} SET a = 'it''s', b = {{now - 1h}} WHERE y_id = {{key}} IF \
             b < {{now - 1h}};",
        )
        .unwrap();
        assert_eq!(cql, "UPDATE \"k\".\"t\" SET a = 'it''s', b = ? WHERE y_id = ? IF b < ?");
        assert_eq!(
            (&order[..], &holes[..]),
            (&[0, 1, 0][..], &["now - 1h", "key"].map(String::from)[..])
        );
        assert!(spelled(r#"{"cql":"SELECT a FROM b","params":{"consistency":"QUORUM"}}"#).is_ok());
    }

    #[test]
    fn what_is_no_statement_is_refused_in_words() {
        for (text, says) in [
            ("cql", "it is empty; write it like SELECT"),
            ("cql SELECT a FROM b WHERE c = '{{key}}'", "is inside quotes"),
            ("cql SELECT {{key", "has no end"),
            ("sql SELECT 1", "\"sql\" is not a word of Cassandra; give one of cql"),
            (r#"{"cql":"SELECT","params":{"consistency":"MOST"}}"#, "consistency: unknown variant"),
            (
                r#"{"cql":"UPDATE","params":{"serial_consistency":"ONE"}}"#,
                "serial_consistency: unknown variant",
            ),
            (r#"{"cql":"SELECT","params":{"limit":1}}"#, "there is no parameter \"limit\""),
            (r#"{"cql":"SELECT","expect":{"member":{"a":1}}}"#, "there is no member"),
        ] {
            let message = spelled(text).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
