//! Builds statements. Knows nothing about connections.

use std::fmt::Write as _;

/// The key column, as YCSB names it.
pub(super) const KEY: &str = "y_id";
/// For a table with more columns than this, statements for a single column are prepared on demand.
const FEW: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Its keyspace and its own name.
    place: [String; 2],
    /// Its full name, and that of its keyspace, quoted.
    name: String,
    keyspace: String,
    key: String,
    fields: Vec<String>,
}

/// A name in the quoted form that CQL allows for any text.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Names, separated by commas.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for name in names {
        let separator = if out.is_empty() { "" } else { ", " };
        let _ = write!(out, "{separator}{}", quoted(name));
    }
    out
}

impl Table {
    pub(super) fn new(keyspace: &str, table: &str, key: &str, fields: Vec<String>) -> Self {
        let name = format!("{}.{}", quoted(keyspace), quoted(table));
        let place = [keyspace.to_owned(), table.to_owned()];
        Self { place, name, keyspace: quoted(keyspace), key: key.to_owned(), fields }
    }

    pub(super) fn place(&self) -> &[String; 2] {
        &self.place
    }

    /// Its full name, quoted.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// CQL with the placeholders for the table and its keyspace replaced by their names.
    pub(super) fn named(&self, cql: &str) -> String {
        cql.replace("{{table}}", &self.name).replace("{{keyspace}}", &self.keyspace)
    }

    /// Whether this is the name of the key column.
    pub(super) fn is_key(&self, name: &str) -> bool {
        self.key == name
    }

    pub(super) fn create(&self) -> String {
        let mut cql = format!("CREATE TABLE {} ({} text PRIMARY KEY", self.name, quoted(&self.key));
        for field in &self.fields {
            let _ = write!(cql, ", {} text", quoted(field));
        }
        cql.push(')');
        cql
    }

    pub(super) fn drop(&self) -> String {
        format!("DROP TABLE {}", self.name)
    }

    /// Writes a row: its key, then these fields.
    pub(super) fn insert<'a>(&'a self, fields: impl ExactSizeIterator<Item = &'a str>) -> String {
        let places = ", ?".repeat(fields.len());
        let names = list(std::iter::once(self.key.as_str()).chain(fields));
        format!("INSERT INTO {} ({names}) VALUES (?{places})", self.name)
    }

    /// Changes these fields of a row; the key comes last.
    pub(super) fn update<'a>(&self, fields: impl Iterator<Item = &'a str>) -> String {
        let mut cql = format!("UPDATE {} SET ", self.name);
        for (place, field) in fields.enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            let _ = write!(cql, "{separator}{} = ?", quoted(field));
        }
        let _ = write!(cql, " WHERE {} = ?", quoted(&self.key));
        cql
    }

    /// Reads these fields of a row, or all columns.
    pub(super) fn select<'a>(&self, fields: impl Iterator<Item = &'a str>) -> String {
        format!("{} WHERE {} = ?", self.columns(fields), quoted(&self.key))
    }

    /// Reads these fields of rows, or all columns, from a key on, in the order of the keys' hashes.
    pub(super) fn scan<'a>(&self, fields: impl Iterator<Item = &'a str>) -> String {
        let key = quoted(&self.key);
        format!("{} WHERE token({key}) >= token(?) LIMIT ?", self.columns(fields))
    }

    fn columns<'a>(&self, fields: impl Iterator<Item = &'a str>) -> String {
        let names = list(fields);
        let names = if names.is_empty() { "*" } else { &names };
        format!("SELECT {names} FROM {}", self.name)
    }

    pub(super) fn delete(&self) -> String {
        format!("DELETE FROM {} WHERE {} = ?", self.name, quoted(&self.key))
    }

    /// The statements that are likely to be needed.
    pub(super) fn statements(&self) -> Vec<String> {
        let (none, all) = (std::iter::empty, || self.fields.iter().map(String::as_str));
        let mut out =
            vec![self.insert(all()), self.select(none()), self.scan(none()), self.delete()];
        if self.fields.len() > FEW {
            return out;
        }
        for field in all() {
            let one = || std::iter::once(field);
            out.push(self.update(one()));
            out.push(self.select(one()));
        }
        out
    }
}

/// Creates a keyspace with this many copies of each row.
pub(super) fn create_keyspace(keyspace: &str, replication: u32) -> String {
    format!(
        "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', \
         'replication_factor': {replication}}}",
        quoted(keyspace)
    )
}

pub(super) fn drop_keyspace(keyspace: &str) -> String {
    format!("DROP KEYSPACE {}", quoted(keyspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_quote_names_and_bind_values() {
        let table = Table::new("ycsb", "usertable", KEY, vec!["field0".into(), "a\"b".into()]);
        let two = || ["field0", "a\"b"].into_iter();
        assert_eq!(
            table.create(),
            r#"CREATE TABLE "ycsb"."usertable" ("y_id" text PRIMARY KEY, "field0" text, "a""b" text)"#
        );
        assert_eq!(
            table.insert(two()),
            r#"INSERT INTO "ycsb"."usertable" ("y_id", "field0", "a""b") VALUES (?, ?, ?)"#
        );
        assert_eq!(
            table.update(two()),
            r#"UPDATE "ycsb"."usertable" SET "field0" = ?, "a""b" = ? WHERE "y_id" = ?"#
        );
        let none = std::iter::empty;
        assert_eq!(table.select(none()), r#"SELECT * FROM "ycsb"."usertable" WHERE "y_id" = ?"#);
        assert_eq!(
            table.scan(["x"].into_iter()),
            r#"SELECT "x" FROM "ycsb"."usertable" WHERE token("y_id") >= token(?) LIMIT ?"#
        );
        assert_eq!(table.delete(), r#"DELETE FROM "ycsb"."usertable" WHERE "y_id" = ?"#);
        assert_eq!(table.drop(), r#"DROP TABLE "ycsb"."usertable""#);
        assert_eq!(drop_keyspace("k"), r#"DROP KEYSPACE "k""#);
        assert!(create_keyspace("k", 3).ends_with("'replication_factor': 3}"));
    }

    #[test]
    fn what_a_run_needs_is_prepared_before_it() {
        let fields = |count| (0..count).map(|i| format!("f{i}")).collect();
        let prepared = |count| Table::new("k", "t", KEY, fields(count)).statements().len();
        assert_eq!((prepared(10), prepared(1_000)), (24, 4));
    }
}
