//! The fields that a row of each version has.
//!
//! A row of this version or a newer one has all that this program knows: one without is no whole row. A row of an older
//! version may lack some, and these are unknown. A name that this program does not know is a mistake, but in a row of a
//! newer version: there it is new. Must not know: files, what fields say.

use std::sync::OnceLock;

use anyhow::bail;
use serde_json::{Map, Value};

use super::{Row, VERSION};

/// Makes a row of an object.
///
/// Errors: a field that is missing, unknown or of another kind, by its name.
pub fn row(object: Value) -> anyhow::Result<Row> {
    let version = object.get("v").and_then(Value::as_u64);
    // Without a version it is no row, which the type says.
    if let Some((version, fields)) = version.zip(object.as_object()) {
        check(version, fields)?;
    }
    Ok(serde_json::from_value(object)?)
}

fn check(version: u64, fields: &Map<String, Value>) -> anyhow::Result<()> {
    let (names, known) = (names(), u64::from(VERSION));
    let missing = names.keys().find(|name| !fields.contains_key(*name));
    if let Some(name) = missing.filter(|_| version >= known) {
        bail!("missing field `{name}`, which a row of version {version} has");
    }
    let unknown = fields.keys().find(|name| !names.contains_key(*name));
    if let Some(name) = unknown.filter(|_| version <= known) {
        bail!("unknown field `{}` in a row of version {version}", datapump::shown(name.as_bytes()));
    }
    Ok(())
}

/// The fields that this program writes.
fn names() -> &'static Map<String, Value> {
    static NAMES: OnceLock<Map<String, Value>> = OnceLock::new();
    NAMES.get_or_init(|| match serde_json::to_value(Row::default()) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::row as some_row;

    fn changed(version: u64, missing: &str, added: &str) -> Result<Row, String> {
        let mut object = serde_json::to_value(some_row(3)).expect("JSON");
        let fields = object.as_object_mut().expect("an object");
        fields.insert("v".into(), version.into());
        fields.remove(missing);
        if !added.is_empty() {
            fields.insert(added.into(), 0.5.into());
        }
        row(object).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_of_a_row_are_those_of_its_version() {
        let missing = |name: &str, version: u64| {
            Err(format!("missing field `{name}`, which a row of version {version} has"))
        };
        let unknown = |version: u64| Err(format!("unknown field `moon_phase` in a row of version {version}"));
        let read = |version: u32| Ok(Row { v: version, ..some_row(3) });
        for (version, without, with, expected) in [
            (1, "", "", read(1)),
            (1, "pace_before_ns", "", read(1)),
            (1, "soaker", "", read(1)),
            (1, "study", "", Err("missing field `study`".into())),
            (1, "", "moon_phase", unknown(1)),
            (2, "", "", read(2)),
            (2, "pace_before_ns", "", missing("pace_before_ns", 2)),
            (2, "study_text", "", missing("study_text", 2)),
            (2, "", "moon_phase", unknown(2)),
            (3, "", "moon_phase", read(3)),
            (3, "wakeups", "moon_phase", missing("wakeups", 3)),
        ] {
            assert_eq!(changed(version, without, with), expected, "{version} {without} {with}");
        }
        assert_eq!(changed(2, "v", "").expect_err("no version"), "missing field `v`");
    }

    #[test]
    fn the_kept_rows_of_the_first_version_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).expect("the folder of kept rows") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read(&path).expect("readable");
                if text.starts_with(b"{\"v\":1,\"study\"") {
                    let rows = crate::row::read_rows(&path).unwrap_or_else(|error| panic!("{error:#}"));
                    read += rows.iter().filter(|row| row.v == 1 && row.pace_before_ns.is_none()).count();
                }
            }
        }
        assert!(read > 9000, "{read} rows");
    }
}
