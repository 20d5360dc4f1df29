//! A change in words: what would be done, and what was done.
//!
//! Must not know: where it is printed.

use datapump::units::number_of;
use datapump::{Change, ChangeKind, Planned};

use crate::output::path_words::path_words;

/// What was done, and to what.
#[derive(Debug)]
pub struct DoneWords {
    done: &'static str,
    name: String,
}

impl DoneWords {
    /// The words for a change that was made.
    pub fn from_change(change: &Change) -> DoneWords {
        let done = match (change.kind, change.what) {
            (ChangeKind::Delete, _) => "deleted",
            (ChangeKind::Adjust, _) => "attributes set",
            (ChangeKind::Link, _) => "hard link made",
            (ChangeKind::Backup, _) => "backed up",
            (ChangeKind::RemoveSource, _) => "removed from the source",
            (ChangeKind::Copy, "folder") => "folder made",
            (ChangeKind::Copy, "symlink") => "symbolic link made",
            (ChangeKind::Copy, "device") => "device made",
            (ChangeKind::Copy, "pipe") => "pipe made",
            (ChangeKind::Copy, _) => "copied",
        };
        let is_source = change.kind == ChangeKind::RemoveSource;
        let name = path_words(if is_source { &change.source } else { &change.target });
        let arrow = if change.kind == ChangeKind::Link { "=>" } else { "->" };
        let name = match change.leads_to_path() {
            Some(to) => format!("{name} {arrow} {}", path_words(&to)),
            None => name,
        };
        DoneWords { done, name }
    }

    /// `b/link -> a: symbolic link made`: as a file is told, the name first.
    pub fn name_first(&self) -> String {
        format!("{}: {}", self.name, self.done)
    }

    /// `symbolic link made: b/link -> a`: as a log has it.
    pub fn name_last(&self) -> String {
        format!("{}: {}", self.done, self.name)
    }
}

/// `'a/b' -> 'c/b' (123 bytes)`, `'a' -> 'c' (folder)`, `remove 'c/d'`: as cp -v has it.
pub fn plan_words(change: &Change) -> String {
    let (source, target) = (path_words(&change.source), path_words(&change.target));
    match (change.kind, change.bytes) {
        (ChangeKind::Delete, _) => format!("remove '{target}'"),
        (ChangeKind::Adjust, _) => format!("'{source}' -> '{target}' (attributes)"),
        (ChangeKind::Link, _) => format!("'{source}' -> '{target}' (hard link)"),
        (ChangeKind::Copy, Some(bytes)) => format!("'{source}' -> '{target}' ({})", number_of(bytes, "byte")),
        // A dry run tells neither backups nor what goes from the source.
        (ChangeKind::Copy | ChangeKind::Backup | ChangeKind::RemoveSource, _) => {
            format!("'{source}' -> '{target}' ({})", change.what)
        }
    }
}

/// The words for a named file in a plan.
pub fn planned_words(file: &Planned) -> String {
    let bytes = file.bytes.map_or("unknown size".into(), |bytes| number_of(bytes, "byte"));
    let what = file.made.map_or_else(|| format!("{bytes}; {}", file.how), str::to_owned);
    format!("'{}' -> '{}' ({what})", file.source, file.target)
}
