//! The fields of the documents that a run writes, for databases whose tables have columns.

use crate::op::each_member;
use crate::plan::{PlanRecord, SchemaPlan};
use crate::schema::SchemaError;

/// The fields that the stages name, and the members of all schemas if a stage writes documents.
pub(super) fn fields(plan: &PlanRecord) -> Result<Vec<String>, SchemaError> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !all.iter().any(|it| it == name) {
            all.push(name.to_owned());
        }
    };
    for stage in &plan.stages {
        let own = stage.work.fields();
        for name in &own {
            add(name);
        }
        if !own.is_empty() {
            continue;
        }
        for schema in &plan.schemas {
            let mut text = Vec::new();
            let documents = SchemaPlan::documents(plan.seed, std::slice::from_ref(schema))?;
            documents.write(0, 0, b"", &mut text);
            each_member(&text, |name, _| add(name));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Flagged, PlanSpec, check};
    use crate::schema::Ids;
    use crate::workload::{DocumentsAsked, RunAsked, demand};

    fn plan(workload: &str) -> PlanRecord {
        let asked = RunAsked {
            own: crate::workload::OwnMix::new(),
            documents: DocumentsAsked {
                documents: Flagged::new("--docs", 10),
                batch: Flagged::new("--batch", 1),
                within_ns: None,
                operations: Flagged::new("--ops", Some(10)),
                warmup_ns: 0,
            },
            own_batch: false,
            mix: None,
            ids: Ids::Sequential,
            given: Vec::new(),
        };
        let work = demand(workload, &asked).unwrap();
        let spec = PlanSpec::new("run", Flagged::new("--connections", 1), work);
        check(&spec).unwrap().into_record()
    }

    #[test]
    fn fields_are_those_of_the_workload_or_of_the_schemas() {
        let mut mixed = plan("mixed");
        let built_in = mixed.schemas[0].clone();
        mixed.schemas[0].text = r#"{"a": 1, "b": {"c": 2}}"#.to_owned();
        mixed.schemas.push(SchemaPlan { text: r#"{"b": 1, "d\"": 2}"#.to_owned(), ..built_in });
        assert_eq!(fields(&mixed).unwrap(), ["a", "b", "d\""]);
        let ycsb = fields(&plan("ycsb-a")).unwrap();
        assert_eq!((ycsb.len(), ycsb[0].as_str(), ycsb[9].as_str()), (10, "field0", "field9"));
    }
}
