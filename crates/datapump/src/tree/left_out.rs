//! What of a source is left out for what it is: sockets, partial files of a pump, the list of an unfinished copy. It is
//! told and counted. A comparison leaves out sockets alone.
//!
//! Must not know: patterns, how files are copied.

use crate::disk::{FileKind, Folder, Name};
use crate::problem::{Class, Problem, shown_path};
use crate::run::Shared;
use crate::temporary::{self, is_temporary};
use crate::tree::entry::Hand;
use crate::tree::journal;

/// Whether a name is left out.
pub(crate) fn is_left_out(
    shared: &Shared<'_>,
    hand: &Hand,
    name: &Name,
    kind: FileKind,
) -> Result<bool, Problem> {
    let words = match kind {
        FileKind::Socket => "is a socket: it has no content and is left out",
        _ if shared.compares => return Ok(false),
        _ if hand.branch.parent.is_none() && name.name == journal::NAME => {
            "is the list of a copy: the source is itself an unfinished copy; the list is left out"
        }
        FileKind::Regular if is_partial(hand, name)? => temporary::LEFT_OUT,
        _ => return Ok(false),
    };
    shared.leave_out(&format!("'{}' {words}", shown_path(&hand.source_path(&name.name))));
    Ok(true)
}

fn is_partial(hand: &Hand, name: &Name) -> Result<bool, Problem> {
    match is_temporary(&name.name) {
        true => hand.source().is_partial(&name.name, || hand.source_path(&name.name)),
        false => Ok(false),
    }
}

/// A name of the source that is a temporary name: refused where it could be that of a file which is written.
pub(crate) fn refuse_clash(shared: &Shared<'_>, hand: &Hand, name: &Name) -> Result<(), Problem> {
    if !is_temporary(&name.name) || shared.compares {
        return Ok(());
    }
    let path = hand.target_path(&name.name);
    if hand.branch.root.shares_target {
        let words = "could be the name of a temporary file of another of the sources; copy them one by one";
        return Err(Problem::new(Class::Refused, "create", &path, words));
    }
    match hand.open_target() {
        Some(folder) => temporary::refuse_in_use(&Folder::Os(folder), &name.name, &path),
        None => Ok(()),
    }
}
