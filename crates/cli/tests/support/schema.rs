//! Checks events against schema/events.schema.json, as any validator reads it, and stricter in one point: an event may have
//! no field that the schema does not name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::{Validator, validator_for};
use serde_json::{Value, json};

/// The schema of events.
pub fn events() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/events.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema is part of the repository");
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// The forms of events. There may be two of one name: a long report and a short one.
struct EventForms {
    any: Validator,
    by_event: BTreeMap<String, Vec<Validator>>,
}

static FORMS: LazyLock<EventForms> = LazyLock::new(EventForms::read);

impl EventForms {
    fn read() -> EventForms {
        let schema = events();
        let mut by_event: BTreeMap<String, Vec<Validator>> = BTreeMap::new();
        for form in schema["anyOf"].as_array().expect("the schema lists events") {
            let event = form["properties"]["event"]["const"].as_str().expect("an event has its name");
            let closed = json!({"$defs": schema["$defs"], "allOf": [form], "unevaluatedProperties": false});
            by_event.entry(event.into()).or_default().push(validator_for(&closed).expect("a schema"));
        }
        EventForms { any: validator_for(&schema).expect("a schema"), by_event }
    }

    fn check(&self, event: &Value) -> Result<(), String> {
        self.any.validate(event).map_err(|error| error.to_string())?;
        let forms = event["event"].as_str().and_then(|name| self.by_event.get(name));
        let results: Vec<Result<(), String>> = forms
            .ok_or("the schema does not know this event")?
            .iter()
            .map(|form| form.validate(event).map_err(|error| format!("{}: {error}", error.instance_path())))
            .collect();
        if results.iter().any(Result::is_ok) {
            return Ok(());
        }
        Err(results.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("; "))
    }
}

/// All output lines as events; the last must be a report. Panics with the line that does not fit.
pub fn checked(out: &str) -> Vec<Value> {
    let lines = out.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        FORMS.check(&event).unwrap_or_else(|why| panic!("{why}: {line}"));
        event
    });
    let events: Vec<Value> = lines.collect();
    let last = events.last().unwrap_or_else(|| panic!("no event at all"));
    assert_eq!(last["event"], "report", "the last line is the report: {out}");
    let reports = events.iter().filter(|event| event["event"] == "report").count();
    assert_eq!(reports, 1, "one report: {out}");
    events
}
