//! Events as JSON, one object a line: the forms of schema/events.schema.json.
//!
//! Every object begins with `v` and `event`, whatever the order of the rest.
//!
//! Must not know: where lines are written.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use datapump::{Change, Class, Place, Planned, Problem, Report};
use datapump_lab::advise::explain::Explained;
use datapump_lab::advise::tune::Tuned;
use serde_json::{Map, Value, json};

use crate::output::meter::MeterReading;
use crate::output::version;

/// Version of the forms. Fields are added under the same version; a changed meaning would need another.
const VERSION: u32 = 1;

/// `{"v":1,"event":NAME, …body}`.
fn event(name: &str, body: &str) -> String {
    let fields = body.strip_prefix('{').unwrap_or(body);
    let comma = if fields == "}" { "" } else { "," };
    format!("{{\"v\":{VERSION},\"event\":\"{name}\"{comma}{fields}")
}

/// A job begins.
pub fn start(command: &str, sources: &[Place], target: Option<&Place>) -> String {
    let sources: Vec<String> = sources.iter().map(place).collect();
    let body = json!({
        "version": version::VERSION,
        "command": command,
        "sources": sources,
        "target": target.map(place),
    });
    event("start", &body.to_string())
}

/// A file is complete.
pub fn file(path: &Path, bytes: u64, blake3: Option<&str>) -> String {
    let mut body = Map::new();
    add_path(&mut body, "path", path);
    body.insert("bytes".into(), bytes.into());
    if let Some(root) = blake3 {
        body.insert("blake3".into(), root.into());
    }
    event("file", &Value::Object(body).to_string())
}

/// Something went wrong.
pub fn problem(problem: &Problem) -> String {
    let mut body = Map::new();
    body.insert("class".into(), problem.class.name().into());
    match &problem.path {
        Some(path) => add_path(&mut body, "path", path),
        None => drop(body.insert("path".into(), Value::Null)),
    }
    body.insert("operation".into(), problem.operation.words().into());
    body.insert("offset".into(), problem.offset.into());
    body.insert("message".into(), problem.message.clone().into());
    body.insert("errno".into(), problem.cause.into());
    event("problem", &Value::Object(body).to_string())
}

/// How far it is.
pub fn progress(reading: &MeterReading) -> String {
    let body = json!({
        "bytes": reading.bytes,
        "bytes_total": reading.bytes_total,
        "files": reading.files,
        "percent": reading.percent,
        "rate_bytes_per_second": reading.rate_bytes_per_second,
        "time_left_low_s": reading.time_left_s.map(|(low, _)| low),
        "time_left_high_s": reading.time_left_s.map(|(_, high)| high),
        "limited_by": reading.limited_by,
    });
    event("progress", &body.to_string())
}

/// What would be done with one file.
pub fn plan(planned: &Planned) -> String {
    let body = json!({
        "source": place(&planned.source),
        "target": place(&planned.target),
        "bytes": planned.bytes,
        "how": planned.how,
    });
    event("plan", &body.to_string())
}

/// A change that would be made.
pub fn change(change: &Change) -> String {
    let body = json!({
        "source": change.source.to_string_lossy(),
        "target": change.target.to_string_lossy(),
        "bytes": change.bytes,
        "how": format!("{} {}", change.itemized.trim_end(), change.what),
    });
    event("plan", &body.to_string())
}

/// What was found on this host.
pub fn finding(finding: &crate::output::findings::Finding) -> String {
    let body = json!({
        "name": finding.name,
        "good": finding.good,
        "value": finding.value,
        "advice": finding.advice,
        "command": finding.command,
    });
    event("finding", &body.to_string())
}

/// What rows of studies say.
pub fn summary(summary: &datapump_lab::Summary) -> String {
    event("summary", &json!({ "studies": summary.studies }).to_string())
}

/// What a search found to use for a copy.
pub fn tuned(tuned: &Tuned) -> String {
    event("tuned", &json!(tuned).to_string())
}

