//! The schemas as another validator reads them: Python's jsonschema accepts each event of each command, and each row.

use std::fs;
use std::process::Command;

use crate::support::home::outcome;
use crate::support::{Home, expect, noise_file};

/// `validate SCHEMA LINES`: the first line that does not fit ends it.
const VALIDATE: &str = r#"
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
count = 0
for line in open(sys.argv[2]):
    for error in validator.iter_errors(json.loads(line)):
        sys.exit(f"{error.message[:300]}: {line[:300]}")
    count += 1
print(f"{count} lines fit")
"#;

/// Commands of all kinds: with a job and without one, with problems, with nothing to do.
const COMMANDS: [&[&str]; 16] = [
    &["copy", "--json", "--bill", "a", "b"],
    &["copy", "--json", "-n", "a", "c"],
    &["copy", "--json", "-i", "tree/", "copies"],
    &["copy", "--json", "missing", "d"],
    &["mirror", "--json", "tree/", "copies"],
    &["verify", "--json", "a", "b"],
    &["hash", "--json", "a"],
    &["doctor", "--json"],
    &["explain", "--json", "null:64MiB", "null:"],
    &["copy", "--json", "--wrong-flag", "a", "b"],
    &["lab", "run", "cpu", "--quick", "--json", "--out", "rows.jsonl"],
    &["lab", "view", "--json", "rows.jsonl"],
    &["lab", "fit", "--json", "rows.jsonl"],
    &["lab", "reproduce", "--list", "--json"],
    &["lab", "simulate", "recovery", "--json"],
    &["lab", "view", "--json", "missing.jsonl"],
];

#[test]
fn another_validator_accepts_events_and_rows() {
    let home = Home::new();
    noise_file(&home, "a", 100_000, 1);
    fs::create_dir(home.path("tree")).expect("a folder");
    noise_file(&home, "tree/one", 10_000, 2);
    fs::write(home.path("validate.py"), VALIDATE).expect("room");
    let events: String = COMMANDS.iter().map(|words| home.pump(words).out).collect();
    fs::write(home.path("events.jsonl"), &events).expect("room");
    assert!(events.lines().count() > COMMANDS.len(), "{events}");
    for (schema, lines) in [("events", "events.jsonl"), ("row", "rows.jsonl")] {
        let schema = format!("{}/../../schema/{schema}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new("python3");
        command.args(["validate.py", &schema, lines]).current_dir(home.path("."));
        let seen = outcome(command, b"");
        if seen.err.contains("No module named 'jsonschema'") {
            eprintln!("not tested: python3-jsonschema is not installed here");
            return;
        }
        expect(&seen, 0, &["lines fit"], lines);
    }
}
