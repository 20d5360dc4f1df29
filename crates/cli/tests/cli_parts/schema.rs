//! Checks events against schema/events.schema.json: as much of JSON Schema as that file uses, and stricter in one
//! point: an event may have no field that the schema does not name.

use serde_json::{Map, Value};

/// The schema of events.
pub fn events() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/events.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema is part of the repository");
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// Keywords that `check` knows; a schema that uses others would not be checked.
const KEYWORDS: [&str; 17] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "oneOf",
    "const",
    "enum",
    "type",
    "required",
    "properties",
    "additionalProperties",
    "propertyNames",
    "items",
    "minimum",
    "maximum",
];

/// All output lines as events; the last must be a report. Panics with the line that does not fit.
pub fn checked(out: &str) -> Vec<Value> {
    let schema = events();
    let lines = out.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let name = event["event"].as_str().unwrap_or_else(|| panic!("no event: {line}"));
        let is_short = name == "report" && event.get("bytes").is_none();
        let form = &schema["$defs"][if is_short { "ended" } else { name }];
        check(&schema, form, &event).unwrap_or_else(|why| panic!("{why}: {line}"));
        no_unknown_fields(form, &event).unwrap_or_else(|why| panic!("{why}: {line}"));
        event
    });
    let events: Vec<Value> = lines.collect();
    let last = events.last().unwrap_or_else(|| panic!("no event at all"));
    assert_eq!(last["event"], "report", "the last line is the report: {out}");
    let reports = events.iter().filter(|event| event["event"] == "report").count();
    assert_eq!(reports, 1, "one report: {out}");
    events
}

fn no_unknown_fields(form: &Value, event: &Value) -> Result<(), String> {
    let known = form["properties"].as_object().ok_or("the schema does not know this event")?;
    let fields = event.as_object().ok_or("an event is an object")?;
    match fields.keys().find(|name| !known.contains_key(*name)) {
        Some(name) => Err(format!("field {name} is not in the schema")),
        None => Ok(()),
    }
}

fn check(root: &Value, form: &Value, value: &Value) -> Result<(), String> {
    let form = form.as_object().ok_or("no such form in the schema")?;
    if let Some(name) = form.keys().find(|name| !KEYWORDS.contains(&name.as_str())) {
        return Err(format!("the schema uses {name}, which this test does not know"));
    }
    if let Some(reference) = form.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).ok_or("a broken $ref")?;
        check(root, target, value)?;
    }
    let fits = |rule: Option<&Value>, right: &dyn Fn(&Value) -> bool| rule.is_none_or(right);
    let rules = [
        ("const", fits(form.get("const"), &|rule| rule == value)),
        ("enum", fits(form.get("enum"), &|rule| rule.as_array().is_some_and(|list| list.contains(value)))),
        ("type", fits(form.get("type"), &|rule| has_type(rule, value))),
        ("minimum", in_bound(form, "minimum", value, |number, bound| number >= bound)),
        ("maximum", in_bound(form, "maximum", value, |number, bound| number <= bound)),
    ];
    match rules.iter().find(|(_, fits)| !fits) {
        Some((rule, _)) => Err(format!("{value} breaks {rule} {}", form[*rule])),
        None => check_parts(root, form, value),
    }
}

fn in_bound(form: &Map<String, Value>, name: &str, value: &Value, right: fn(f64, f64) -> bool) -> bool {
    match (value.as_f64(), form.get(name).and_then(Value::as_f64)) {
        (Some(number), Some(bound)) => right(number, bound),
        _ => true,
    }
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        _ => false,
    };
    rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is))
}

fn check_parts(root: &Value, form: &Map<String, Value>, value: &Value) -> Result<(), String> {
    if let (Some(items), Some(list)) = (form.get("items"), value.as_array()) {
        list.iter().try_for_each(|item| check(root, items, item))?;
    }
    let Some(fields) = value.as_object() else { return Ok(()) };
    let required = form.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(name) = required.filter_map(Value::as_str).find(|name| !fields.contains_key(*name)) {
        return Err(format!("{name} is missing"));
    }
    let none = Map::new();
    let known = form.get("properties").and_then(Value::as_object).unwrap_or(&none);
    for (name, field) in fields {
        if let Some(names) = form.get("propertyNames") {
            check(root, names, &Value::String(name.clone()))?;
        }
        if let Some(rule) = known.get(name).or(form.get("additionalProperties")) {
            check(root, rule, field).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    Ok(())
}