/// The last line of an explanation: the copy's report, with what its parts say of it.
pub fn explained(explained: &Explained) -> String {
    let (advice, prediction) = (&explained.advice, explained.prediction.as_ref());
    let next = prediction.map(|it| it.next);
    let fields = json!({
        "predicted_bytes_per_second": prediction.map(|it| it.predicted_bytes_per_second),
        "predicted_ns_per_byte": prediction.map(|it| it.predicted_ns_per_byte),
        "observed_bytes_per_second": explained.observed_bytes_per_second,
        "observed_ns_per_byte": explained.observed_ns_per_byte,
        "error_percent": explained.error_percent,
        "parts": explained.parts,
        "unmeasured": explained.unmeasured,
        "shared_device": prediction.is_some_and(|it| it.shared_device),
        "slowest_part": prediction.map(|it| it.slowest),
        "next_part": next.map(|(part, _)| part),
        "next_part_bytes_per_second": next.map(|(_, speed)| speed),
        "limited_by": explained.limited_by,
        "limited_detail": explained.limited_detail,
        "advice": advice.words,
        "advice_cause": advice.cause,
        "advice_flag": advice.flag,
        "advice_gain": advice.gain,
        "explanation": explained.words,
        "added_ns": explained.added_ns,
        "build": version::build(),
    });
    event("report", &together(json!(explained.report), fields))
}

/// Figures of the lab: an object.
pub fn figures(name: &str, fields: &Value) -> String {
    event(name, &fields.to_string())
}

/// What was seen of a running process, and what limits it.
pub fn watched(
    watched: &datapump_lab::advise::pid::watched::Watched,
    verdict: &datapump_lab::advise::pid::Verdict,
) -> String {
    event("watched", &together(json!(verdict), json!(watched)))
}

/// What a time series of connections came to.
pub fn tcp_watched(traced: &datapump_lab::tcp_trace::TcpTraced) -> String {
    event("tcp_watched", &json!(traced).to_string())
}

/// The last line, with what to try.
pub fn report_with_advice(report: &Report, advice: &str) -> String {
    event("report", &together(json!(report), json!({ "advice": advice, "build": version::build() })))
}

/// Two objects as one.
fn together(one: Value, other: Value) -> String {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            one.extend(other);
            Value::Object(one).to_string()
        }
        (one, _) => one.to_string(),
    }
}

/// What two files of rows say of each other.
pub fn comparison(comparison: &datapump_lab::Comparison) -> String {
    event("comparison", &json!(comparison).to_string())
}

/// The last line.
pub fn report(report: &Report) -> String {
    // Strings, numbers and maps with string keys always have a JSON form.
    let body = serde_json::to_string(report).unwrap_or_else(|_| "{}".into());
    let fields = body.strip_prefix('{').unwrap_or(&body);
    event("report", &format!("{{\"build\":\"{}\",{fields}", version::build()))
}

/// The last line of a command that moves nothing.
pub fn ended(exit_status: i32, class: Option<Class>) -> String {
    let problems: Map<String, Value> =
        class.into_iter().map(|class| (class.name().into(), 1.into())).collect();
    let body = json!({ "version": version::VERSION, "exit_status": exit_status, "problems": problems });
    event("report", &body.to_string())
}

/// A place as text: the word that names it, with what is not UTF-8 replaced.
fn place(place: &Place) -> String {
    place.local_path().map_or_else(|| place.to_string(), |path| path.to_string_lossy().into_owned())
}

/// `name`, and `name_bytes` in base64 when the path is not UTF-8.
fn add_path(body: &mut Map<String, Value>, name: &str, path: &Path) {
    body.insert(name.into(), path.to_string_lossy().into_owned().into());
    if path.to_str().is_none() {
        body.insert(format!("{name}_bytes"), base64(path.as_os_str().as_bytes()).into());
    }
}

/// Base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(if digit <= group.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text, "{bytes}"); // RFC 4648, section 10
        }
    }

    #[test]
    fn a_name_that_is_no_text_comes_with_its_bytes() {
        let odd = Path::new(OsStr::from_bytes(b"bad\xff"));
        assert!(file(odd, 1, None).contains("\"path_bytes\":\"YmFk/w==\""));
        assert!(!file(Path::new("good"), 1, None).contains("path_bytes"));
    }

    #[test]
    fn every_event_begins_alike() {
        assert_eq!(event("report", "{}"), "{\"v\":1,\"event\":\"report\"}");
        assert!(report(&Report::default()).starts_with("{\"v\":1,\"event\":\"report\",\"build\":"));
    }
}
