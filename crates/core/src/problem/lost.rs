//! Losses that cost no content: attributes of files, and names that hold no bytes.
//!
//! Must not know: how attributes are set, who is told.

use crate::units::with_commas;

/// The kinds of attributes, and of names without content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttributeKind {
    /// Times of change and of access.
    Times,
    /// Permissions, set-id bits.
    Mode,
    /// Owner and group.
    Owner,
    /// Access control lists.
    AccessList,
    /// Extended attributes.
    Extended,
    /// Symbolic links.
    Symlinks,
    /// Named pipes.
    Pipes,
    /// Character and block devices.
    Devices,
}

impl AttributeKind {
    /// All of them.
    pub const ALL: [AttributeKind; 8] = [
        AttributeKind::Times,
        AttributeKind::Mode,
        AttributeKind::Owner,
        AttributeKind::AccessList,
        AttributeKind::Extended,
        AttributeKind::Symlinks,
        AttributeKind::Pipes,
        AttributeKind::Devices,
    ];

    /// As `--no-preserve` calls an attribute.
    pub fn name(self) -> &'static str {
        match self {
            AttributeKind::Times => "timestamps",
            AttributeKind::Mode => "mode",
            AttributeKind::Owner => "ownership",
            AttributeKind::AccessList => "acl",
            AttributeKind::Extended => "xattr",
            AttributeKind::Symlinks => "symbolic links",
            AttributeKind::Pipes => "pipes",
            AttributeKind::Devices => "devices",
        }
    }

    /// The name itself is missing at the target, not an attribute of it.
    pub fn is_name(self) -> bool {
        matches!(self, AttributeKind::Symlinks | AttributeKind::Pipes | AttributeKind::Devices)
    }

    /// What the line for all of them adds: how many they are, and the flag that helps.
    pub fn summary(self, names: u64) -> String {
        let helps = match self {
            AttributeKind::Symlinks => "-L copies what they lead to",
            AttributeKind::Pipes | AttributeKind::Devices => "--exclude leaves them out by name",
            attribute => return attribute.summary_of_attribute(names),
        };
        let many = if names == 1 {
            String::new()
        } else {
            format!("; {} {} (-v lists each)", with_commas(names), self.name())
        };
        format!("{many}; this file system has none, or this user may make none; {helps}")
    }

    fn summary_of_attribute(self, names: u64) -> String {
        let many = match names {
            1 => String::new(),
            _ => format!("; {} names lost it (-v lists each)", with_commas(names)),
        };
        format!("{many}; --no-preserve={} leaves it out", self.name())
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<AttributeKind> {
        AttributeKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// That a problem cost an attribute, or a name without content, alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostAttribute {
    /// Its kind.
    pub kind: AttributeKind,
    /// The one line for all names that lost this kind: how many they are. Missing of one name, which is told to those
    /// who ask for each.
    pub names: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_name_of_its_own() {
        for kind in AttributeKind::ALL {
            assert_eq!(AttributeKind::named(kind.name()), Some(kind));
        }
        assert_eq!(AttributeKind::named("links"), None, "names of one file are no attribute of it");
    }
}
