//! What of a file a copy may lose although its content is there.
//!
//! Must not know: how attributes are set, who is told.

/// The kinds of attributes.
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
}

impl AttributeKind {
    /// All of them.
    pub const ALL: [AttributeKind; 5] = [
        AttributeKind::Times,
        AttributeKind::Mode,
        AttributeKind::Owner,
        AttributeKind::AccessList,
        AttributeKind::Extended,
    ];

    /// As `--no-preserve` calls it.
    pub fn name(self) -> &'static str {
        match self {
            AttributeKind::Times => "timestamps",
            AttributeKind::Mode => "mode",
            AttributeKind::Owner => "ownership",
            AttributeKind::AccessList => "acl",
            AttributeKind::Extended => "xattr",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<AttributeKind> {
        AttributeKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// That a problem cost an attribute alone.
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
