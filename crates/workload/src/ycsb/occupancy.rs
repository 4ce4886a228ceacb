//! The constant occupancy workload: a core workload sized to fill part of a disk.

use super::config::CoreConfig;
use crate::properties::{Properties, PropertyError, PropertyReader};

/// The properties read here, in addition to those of the core workload.
pub const PROPERTIES: [&str; 3] = ["disksize", "occupancy", "storageages"];

/// The properties it sets.
const SET: [&str; 3] = ["recordcount", "insertcount", "operationcount"];

/// Sets the counts of records and operations so that the records fill part of a disk and are
/// rewritten several times. Returns the properties that had other values before.
///
/// # Errors
/// Returns an error if a property is invalid, the disk holds no record, or the mean length of a
/// field is unknown.
pub fn occupy(
    properties: &mut Properties,
    file: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<&'static str>, Vec<PropertyError>> {
    let fields = CoreConfig::read(&without_counts(properties), false, file)?.fields;
    let mut read = PropertyReader::new(properties);
    let disk = read.whole("disksize", 100_000_000);
    let occupancy = read.fraction("occupancy", 0.9);
    let ages = read.whole("storageages", 10);
    let mean = fields.length.mean().unwrap_or_else(|| {
        let cure = "give constant, uniform or histogram";
        read.wrong("fieldlengthdistribution", "a zipfian length has no mean here", cure);
        1.0
    });
    // The order of operations is YCSB's.
    let records = (occupancy * (disk as f64 / (mean * fields.count as f64))) as u64;
    if records == 0 {
        read.wrong("disksize", "holds no record", "make it larger, or the fields smaller");
    }
    read.end(())?;
    let said = SET.into_iter().filter(|name| properties.get(name).is_some()).collect();
    properties.set("recordcount", records.to_string());
    properties.set("insertcount", records.to_string());
    properties.set("operationcount", ages.saturating_mul(records).to_string());
    Ok(said)
}

/// The properties without those that will be set, whose current values are irrelevant.
fn without_counts(properties: &Properties) -> Properties {
    let mut others = Properties::default();
    for (name, value) in properties.iter().filter(|(name, _)| !SET.contains(name)) {
        others.set(name, value);
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupied(text: &str) -> Result<([String; 3], Vec<&'static str>), String> {
        let mut properties = Properties::parse(text.as_bytes()).unwrap();
        let said = occupy(&mut properties, &|_| Ok("BlockSize\t4\n0\t1\n1\t1\n".to_owned()))
            .map_err(|errors| errors[0].to_string())?;
        Ok((SET.map(|name| properties.get(name).unwrap().to_owned()), said))
    }

    #[test]
    fn counts_follow_from_the_disk() {
        let (counts, said) = occupied("recordcount=x\noperationcount=5").unwrap();
        assert_eq!(counts, ["90000", "90000", "900000"]);
        assert_eq!(said, ["recordcount", "operationcount"]);
        let uniform = "fieldlengthdistribution=uniform\nfieldlength=19\nstorageages=3";
        assert_eq!(occupied(uniform).unwrap().0, ["900000", "900000", "2700000"]);
        let histogram = "fieldlengthdistribution=histogram\nfieldcount=1\ndisksize=10\noccupancy=1";
        assert_eq!(occupied(histogram).unwrap().0[0], "5");
    }

    #[test]
    fn what_cannot_be_worked_out_is_refused() {
        for (text, start) in [
            ("disksize=10", "disksize: holds no record; "),
            ("occupancy=2", "occupancy: \"2\" is not valid; "),
            ("fieldlengthdistribution=zipfian", "fieldlengthdistribution: "),
            ("fieldcount=0", "fieldcount: "),
        ] {
            let error = occupied(text).unwrap_err();
            assert!(error.starts_with(start), "{text}: {error}");
        }
    }
}
