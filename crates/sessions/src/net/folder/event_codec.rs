//! Events of a job in the form in which they cross between hosts.
//!
//! Must not know: sessions, who listens.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use datapump_core::wire::bounds::{COUNT_MAX, ErrorNumber, FileSize};
use datapump_core::wire::session as wire;
use datapump_transport::NetFault;
use minicbor::bytes::ByteVec;
use serde_json::Value;

use crate::problem::{AttributeKind, Class, LostAttribute, Operation, Problem, Status, shown_path};
use crate::report::Report;
use crate::report::change::{Change, ChangeKind};
use crate::report::event::Event;
use crate::report::watch::{TreeCounts, Watch};
use crate::run::cause::with_cause;

const KINDS: [(ChangeKind, &str); 6] = [
    (ChangeKind::Copy, "copy"),
    (ChangeKind::Link, "link"),
    (ChangeKind::Adjust, "adjust"),
    (ChangeKind::Delete, "delete"),
    (ChangeKind::Backup, "backup"),
    (ChangeKind::RemoveSource, "remove_source"),
];
const THINGS: [&str; 6] = ["file", "folder", "symlink", "device", "pipe", "socket"];

/// Three of them fit into a message: a tree may be deeper than any path that the system takes.
const TOLD_BYTES_MAX: usize = 256 << 10;

/// That what was asked for will not be done, and why.
pub(crate) fn refusal(problem: Problem) -> Box<wire::Message> {
    Box::new(wire::Message::Refused(to_wire(Event::Problem(with_cause(problem)))))
}

/// Why what was asked for will not be done, in the words of this host.
pub(crate) fn refused(event: wire::SessionEvent, host: &str) -> Problem {
    match from_wire(event, host) {
        Event::Problem(problem) => problem,
        _ => NetFault::Refused("it was refused".into()).problem(host),
    }
}

fn bytes(path: &Path) -> ByteVec {
    cut_to_fit(path.as_os_str().as_bytes()).to_vec().into()
}

fn words(words: String) -> String {
    match cut_to_fit(words.as_bytes()) {
        Cow::Borrowed(_) => words,
        Cow::Owned(cut) => String::from_utf8_lossy(&cut).into_owned(),
    }
}

/// Bytes that are too long for a message are cut to their beginning and end, with how much is left out between them.
fn cut_to_fit(bytes: &[u8]) -> Cow<'_, [u8]> {
    const KEPT_BYTES: usize = 2 << 10;
    match bytes.len() {
        ..=TOLD_BYTES_MAX => Cow::Borrowed(bytes),
        len => {
            let left_out = format!("[… {} bytes left out …]", len - 2 * KEPT_BYTES);
            let parts = [&bytes[..KEPT_BYTES], left_out.as_bytes(), &bytes[len - KEPT_BYTES..]];
            Cow::Owned(parts.concat())
        }
    }
}

fn path(bytes: ByteVec) -> PathBuf {
    OsString::from_vec(bytes.into()).into()
}

/// An event as it is sent.
pub(crate) fn to_wire(event: Event) -> wire::SessionEvent {
    match event {
        Event::File { path, bytes: length, blake3 } => {
            wire::SessionEvent::File { path: bytes(&path), bytes: FileSize::of(length), blake3 }
        }
        Event::Problem(problem) => wire::SessionEvent::Problem {
            class: problem.class.name().into(),
            path: problem.path.as_deref().map(bytes),
            operation: problem.operation.words().into(),
            offset: problem.offset.map(FileSize::of),
            message: words(problem.message),
            yours: problem.host.is_some().then_some(true),
            errno: problem.cause.filter(|errno| (1..=4095).contains(errno)).map(ErrorNumber),
            lost: problem.lost.map(|lost| lost.kind.name().into()),
            names: problem.lost.and_then(|lost| lost.names),
            is_copied: problem.is_copied.then_some(true),
        },
        Event::Warning(text) => wire::SessionEvent::Warning(words(text), None),
        Event::Notice(text) => wire::SessionEvent::Warning(words(text), Some(true)),
        Event::Note(text) => wire::SessionEvent::Note(words(text)),
        Event::Change(change) => {
            let kind = KINDS.iter().find(|(kind, _)| *kind == change.kind).map_or("copy", |(_, name)| name);
            wire::SessionEvent::Change {
                kind: kind.into(),
                source: bytes(&change.source),
                target: bytes(&change.target),
                relative: bytes(&change.relative),
                bytes: change.bytes.map(FileSize::of),
                what: change.what.into(),
                itemized: change.itemized,
                leads_to: change.leads_to.as_deref().map(bytes),
            }
        }
    }
}

