//! The attributes of a file that a copy keeps.
//!
//! Must not know: how it is kept.

use serde::{Deserialize, Serialize};

use crate::attributes::given::Given;
use crate::disk::AttributeHolder;

/// The attributes of a file that a copy keeps, named as `--no-preserve` of cp names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Permissions, set-id bits.
    pub mode: bool,
    /// Access control lists; not without the permissions. Another version may not say.
    #[serde(default = "kept")]
    pub acl: bool,
    /// Owner and group.
    pub owner: bool,
    /// Time of access and of change.
    pub times: bool,
    /// Extended attributes.
    pub xattrs: bool,
    /// Names of one file stay names of one file.
    pub links: bool,
    /// Owners of another host's files by their numbers there, not by their names. Another version may not say.
    #[serde(default)]
    pub numeric_ids: bool,
    /// What copies get instead. Not told to another host: what it is there, that host finds out.
    #[serde(skip)]
    pub given: Given,
}

fn kept() -> bool {
    true
}

impl Keep {
    /// As of what has no attributes.
    pub const NOTHING: Keep = Keep {
        mode: false,
        acl: false,
        owner: false,
        times: false,
        xattrs: false,
        links: false,
        numeric_ids: false,
        given: Given::NOTHING,
    };

    /// Something of a file that is replaced stays: what is not kept of the source.
    pub fn leaves_some(self) -> bool {
        !(self.mode && self.acl && self.owner && self.xattrs)
    }
}

impl Default for Keep {
    fn default() -> Keep {
        Keep { mode: true, acl: true, owner: true, times: true, xattrs: true, links: true, ..Keep::NOTHING }
    }
}

/// Facts about the file or folder that gets attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct New<'open> {
    /// This run made it.
    pub made: bool,
    /// It has no attributes that would have to go: made where new files get nothing from their folder.
    pub bare: bool,
    /// The permissions that its folder hands down to what is made in it.
    pub handed_down: Option<u32>,
    /// Its file system shows the times and the mode that it takes: they need no look behind it.
    pub shows_taken: bool,
    /// What stood under its name before and is replaced: what is not kept of the source stays as it was there.
    pub replaced: Option<AttributeHolder<'open>>,
}
