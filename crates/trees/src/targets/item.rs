//! One source of a copy and where it goes.
//!
//! Must not know: how that was found out, how it is copied.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::place::Place;
use crate::place::stripe::StripeTarget;
use crate::report::change::{Change, ChangeKind, Findings};
use crate::report::event::Event;
use datapump_files::disk::{FileKind, Meta, PathAt};

/// The words about a link that `--safe-links` does not let through.
pub(crate) const UNSAFE_LINK: &str =
    "is a symbolic link that leads out of its folder; leave out the link, or --safe-links";
/// What to do where a link that is named should be followed.
pub(crate) const FOLLOW_INSTEAD: &str =
    "leave out -a, -d and --links (and unset PUMP_LINKS) to copy what the link leads to";
pub const NULL_WANTS_SIZE: &str = "as a source null: needs a size, for example null:10GiB";

/// Where one source goes.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A file that exists or will, behind all links.
    File(PathAt),
    /// Character devices, pipes: written as a stream in place.
    Special(PathAt),
    /// A block device.
    Device(PathAt),
    /// Several files or devices, each written in place.
    Stripe(Arc<StripeTarget>),
    /// Standard output.
    Stream,
    Null,
    /// A folder that exists or will, for the content of a folder.
    Tree(PathAt),
    /// Nothing is written: compared with this file.
    Compare(PathAt),
    /// A symbolic link that stays one, or a pipe, device or socket that was named beside others: it is dealt with as in
    /// a tree, and never read.
    Entry(PathAt),
}

impl Target {
    /// As the user named it, or with the name of the source behind that.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Target::File(at)
            | Target::Special(at)
            | Target::Device(at)
            | Target::Tree(at)
            | Target::Entry(at)
            | Target::Compare(at) => Some(&at.path),
            Target::Stripe(stripe) => Some(&stripe.name),
            Target::Stream | Target::Null => None,
        }
    }

    /// The place of what has a name in a folder, or is one.
    pub(crate) fn place(&self) -> Option<&PathAt> {
        match self {
            Target::File(at) | Target::Tree(at) | Target::Entry(at) => Some(at),
            _ => None,
        }
    }

    /// The place that a file, pipe or device is written to.
    pub(crate) fn place_written(&self) -> Option<&PathAt> {
        match self {
            Target::File(at) | Target::Special(at) | Target::Device(at) => Some(at),
            _ => None,
        }
    }

    /// The place of what is a name of a folder, and no folder.
    pub(crate) fn name_place(&self) -> Option<&PathAt> {
        self.place().filter(|_| !matches!(self, Target::Tree(_)))
    }
}

/// One source and where it goes.
#[derive(Clone, Debug)]
pub struct Item {
    pub(crate) source: Place,
    /// What the source is, when it is a path.
    pub(crate) meta: Option<Meta>,
    pub(crate) target: Target,
    /// Which of the job's sources it is: another host knows it by that.
    pub(crate) number: u32,
    /// The events to report when it is started.
    pub(crate) notices: Vec<Event>,
    /// It is the temporary file of a pump.
    pub(crate) is_left_out: bool,
    /// The source folder's own name, where paths that patterns are matched against begin with it: it goes to a folder
    /// under that name.
    pub(crate) patterns_above: PathBuf,
}

impl Item {
    /// Length of the source in bytes, as far as it is known before opening.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match (&self.source, &self.meta) {
            _ if self.is_entry() => Some(0),
            (Place::Null { bytes, .. }, _) => *bytes,
            (Place::Stripe(_), Some(meta)) => Some(meta.size_bytes),
            (Place::Web(_), Some(meta)) if meta.size_bytes > 0 => Some(meta.size_bytes),
            (Place::Path(_) | Place::Remote(_), Some(meta))
                if meta.kind == FileKind::Regular && meta.size_bytes > 0 =>
            {
                Some(meta.size_bytes)
            }
            _ => None,
        }
    }

    /// Nothing is read and nothing written.
    pub(crate) fn is_null(&self) -> bool {
        matches!((&self.source, &self.target), (Place::Null { .. }, Target::Null))
    }

    /// The source delivers bytes in its own order only.
    pub(crate) fn source_is_stream(&self) -> bool {
        let stream = |meta: &Meta| matches!(meta.kind, FileKind::CharDevice | FileKind::Fifo);
        match &self.source {
            Place::Stream => true,
            Place::Web(web) => web.is_read_once(),
            _ => !self.is_entry() && self.meta.as_ref().is_some_and(stream),
        }
    }

    pub(crate) fn is_entry(&self) -> bool {
        matches!(self.target, Target::Entry(_))
    }

    pub(crate) fn is_tree(&self) -> bool {
        matches!(self.target, Target::Tree(_))
    }

    pub(crate) fn target_is_stream(&self) -> bool {
        matches!(self.target, Target::Stream | Target::Special(_))
    }
}

/// The name under which a folder receives the source.
pub(super) fn own_name(source: &Place) -> Option<&OsStr> {
    source.path().and_then(Path::file_name)
}

/// What becomes of a file that the user named.
pub(crate) fn change_of(
    item: &Item,
    kind: ChangeKind,
    existing: Option<&Meta>,
    findings: Findings,
) -> Option<Box<Change>> {
    let (Some(source), Target::File(target), Some(meta)) = (item.source.path(), &item.target, &item.meta)
    else {
        return None;
    };
    let relative = source.file_name().unwrap_or_default().into();
    let paths = [source.to_path_buf(), target.path.clone(), relative];
    Some(Box::new(Change::new(kind, paths, meta, existing, findings)))
}