/// What a message takes in memory until it is sent.
pub(crate) fn kept_bytes(message: &wire::Message) -> usize {
    let of = |path: &Option<ByteVec>| path.as_ref().map_or(0, |path| path.len());
    let words = match message {
        wire::Message::Event(event) | wire::Message::Refused(event) => match event {
            wire::SessionEvent::File { path, blake3, .. } => {
                path.len() + blake3.as_ref().map_or(0, String::len)
            }
            wire::SessionEvent::Problem { class, path, operation, message, lost, .. } => {
                let kind = lost.as_ref().map_or(0, String::len);
                class.len() + of(path) + operation.len() + message.len() + kind
            }
            wire::SessionEvent::Warning(words, _) | wire::SessionEvent::Note(words) => words.len(),
            wire::SessionEvent::Change { source, target, relative, leads_to, .. } => {
                source.len() + target.len() + relative.len() + of(leads_to)
            }
        },
        _ => 0,
    };
    size_of::<wire::Message>() + words
}

/// An event as this host sent it.
pub(crate) fn from_wire(event: wire::SessionEvent, host: &str) -> Event {
    match event {
        wire::SessionEvent::File { path: name, bytes, blake3 } => {
            Event::File { path: path(name), bytes: bytes.0, blake3 }
        }
        wire::SessionEvent::Problem {
            class,
            path: name,
            operation,
            offset,
            message,
            yours,
            errno,
            lost,
            names,
            is_copied,
        } => {
            let kind = lost.and_then(|kind| AttributeKind::named(&kind));
            Event::Problem(Problem {
                host: (yours != Some(true) && name.is_some()).then(|| host.to_owned()),
                class: Class::named(&class).unwrap_or(Class::Io),
                path: name.map(path),
                operation: Operation::named(&operation).unwrap_or(Operation::Copy),
                offset: offset.map(|offset| offset.0),
                message: crate::shown(message.as_bytes()),
                cause: errno.map(|errno| errno.0),
                lost: kind.map(|kind| LostAttribute { kind, names }),
                is_copied: is_copied == Some(true),
            })
        }
        wire::SessionEvent::Warning(words, Some(true)) => Event::Notice(crate::shown(words.as_bytes())),
        wire::SessionEvent::Warning(words, _) => Event::Warning(crate::shown(words.as_bytes())),
        wire::SessionEvent::Note(words) => Event::Note(crate::shown(words.as_bytes())),
        wire::SessionEvent::Change { kind, source, target, relative, bytes, what, itemized, leads_to } => {
            Event::Change(Box::new(Change {
                kind: KINDS
                    .iter()
                    .find(|(_, name)| *name == kind)
                    .map_or(ChangeKind::Copy, |(kind, _)| *kind),
                source: path(source),
                target: path(target),
                relative: path(relative),
                bytes: bytes.map(|bytes| bytes.0),
                what: THINGS.into_iter().find(|known| *known == what).unwrap_or("file"),
                itemized: crate::shown(itemized.as_bytes()),
                leads_to: leads_to.map(path),
            }))
        }
    }
}

/// A report as it was told, if it is one: a status of the contract, numbers that can be summed, words for a terminal.
pub(crate) fn report(text: &str) -> Option<Report> {
    let mut told = serde_json::from_str(text).ok()?;
    make_harmless(&mut told);
    let report: Report = serde_json::from_value(told).ok()?;
    let is_known = Status::ALL.iter().any(|status| *status as i32 == report.exit_status);
    let exit_status = if is_known { report.exit_status } else { Status::Failed as i32 };
    Some(Report { exit_status, ..report })
}

