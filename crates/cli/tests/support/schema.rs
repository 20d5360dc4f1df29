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
const KEYWORDS: [&str; 18] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "oneOf",
    "anyOf",
    "const",
    "enum",
    "type",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
];

/// All output lines as events; the last must be a report. Panics with the line that does not fit.
pub fn checked(out: &str) -> Vec<Value> {
    let schema = events();
    let lines = out.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        fits_one(&schema, &event).unwrap_or_else(|why| panic!("{why}: {line}"));
        event
    });
    let events: Vec<Value> = lines.collect();
    let last = events.last().unwrap_or_else(|| panic!("no event at all"));
    assert_eq!(last["event"], "report", "the last line is the report: {out}");
    let reports = events.iter().filter(|event| event["event"] == "report").count();
    assert_eq!(reports, 1, "one report: {out}");
    events
}

/// There may be two forms of an event of one name: a long report and a short one. As any other validator reads it, and
/// with fields that are known.
fn fits_one(schema: &Value, event: &Value) -> Result<(), String> {
    check(schema, schema, event)?;
    let forms = schema["anyOf"].as_array().ok_or("the schema lists no events")?;
    let mut whys = Vec::new();
    for form in forms.iter().filter(|form| form["properties"]["event"]["const"] == event["event"]) {
        match check(schema, form, event).and_then(|()| no_unknown_fields(schema, form, event)) {
            Ok(()) => return Ok(()),
            Err(why) => whys.push(why),
        }
    }
    Err(if whys.is_empty() { "the schema does not know this event".into() } else { whys.join("; ") })
}

fn no_unknown_fields(root: &Value, form: &Value, event: &Value) -> Result<(), String> {
    let known = names(root, form);
    let fields = event.as_object().ok_or("an event is an object")?;
    match fields.keys().find(|name| !known.contains(name)) {
        Some(name) => Err(format!("field {name} is not in the schema")),
        None => Ok(()),
    }
}

/// The names of a form's fields, those of the forms that it is made of included.
fn names<'schema>(root: &'schema Value, form: &'schema Value) -> Vec<&'schema String> {
    let own = form["properties"].as_object().into_iter().flat_map(Map::keys);
    let choices = ["oneOf", "anyOf"].into_iter().filter_map(|of| form[of].as_array()).flatten();
    let parts = choices.chain(referred(root, form));
    own.chain(parts.flat_map(|part| names(root, part))).collect()
}

fn referred<'schema>(root: &'schema Value, form: &Value) -> Option<&'schema Value> {
    root.pointer(form["$ref"].as_str()?.trim_start_matches('#'))
}

fn check(root: &Value, form: &Value, value: &Value) -> Result<(), String> {
    let rules = form.as_object().ok_or("no such form in the schema")?;
    if let Some(name) = rules.keys().find(|name| !KEYWORDS.contains(&name.as_str())) {
        return Err(format!("the schema uses {name}, which this test does not know"));
    }
    if rules.contains_key("$ref") {
        check(root, referred(root, form).ok_or("a broken $ref")?, value)?;
    }
    for of in ["oneOf", "anyOf"] {
        let Some(choice) = rules.get(of).and_then(Value::as_array) else { continue };
        let count = choice.iter().filter(|form| check(root, form, value).is_ok()).count();
        if count == 0 || (of == "oneOf" && count > 1) {
            return Err(format!("{value} fits {count} of {of} {choice:?}"));
        }
    }
    let fits = |rule: Option<&Value>, right: &dyn Fn(&Value) -> bool| rule.is_none_or(right);
    let least =
        |bound: &Value| value.as_f64().zip(bound.as_f64()).is_none_or(|(number, bound)| number >= bound);
    let broken = [
        ("const", fits(rules.get("const"), &|rule| rule == value)),
        ("enum", fits(rules.get("enum"), &|rule| rule.as_array().is_some_and(|list| list.contains(value)))),
        ("type", fits(rules.get("type"), &|rule| has_type(rule, value))),
        ("minimum", fits(rules.get("minimum"), &least)),
    ];
    match broken.iter().find(|(_, fits)| !fits) {
        Some((rule, _)) => Err(format!("{value} breaks {rule} {}", rules[*rule])),
        None => check_parts(root, rules, value),
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
        if let Some(rule) = known.get(name).or(form.get("additionalProperties")) {
            check(root, rule, field).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    Ok(())
}
