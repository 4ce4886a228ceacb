//! A table to be created by a command, with its split points.

use super::HBasePlan;
use super::admin::{MasterClient, cannot, settings, split_points};
use super::plan::MOST_SPLITS;
use crate::mistake::{Flagged, Invalid};
use crate::{DatabasePlan, DriverPlan as _, Opening, TargetAsked, TargetError};
use prost::bytes::Bytes;

/// A table that does not exist yet.
#[derive(Clone, Debug)]
pub struct NewTable {
    plan: HBasePlan,
    split_points: Vec<String>,
}

/// Where a table is split.
#[derive(Clone, Debug)]
pub enum SplitsAsked {
    /// At this many points between user1000 and user9999.
    Count(Flagged<u64>),
    /// Before these rows.
    Rows(Flagged<Vec<String>>),
}

impl NewTable {
    /// A table as requested; without `splits`, it has the split points of its address, or none.
    ///
    /// # Errors
    /// Fails if the request is invalid.
    pub fn check(asked: &TargetAsked, splits: Option<&SplitsAsked>) -> Result<Self, Invalid> {
        let plan = HBasePlan::check(asked)?;
        if matches!(plan.database, DatabasePlan::Scratch { .. }) {
            return Err(asked.wrong(&HBasePlan::CARD, "no table"));
        }
        let split_points = match splits {
            None => plan.options.splits.map(split_points).unwrap_or_default(),
            Some(SplitsAsked::Count(count)) => {
                if let Some(mistake) = count.out_of_range(1, MOST_SPLITS.into()) {
                    return Err(mistake);
                }
                split_points(count.value as u32)
            }
            Some(SplitsAsked::Rows(rows)) => in_order(rows)?,
        };
        Ok(Self { plan, split_points })
    }

    /// The name of the table.
    pub fn name(&self) -> &str {
        self.plan.database.name().unwrap_or_default()
    }

    /// The name of its column family.
    pub fn family(&self) -> &str {
        self.plan.family_or_default()
    }

    /// The first row of each region but the first.
    pub fn split_points(&self) -> &[String] {
        &self.split_points
    }

    /// Creates the table. Returns whether it did: with `may_exist`, an existing table is left as it
    /// is.
    ///
    /// # Errors
    /// Fails if it could not be created, or a table of this name already exists.
    pub async fn create(&self, opening: &Opening, may_exist: bool) -> Result<bool, TargetError> {
        let (settings, seeds) = (settings(&self.plan, opening)?, self.plan.seeds());
        let (admin, table) =
            (MasterClient::of(&seeds, &settings), Bytes::from(self.name().to_owned()));
        let found = admin.families(&table).await;
        let found = found
            .map_err(|trouble| cannot(&format!("reach HBase at {}", seeds.join(", ")), &trouble))?;
        let Some(found) = found else {
            admin.create_table(&table, self.family(), &self.split_points).await?;
            return Ok(true);
        };
        let (name, family, has) = (self.name(), self.family(), found.join(", "));
        let exists = format!("table {name:?} exists already");
        let problem = match found.iter().any(|it| it == family) {
            true if may_exist => return Ok(false),
            true => format!(
                "{exists}; add --if-not-exists to leave it as it is, or choose \
                another"
            ),
            false => format!("{exists}, without the column family {family:?}: it has {has}"),
        };
        Err(TargetError(problem))
    }
}

/// The rows at which a table is split: in order, each once.
fn in_order(rows: &Flagged<Vec<String>>) -> Result<Vec<String>, Invalid> {
    let mut sorted = rows.value.clone();
    sorted.sort_unstable();
    let wrong = |problem: String| {
        Invalid::new(rows.flag, problem, "give different rows with commas between them")
    };
    if sorted.iter().any(String::is_empty) {
        return Err(wrong("an empty row".to_owned()));
    }
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(wrong(format!("{:?} twice", pair[0]))),
        None => Ok(sorted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(address: &str, splits: Option<&SplitsAsked>) -> Result<NewTable, String> {
        let asked = TargetAsked { keep: true, ..TargetAsked::at(address) };
        NewTable::check(&asked, splits).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn as_many_split_points_as_differ_may_be_asked_for() {
        let points = |count| {
            let splits = SplitsAsked::Count(Flagged::new("--splits", count));
            checked("hbase://h/t", Some(&splits)).map(|table| table.split_points)
        };
        let all = points(8_999).unwrap();
        assert_eq!((all.len(), &all[0][..], &all[8_998][..]), (8_999, "user1001", "user9999"));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        for count in [0, 9_000] {
            assert!(points(count).unwrap_err().starts_with("--splits: "), "{count}");
        }
        let own = checked("hbase://h/t?splits=2&cf=f", None).unwrap();
        assert_eq!((own.name(), own.family()), ("t", "f"));
        assert_eq!(own.split_points(), ["user5499", "user9999"]);
    }

    #[test]
    fn rows_are_sorted_and_differ() {
        let points = |rows: &[&str]| {
            let rows = rows.iter().map(|row| (*row).to_owned()).collect();
            let splits = SplitsAsked::Rows(Flagged::new("--split-keys", rows));
            checked("hbase://h/t", Some(&splits)).map(|table| table.split_points)
        };
        assert_eq!(points(&["m", "b"]).unwrap(), ["b", "m"]);
        assert!(points(&["m", "b", "m"]).unwrap_err().starts_with("--split-keys: \"m\" twice"));
        assert!(points(&["m", ""]).unwrap_err().contains("an empty row"));
    }

    #[test]
    fn a_table_is_named() {
        assert!(checked("hbase://h", None).unwrap_err().contains("no table"));
        assert!(checked("http://h/t", None).unwrap_err().contains("give hbase[s]://"));
    }
}
