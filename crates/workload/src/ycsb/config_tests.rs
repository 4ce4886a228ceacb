//! Defaults, mistakes and the standard workloads.

use super::*;
use crate::ycsb::builtin;

fn read(text: &str) -> Result<CoreConfig, Vec<String>> {
    let properties = Properties::parse(text.as_bytes()).unwrap();
    let file = |path: &str| match path {
        "lengths" => Ok("BlockSize\t10\n0\t1\n1\t2\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    CoreConfig::read(&properties, false, &file)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn defaults_are_those_of_ycsb() {
    let config = read("").unwrap();
    let expected = CoreConfig {
        table: "usertable".to_owned(),
        records: 2_147_483_647,
        insert_start: 0,
        insert_count: 2_147_483_647,
        operations: 0,
        keys: KeyNames { prefix: "user".to_owned(), digits: 1, order: KeyOrder::Hashed },
        fields: FieldsSpec {
            prefix: "field".to_owned(),
            count: 10,
            length: LengthSpec::Constant { length: 100 },
            read: ReadFields::All,
            write_all: false,
            integrity: false,
        },
        proportions: Proportions {
            read: 0.95,
            update: 0.05,
            insert: 0.0,
            scan: 0.0,
            read_modify_write: 0.0,
            delete: 0.0,
        },
        requests: RequestSpec::Uniform,
        scan_length: LengthSpec::Uniform { min: 1, max: 1000 },
        retry: RetrySpec { limit: 0, interval_s: 3.0, keep_going: false },
        seed: None,
    };
    assert_eq!(config, expected);
}

#[test]
fn every_property_is_known_and_read() {
    // A value that is invalid for every property, except those with a text.
    let texts = ["fieldlengthhistogram", "fieldnameprefix", "insertorder", "keyprefix", "table"];
    let plain = read("").unwrap();
    for name in CoreConfig::PROPERTIES {
        let result = read(&format!("{name}=some:thing"));
        if name == "fieldlengthhistogram" {
            let errors = read(&format!("{name}=x\nfieldlengthdistribution=histogram")).unwrap_err();
            assert!(errors[0].starts_with("fieldlengthhistogram: x: no such file; "));
        } else if texts.contains(&name) {
            assert_ne!(result.unwrap(), plain, "{name}");
        } else {
            let errors = result.unwrap_err();
            assert!(errors.len() == 1 && errors[0].starts_with(&format!("{name}: ")), "{errors:?}");
        }
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = "recordcount=10\ninsertstart=5\ninsertcount=6\nreadproportion=0\n\
                updateproportion=0\ndataintegrity=TRUE\nfieldlengthdistribution=uniform\n\
                minfieldlength=101\nminscanlength=2000\nhotspotdatafraction=1.5\nfieldcount=0\n\
                requestdistribution=exponential\nexponential.percentile=100\nseed=-1";
    let errors = read(text).unwrap_err();
    let names: Vec<&str> = errors.iter().map(|error| error.split(':').next().unwrap()).collect();
    let expected = [
        "recordcount",
        "dataintegrity",
        "minfieldlength",
        "fieldcount",
        "readproportion",
        "hotspotdatafraction",
        "exponential.percentile",
        "minscanlength",
        "seed",
    ];
    assert_eq!(names, expected);
    assert!(errors.iter().all(|error| error.contains("; ") && !error.contains('\n')));
}

#[test]
fn the_standard_workloads_are_valid() {
    for (name, text) in builtin::WORKLOADS {
        let config = read(text).unwrap();
        assert_eq!((config.records, config.operations), (1000, 1000), "{name}");
        let requests = if name == "workloadd" {
            RequestSpec::Latest { as_ycsb: false }
        } else {
            RequestSpec::Zipfian
        };
        assert_eq!(config.requests, requests, "{name}");
    }
}

#[test]
fn slices_insert_apart() {
    let shift = |start: u64, operations: u64| {
        let text = format!(
            "recordcount=100\ninsertstart={start}\ninsertcount=25\n\
                            operationcount={operations}"
        );
        read(&text).unwrap().insert_shift(0)
    };
    assert_eq!([0, 25, 50, 75].map(|start| shift(start, 1000)), [0, 1000, 2000, 3000]);
    assert_eq!(shift(25, 0), 1 << 40);
    assert_eq!(read("recordcount=5").unwrap().insert_shift(0), 0);
}

#[test]
fn lengths_by_histogram() {
    let config = read("fieldlengthdistribution=histogram\nfieldlengthhistogram=lengths").unwrap();
    let expected = LengthSpec::Histogram { block: 10, counts: vec![1, 2] };
    assert_eq!(config.fields.length, expected);
}

#[test]
fn a_config_survives_being_stored() {
    let config = read("requestdistribution=hotspot\nseed=7").unwrap();
    let stored = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<CoreConfig>(&stored).unwrap(), config);
}

#[test]
fn the_largest_record_is_known() {
    let most = |text: &str| read(text).unwrap().fields.most_bytes();
    assert_eq!(most(""), 10 * (100 + 6));
    assert_eq!(most("fieldcount=11\nfieldlength=7\nfieldnameprefix=f"), 11 * (7 + 3));
    assert_eq!(most("fieldcount=1\nfieldlength=1"), 1 + 6);
    assert_eq!(most("fieldlengthdistribution=uniform\nfieldlength=9\nfieldcount=2"), 2 * (9 + 6));
}
