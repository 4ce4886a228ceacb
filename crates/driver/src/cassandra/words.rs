//! Cassandra's own word for the operations of a plan: any statement.

use super::cql::Table;
use super::plan::Consistency;
use super::{Pool, trouble};
use crate::library::{CallError, LibraryPen};
use crate::mistake::Invalid;
use crate::op::Failure;
use crate::values::{Holes, parts};
use crate::words::{OperationPlan, Word, Wrong, flag_of, malformed, refused, word_of};
use crate::{TargetError, words};
use ::scylla::client::session::Session;
use ::scylla::frame::response::result::{ColumnType, NativeType};
use ::scylla::response::query_result::QueryResult;
use ::scylla::statement::SerialConsistency;
use ::scylla::statement::prepared::PreparedStatement;
use ::scylla::value::{Counter, CqlTimestamp, CqlValue, Row};
use serde::de::DeserializeOwned;
use serde_json::Value;

const EXAMPLE: &str = "SELECT * FROM {{table}} WHERE y_id = {{key}}";

/// What the driver's card says about it.
pub(super) const CARDS: &[Word] = &[Word {
    name: "cql",
    help: "Any statement, whose values are bound; {{table}} is the run's table, and the parameters \
           consistency and serial_consistency are for this statement alone",
    example: EXAMPLE,
}];

/// What stands for the name of the table.
const TABLE: &str = "{{table}}";

/// A statement with a question mark for each of its values.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    cql: String,
    /// Which hole each question mark stands for.
    order: Vec<usize>,
    /// The values that it needs.
    pub(super) holes: Holes,
    consistency: Option<Consistency>,
    /// How many servers must agree about a condition, such as `IF NOT EXISTS`.
    serial: Option<Serial>,
}

/// How many servers must agree about a condition.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Serial {
    /// More than half.
    Serial,
    /// More than half of those in the local data centre.
    LocalSerial,
}

impl From<Serial> for SerialConsistency {
    fn from(level: Serial) -> Self {
        match level {
            Serial::Serial => Self::Serial,
            Serial::LocalSerial => Self::LocalSerial,
        }
    }
}

/// The statement of an operation on a table with this full name.
///
/// # Errors
/// What is wrong with it.
pub(super) fn spell(operation: &OperationPlan, table: &str) -> Result<Statement, Invalid> {
    let word = word_of(operation, CARDS, "Cassandra")?;
    statement(operation, table).map_err(|(problem, cure)| {
        let flag = flag_of(operation.name.name());
        Invalid::new(flag, format!("{}: {problem}", word.name), cure)
    })
}

fn statement(operation: &OperationPlan, table: &str) -> Result<Statement, Wrong> {
    let mut rest = operation.clone();
    let given = rest.params.remove("consistency");
    let consistency =
        given.map(|it| level("consistency", "ONE or LOCAL_QUORUM", it)).transpose()?;
    let given = rest.params.remove("serial_consistency");
    let serial =
        given.map(|it| level("serial_consistency", "SERIAL or LOCAL_SERIAL", it)).transpose()?;
    rest.only_rows()?;
    let text = operation.text(EXAMPLE)?.trim().trim_end_matches(';').replace(TABLE, table);
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
    Ok(Statement { cql, order, holes, consistency, serial })
}

/// The level in the parameter of this name; `such` names some.
fn level<L: DeserializeOwned>(name: &str, such: &str, value: Value) -> Result<L, Wrong> {
    serde_json::from_value(value)
        .map_err(|error| (format!("{name}: {error}"), format!("give one such as {such}")))
}

/// The name of a table as a plan knows it before it is opened.
pub(super) fn spell_beforehand(operation: &OperationPlan) -> Result<Vec<String>, Invalid> {
    Ok(spell(operation, "t")?.holes.0)
}

impl Statement {
    fn only_reads(&self) -> bool {
        self.cql.get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("select"))
    }

    /// The statement as the server has prepared it.
    pub(super) async fn prepared(
        &self,
        pool: &Pool,
        session: &Session,
    ) -> Result<PreparedStatement, CallError> {
        let mut prepared = pool.statement(session, &self.cql, !self.only_reads()).await?;
        if let Some(level) = self.consistency {
            prepared.set_consistency(level.into());
        }
        if let Some(level) = self.serial {
            prepared.set_serial_consistency(Some(level.into()));
        }
        Ok(prepared)
    }

    /// The values of a request, in the types of the statement.
    ///
    /// # Errors
    /// A value that is not of its type.
    pub(super) fn values(
        &self,
        prepared: &PreparedStatement,
        pen: &LibraryPen,
    ) -> Result<Vec<CqlValue>, CallError> {
        let bound = prepared.get_variable_col_specs();
        let bound = bound.iter().zip(&self.order).map(|(column, place)| {
            let (text, _) = pen.values().get(*place);
            value(text, column.typ()).ok_or_else(|| {
                let text = String::from_utf8_lossy(text).chars().take(40).collect::<String>();
                let name = column.name();
                CallError::new(Failure::Rejected, format!("{text:?} is no value of {name}"))
            })
        });
        bound.collect()
    }
}

