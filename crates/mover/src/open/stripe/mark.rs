//! What a member that is a file says of the stripe it was written for, in an extended attribute: members in a wrong
//! order, a missing one or another chunk are refused where sizes alone would fit.
//!
//! A member without one (a device, a file system without attributes, written by another program) says nothing.
//!
//! Must not know: how members are found, how bytes are dealt to them.

use std::ffi::CStr;
use std::path::Path;

use datapump_core::StripeMap;
use datapump_engine::{Errno, Handle};
use serde::{Deserialize, Serialize};

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::units::bytes_words;
use datapump_files::disk::AttributeHolder;

const NAME: &CStr = c"user.datapump.stripe";

/// One member of a stripe that was written whole.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct StripeMark {
    /// The same for all members.
    id: u64,
    chunk_bytes: u32,
    total_bytes: u64,
    /// From 0 on.
    member: usize,
    members: usize,
}

impl StripeMark {
    /// Of the first member of a stripe of so many bytes.
    pub fn first(id: u64, map: StripeMap, total_bytes: u64) -> StripeMark {
        StripeMark { id, chunk_bytes: map.chunk_bytes(), total_bytes, member: 0, members: map.members() }
    }

    /// Puts the mark of another member of the same stripe on a file. Nothing is lost where it cannot be.
    pub fn put(&self, handle: &Handle, member: usize) {
        let Handle::Os(file) = handle else { return };
        let value = serde_json::to_vec(&StripeMark { member, ..self.clone() }).unwrap_or_default();
        let _ = AttributeHolder::Open(file).set_xattr(NAME, &value);
    }

    /// What a file is about to hold is no stripe until all of it has landed.
    /// Where none is read none is removed: not every file system takes the call.
    pub fn remove(handle: &Handle) -> Result<(), Errno> {
        match (handle, StripeMark::read(handle)) {
            (Handle::Os(file), Some(_)) => AttributeHolder::Open(file).remove_xattr(NAME),
            _ => Ok(()),
        }
    }

    /// None if it has none that can be read.
    fn read(handle: &Handle) -> Option<StripeMark> {
        let Handle::Os(file) = handle else { return None };
        serde_json::from_slice(&AttributeHolder::Open(file).xattr_value(NAME).ok()??).ok()
    }
}

/// Errors: a member was written for another stripe, for another place in it, or cut otherwise.
pub fn check<'open>(
    map: StripeMap,
    total_bytes: u64,
    members: impl Iterator<Item = (&'open Path, &'open Handle)>,
) -> Result<(), Problem> {
    let mut first = None;
    for (member, (path, handle)) in members.enumerate() {
        let Some(mark) = StripeMark::read(handle) else { continue };
        let id = *first.get_or_insert(mark.id);
        let meant = StripeMark { member, ..StripeMark::first(id, map, total_bytes) };
        if mark != meant {
            return Err(mismatch_problem(path, &mark, &meant));
        }
    }
    Ok(())
}

/// The problem with a member that has another mark than is expected.
fn mismatch_problem(path: &Path, mark: &StripeMark, meant: &StripeMark) -> Problem {
    let words = |mark: &StripeMark| {
        let StripeMark { chunk_bytes, total_bytes, member, members, .. } = mark;
        let chunk = bytes_words((*chunk_bytes).into());
        format!("member {} of {members} of a stripe of {total_bytes} bytes in chunks of {chunk}", member + 1)
    };
    let was = if mark.id == meant.id {
        format!("was written as {}, and would be {}", words(mark), words(meant))
    } else {
        "was written for another stripe than the members before it".to_string()
    };
    let (name, path_words) = (NAME.to_string_lossy(), shown_path(path));
    let words = format!(
        "{was}; correct the descriptor (or remove the mark, if you know better: setfattr -x {name} '{path_words}')"
    );
    Problem::new(Class::Usage, Operation::Open, path, words)
}
