//! The remains of an interrupted copy at its target, and so what the same command does next.
//!
//! Must not know: how it is kept, how it is printed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Status;
use crate::report::Report;

/// What stays of a copy that was cut. Of several files, that of which more is to be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutLeaves {
    /// The same command starts over.
    #[default]
    Nothing,
    /// Files that were copied before; the same command copies them again.
    Files,
    /// A partial file or a list: the same command resumes.
    Resumable,
    /// Files in a new folder without a list: the same command copies into that folder, unless it has `-T`.
    NewFolder,
    /// A target that is written where it stands, in part.
    InPlace,
    /// A host that runs an older version does not say.
    #[serde(other)]
    Unknown,
}

impl Report {
    /// How a run that was interrupted, or lost its connection, ends, and what the same command does; nothing of any
    /// other, and of one that never had a connection.
    pub fn cut_words(&self) -> Option<String> {
        let is_lost = self.exit_status == Status::Lost as i32;
        let cut = match self.exit_status {
            _ if is_lost => "connection lost",
            status if status == Status::Interrupted as i32 => "interrupted",
            _ => return None,
        };
        let target = || match &self.targets[..] {
            [target] => format!("'{}'", crate::shown(target.as_bytes())),
            _ => "a target".into(),
        };
        let then = match self.cut_leaves {
            None | Some(CutLeaves::Unknown) if !is_lost => String::new(),
            None | Some(CutLeaves::Unknown) if self.bytes_moved == 0 => return None,
            // What it keeps the other host alone knows.
            None | Some(CutLeaves::Unknown) => {
                "; run the same command again: it resumes what the other host kept".into()
            }
            Some(CutLeaves::Nothing) => "; nothing is kept: the same command starts over".into(),
            Some(CutLeaves::Files) => {
                "; files that were copied stay: the same command copies them again".into()
            }
            Some(CutLeaves::NewFolder) => format!(
                "; files that were copied stay in {}: the same command copies into it, with -T it copies them again",
                target()
            ),
            Some(CutLeaves::Resumable) => "; run the same command again to resume".into(),
            Some(CutLeaves::InPlace) => {
                format!("; {} is half old, half new: run the same command again", target())
            }
        };
        Some(format!("{cut}{then}"))
    }
}