/// A value of this type.
fn value(bytes: &[u8], kind: &ColumnType<'_>) -> Option<CqlValue> {
    let ColumnType::Native(kind) = kind else { return None };
    if *kind == NativeType::Blob {
        return Some(CqlValue::Blob(bytes.to_vec()));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    Some(match kind {
        NativeType::Ascii => CqlValue::Ascii(text.to_owned()),
        NativeType::Text => CqlValue::Text(text.to_owned()),
        NativeType::Boolean => CqlValue::Boolean(text.parse().ok()?),
        NativeType::TinyInt => CqlValue::TinyInt(text.parse().ok()?),
        NativeType::SmallInt => CqlValue::SmallInt(text.parse().ok()?),
        NativeType::Int => CqlValue::Int(text.parse().ok()?),
        NativeType::BigInt => CqlValue::BigInt(text.parse().ok()?),
        NativeType::Counter => CqlValue::Counter(Counter(text.parse().ok()?)),
        NativeType::Float => CqlValue::Float(text.parse().ok()?),
        NativeType::Double => CqlValue::Double(text.parse().ok()?),
        NativeType::Timestamp => CqlValue::Timestamp(CqlTimestamp(text.parse().ok()?)),
        NativeType::Uuid => CqlValue::Uuid(text.parse().ok()?),
        NativeType::Timeuuid => CqlValue::Timeuuid(text.parse().ok()?),
        NativeType::Inet => CqlValue::Inet(text.parse().ok()?),
        _ => return None,
    })
}

/// Whether values can be of this type.
fn is_known(kind: &ColumnType<'_>) -> bool {
    let ColumnType::Native(kind) = kind else { return false };
    !matches!(
        kind,
        NativeType::Date
            | NativeType::Decimal
            | NativeType::Duration
            | NativeType::Time
            | NativeType::Varint
    )
}

/// How many rows an answer has: those that were found, or none of a write. A write whose condition
/// did not hold is a conflict; the server then says what is there instead.
pub(super) fn rows(answer: QueryResult) -> Result<u64, CallError> {
    if !answer.is_rows() {
        return Ok(0);
    }
    let wrong =
        |error: &dyn std::fmt::Display| CallError::new(Failure::Protocol, error.to_string());
    let rows = answer.into_rows_result().map_err(|error| wrong(&error))?;
    if rows.column_specs().iter().next().is_none_or(|it| it.name() != "[applied]") {
        return Ok(rows.rows_num() as u64);
    }
    let row = rows.first_row::<Row>().map_err(|error| wrong(&error))?;
    match row.columns.first() {
        Some(Some(CqlValue::Boolean(true))) => Ok(0),
        _ => Err(CallError::new(Failure::Conflict, "the condition of the statement did not hold")),
    }
}

/// Lets the server prepare each statement.
///
/// # Errors
/// The server's words about the first one that it refuses, or a value whose type is not supported.
pub(super) async fn try_out(own: &Own, session: &Session) -> Result<(), TargetError> {
    for (kind, statement) in own.iter() {
        let prepared = session
            .prepare(statement.cql.as_str())
            .await
            .map_err(|error| refused(kind, &trouble::of_prepare(&error).reason))?;
        let unknown = prepared.get_variable_col_specs().iter().find(|it| !is_known(it.typ()));
        if let Some(column) = unknown {
            let flag = flag_of(kind.name());
            let name = column.name();
            return Err(TargetError(format!(
                "{flag}: values of the type of {name} are not supported; write them into the \
                 statement"
            )));
        }
    }
    Ok(())
}

/// The statements of a plan's operations.
pub(super) type Own = words::Own<Statement>;

/// The statements of operations on a table.
pub(super) fn own(operations: &[OperationPlan], table: &Table) -> Result<Own, TargetError> {
    Own::new(operations, |operation| spell(operation, table.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Result<(String, Vec<usize>, Vec<String>), String> {
        let plan = OperationPlan::parse(&format!("cql-spelled={text}")).unwrap();
        let statement = spell(&plan, "\"k\".\"t\"").map_err(|mistake| mistake.to_string())?;
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
            let told = spelled(text).unwrap_err();
            assert!(told.contains(says), "{text}: {told}");
        }
    }

    #[test]
    fn a_value_is_one_of_its_type_or_none() {
        let of = |text: &str, kind| value(text.as_bytes(), &ColumnType::Native(kind));
        assert_eq!(of("17", NativeType::Int), Some(CqlValue::Int(17)));
        assert_eq!(of("17", NativeType::Text), Some(CqlValue::Text("17".to_owned())));
        assert_eq!(of("x", NativeType::BigInt), None);
        assert_eq!(of("300", NativeType::TinyInt), None);
        assert_eq!(of("true", NativeType::Boolean), Some(CqlValue::Boolean(true)));
        let uuid = of("0123456789abcdef0123456789abcdef", NativeType::Uuid);
        assert!(matches!(uuid, Some(CqlValue::Uuid(_))), "{uuid:?}");
        assert_eq!(value(&[0xff], &ColumnType::Native(NativeType::Text)), None);
        assert_eq!(of("1", NativeType::Varint), None);
    }
}
