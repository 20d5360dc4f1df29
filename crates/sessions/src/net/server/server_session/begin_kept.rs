//! What the message that begins a session leaves behind: read, and charged before it is kept.
//!
//! Must not know: what is allowed, what is done with it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_core::wire::session::{Begin, Direction};
use minicbor::bytes::ByteVec;

use super::places::ServedTo;
use super::{options_error, refused};
use crate::problem::Problem;
use crate::setup::budget::charged::{ChargedValue, allocated};
use crate::setup::budget::{Charge, Share};
use crate::setup::options::Options;
use datapump_core::selection::selection_bytes;

/// Memory of a place that is written: what is known of it and of its target, in several tables.
const WRITTEN_PLACE_BYTES: usize = 4 << 10;
/// Memory of a place that is read.
const READ_PLACE_BYTES: usize = 512;
/// Copies of its path.
const PATH_COPIES: usize = 6;
/// A folder in which unchanged files are looked for.
const LINK_DEST_BYTES: usize = 4 << 10;
/// Copies of words in the options.
const OPTIONS_COPIES: usize = 3;

/// The message, with its options read.
pub(super) struct BeginKept {
    pub(super) begin: Begin,
    pub(super) options: Options,
}

impl BeginKept {
    /// Reads the options of a request that begins a session, and charges what it takes.
    ///
    /// Errors: options that cannot be read, or more than the session may hold.
    pub(super) fn charged(begin: Begin, share: &Arc<Share>) -> Result<ChargedValue<BeginKept>, Problem> {
        let shown = shown(&begin);
        let options = Options::from_wire(&begin.options)
            .map_err(|error| refused(&shown, &options_error(&error.to_string())))?;
        let kept = BeginKept { begin, options };
        let bytes = kept.bytes();
        ChargedValue::new(kept, bytes, share).map_err(|over| refused(&shown, over.message()))
    }

    /// Memory of it, and of what is made of it.
    fn bytes(&self) -> usize {
        let BeginKept { begin, options } = self;
        let link_dest =
            options.links.link_dest.iter().map(|path| LINK_DEST_BYTES + allocated(path.as_os_str().len()));
        of_places(&begin.sources, begin.way)
            + PATH_COPIES * allocated(begin.target.len())
            + OPTIONS_COPIES * allocated(begin.options.len())
            + link_dest.sum::<usize>()
            + selection_bytes(&options.selection.rules)
    }
}

/// What patterns among the places stand for is kept, too.
pub(super) fn charge_places(held: &mut Charge, places: &[ByteVec], to: ServedTo<'_>) -> Result<(), Problem> {
    held.grow(of_places(places, to.way)).map_err(|over| refused(to.shown, over.message()))
}

/// Memory of places, and of what is made of them.
fn of_places(places: &[ByteVec], way: Direction) -> usize {
    let each = match way {
        Direction::Push => WRITTEN_PLACE_BYTES,
        Direction::Pull => READ_PLACE_BYTES,
    };
    places.iter().map(|place| each + PATH_COPIES * allocated(place.len())).sum()
}

/// The place for messages.
pub(super) fn shown(begin: &Begin) -> PathBuf {
    let bytes = match begin.way {
        Direction::Push => &begin.target[..],
        Direction::Pull => begin.sources.first().map_or(&b""[..], |place| &place[..]),
    };
    Path::new(OsStr::from_bytes(bytes)).to_path_buf()
}
