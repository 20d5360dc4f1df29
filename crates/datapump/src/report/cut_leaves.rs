//! What a copy that was cut leaves at its target, and so what the same command does next.
//!
//! Must not know: how it is kept, how it is printed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// A target that is written where it stands, in part.
    InPlace,
    /// A host that runs an older version does not say.
    #[serde(other)]
    Unknown,
}

impl Report {
    /// How a run that was interrupted ends, in words.
    pub fn interruption_words(&self) -> String {
        let target = || match &self.targets[..] {
            [target] => format!("'{}'", crate::shown(target.as_bytes())),
            _ => "a target".into(),
        };
        match self.cut_leaves {
            None | Some(CutLeaves::Unknown) => "interrupted".into(),
            Some(CutLeaves::Nothing) => "interrupted; nothing is kept: the same command starts over".into(),
            Some(CutLeaves::Files) => {
                "interrupted; files that were copied stay: the same command copies them again".into()
            }
            Some(CutLeaves::Resumable) => "interrupted; run the same command again to resume".into(),
            Some(CutLeaves::InPlace) => {
                format!("interrupted; {} is half old, half new: run the same command again", target())
            }
        }
    }
}
