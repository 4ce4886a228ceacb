//! The schema of a table by kind of operation or by class of failure.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// An object whose keys are the names of `K`. schemars itself accepts any key if the names of an
/// enum have descriptions.
pub fn keyed<K: JsonSchema, V: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": generator.subschema_for::<K>(),
        "additionalProperties": generator.subschema_for::<V>(),
    })
}
