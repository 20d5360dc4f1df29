//! schema/events.schema.json and schema/row.schema.json are what the types say; `DATAPUMP_WRITE_SCHEMAS=1 cargo test
//! -p pump schema` writes them anew.
//!
//! Must not know: what the fields are.

use std::path::PathBuf;

use datapump_lab::row::Row;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::output::events::EventLine;
use crate::output::json::VERSION;

/// The events that a log has, too (`--log-file`): there each has its time.
const LOGGED: [&str; 6] = ["start", "file", "change", "problem", "plan", "report"];

/// The form of what is written, not of what would be read: there, nothing has a default.
fn generated<T: JsonSchema>() -> Value {
    let written = RecursiveTransform(|form: &mut Schema| {
        form.remove("default");
        form.remove("format");
    });
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(written);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// A report of a job has all that the report of a command has that moves nothing: one line may have both forms.
fn events() -> Value {
    let mut schema = generated::<EventLine<'_>>();
    schema["anyOf"] = schema.as_object_mut().and_then(|schema| schema.remove("oneOf")).expect("forms");
    for event in schema["anyOf"].as_array_mut().expect("one form for each event") {
        event["properties"]["v"] = json!({ "const": VERSION });
        event["required"].as_array_mut().expect("the event's name").push("v".into());
        if event["properties"]["event"]["const"].as_str().is_some_and(|name| LOGGED.contains(&name)) {
            let when = "When, in a log (--log-file): RFC 3339, in UTC.";
            event["properties"]["time"] = json!({ "description": when, "type": "string" });
        }
    }
    schema
}

/// Names in one order, whatever order a map has.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(name, field)| (name, sorted(field))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(Map::from_iter(fields))
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// Validators refuse a schema in which a name is required twice; the line would have it twice, too.
fn is_valid(schema: &Value) {
    if let Some(required) = schema["required"].as_array() {
        let names: std::collections::BTreeSet<&str> = required.iter().filter_map(Value::as_str).collect();
        assert_eq!(names.len(), required.len(), "{required:?}");
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(is_valid),
        Value::Array(items) => items.iter().for_each(is_valid),
        _ => {}
    }
}

fn is_kept(name: &str, schema: Value) {
    is_valid(&schema);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema").join(name);
    let text = serde_json::to_string_pretty(&sorted(schema)).expect("JSON") + "\n";
    if std::env::var_os("DATAPUMP_WRITE_SCHEMAS").is_some() {
        std::fs::write(&path, &text).expect("the schema can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the schema is part of the repository");
    let differs = kept.lines().zip(text.lines()).position(|(kept, new)| kept != new);
    assert!(kept == text, "{name} is not what the types say, from line {differs:?} on (see the file's head)");
}

#[test]
fn the_schema_of_events_is_what_the_types_say() {
    is_kept("events.schema.json", events());
}

#[test]
fn the_schema_of_rows_is_what_the_type_says() {
    is_kept("row.schema.json", generated::<Row>());
}