/// Bounds every number, and shows control characters in words and names of fields.
fn make_harmless(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_u64().is_some_and(|count| count > COUNT_MAX) => {
            *value = COUNT_MAX.into();
        }
        Value::String(words) => *words = crate::shown(words.as_bytes()),
        Value::Array(values) => values.iter_mut().for_each(make_harmless),
        Value::Object(fields) => {
            let shown = |(name, mut value): (String, Value)| {
                make_harmless(&mut value);
                (crate::shown(name.as_bytes()), value)
            };
            *fields = std::mem::take(fields).into_iter().map(shown).collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What there is to copy, once this side has counted it: holes may have more bytes than a file can.
pub(crate) fn counted(TreeCounts { files, bytes, names }: TreeCounts) -> wire::Message {
    wire::Message::Counted { files, bytes: FileSize::of(bytes), names }
}

/// How far this side is.
pub(crate) fn progress(watch: &Watch) -> wire::Progress {
    let now = watch.snapshot();
    wire::Progress {
        bytes: now.bytes,
        bytes_total: now.bytes_total,
        files: now.files,
        bytes_found: now.bytes_found,
        files_found: now.files_found,
        limited_by: watch.limit_here().map(|limit| limit.words().into()),
        bytes_present: Some(now.bytes_present),
        files_present: Some(now.files_present),
        phase: Some(now.phase.words().into()),
        deleted: Some(now.deleted),
        to_delete: Some(now.to_delete),
        at_hand: watch.at_hand().map(|name| words(shown_path(&name))),
        names: Some(now.names),
    }
}

#[cfg(test)]
mod tests {
    use datapump_core::wire::{decode, encode};

    use super::*;

    #[test]
    fn what_was_being_done_arrives_as_what_it_was() {
        for &operation in Operation::ALL {
            let problem = Problem::new(Class::Io, operation, Path::new("x"), "");
            let Event::Problem(heard) = from_wire(to_wire(Event::Problem(problem)), "host") else {
                panic!("no problem")
            };
            assert_eq!(heard.operation, operation);
        }
        let problem = Problem::new(Class::Io, Operation::Sync, Path::new("x"), "");
        let wire::SessionEvent::Problem { class, path, offset, message, yours, .. } =
            to_wire(Event::Problem(problem))
        else {
            panic!("no problem")
        };
        let newer = wire::SessionEvent::Problem {
            class,
            path,
            offset,
            message,
            yours,
            errno: None,
            lost: None,
            names: None,
            is_copied: None,
            operation: "fly".into(),
        };
        assert!(
            matches!(from_wire(newer, "host"), Event::Problem(problem) if problem.operation == Operation::Copy)
        );
    }

    #[test]
    fn a_lost_attribute_arrives_as_one() {
        for kind in AttributeKind::ALL {
            for names in [None, Some(1), Some(4_000_000_000)] {
                let lost = Some(LostAttribute { kind, names });
                let problem =
                    Problem { lost, ..Problem::system(Operation::SetAttributes, Path::new("x"), 1) };
                let Event::Problem(heard) = from_wire(to_wire(Event::Problem(problem)), "host") else {
                    panic!("no problem")
                };
                assert_eq!(heard.lost, lost);
            }
        }
    }

    #[test]
    fn whatever_is_told_fits_into_a_message() {
        let long = PathBuf::from(format!("begin/{}/end", "d/".repeat(2_000_000)));
        let problem = |path: PathBuf, message: String| {
            Event::Problem(Problem { message, ..Problem::new(Class::Io, Operation::Open, &path, "") })
        };
        let change = Change {
            kind: ChangeKind::Copy,
            source: long.clone(),
            target: long.clone(),
            relative: long.clone(),
            leads_to: None,
            bytes: None,
            what: "file",
            itemized: String::new(),
        };
        let words = "é".repeat(1_000_000);
        for event in [problem(long, words.clone()), Event::Warning(words), Event::Change(Box::new(change))] {
            let message = encode(&wire::Message::Event(to_wire(event)));
            assert!(message.len() < 64 << 10, "{}", message.len());
        }
        let watch = Watch::default();
        watch.opened(Path::new(&OsString::from_vec(vec![0xff; 1_000_000])), 1);
        let message = encode(&wire::Message::Progress(progress(&watch)));
        assert!(message.len() < 64 << 10, "{}", message.len());
        let wire::SessionEvent::Warning(told, None) = to_wire(Event::Warning("w".repeat(1_000_000))) else {
            unreachable!()
        };
        assert!(told.contains("w[… 995904 bytes left out …]w"), "{}", told.len());
        let short = "x".repeat(TOLD_BYTES_MAX);
        assert_eq!(to_wire(Event::Warning(short.clone())), wire::SessionEvent::Warning(short, None));
    }

    /// Two files of holes have more bytes than one can.
    #[test]
    fn counts_of_holes_can_be_read() {
        let message = encode(&counted(TreeCounts { files: 2, bytes: u64::MAX, names: Some(2) }));
        assert!(decode::<wire::Message>(&message).is_ok());
    }

    #[test]
    fn a_report_of_a_stranger_can_be_summed_and_shown() {
        for (what, status) in [("0", 0), ("23", 23), ("77", 1), ("-5", 1), ("2147483647", 1)] {
            let most = u64::MAX;
            let text = format!(
                r#"{{"exit_status":{what},"bytes":{most},"elapsed_ns":{most},
                "cpu":{{"user_ns":{most},"system_ns":{most}}},
                "limited_detail":{{"host":"a\u001b[2J","stage":"","why":"x\ny"}},"problems":{{"\u001b":{most}}}}}"#
            );
            let report = report(&text).expect("it is one");
            assert_eq!(report.exit_status, status);
            let sum = report.clone().with_earlier(&report).with_earlier(&report);
            assert!(sum.bytes == 3 * COUNT_MAX && !sum.sentence().contains(['\u{1b}', '\n']), "{sum:?}");
            assert_eq!(report.problems.keys().next().map(String::as_str), Some("\\u{1b}"));
        }
        assert_eq!(report("{}}"), None);
        assert_eq!(report(r#"{"lanes":99999999999}"#), None);
        assert_eq!(report(&"[".repeat(100_000)), None);
    }
}
