//! Recognises unfinished work of a pump in a folder: partial files, journals, the list of a copy, the note about
//! backups.
//!
//! Must not know: what such a list says, who writes it.

use std::ffi::OsStr;
use std::fs::File;

use datapump_core::journal::{HEADER_BYTES, is_list, is_torn};

use crate::commit::put_names::is_note_in;
use crate::commit::reserved::LIST_NAME;
use crate::commit::temporary;
use crate::disk::{FileKind, Meta, file_meta, fill, names};

const LIST_IS_SKIPPED: &str = "is the list of an unfinished copy: it is skipped; run the command of that copy again to \
                             complete its folder";

/// Why a file of a source with a name of a pump's own is not copied.
pub fn why_skipped(name: &OsStr) -> &'static str {
    if name == LIST_NAME { LIST_IS_SKIPPED } else { temporary::LEFT_OUT }
}

/// Whether the list of an unfinished copy lies in a folder.
pub fn is_list_in(folder: &File) -> bool {
    let Some((file, _)) = open_list(folder) else { return false };
    let mut head = [0; HEADER_BYTES];
    fill(&file, 0, &mut head).is_ok_and(|count| is_list(&head[..count]) || is_torn(&head[..count]))
}

/// Whether a name is that of a file that a pump uses or can resume, or of the list or note of an unfinished copy.
pub fn is_pumps_in(folder: &File, name: &OsStr) -> bool {
    if name == LIST_NAME {
        is_list_in(folder)
    } else {
        temporary::is_partial(folder, name) || is_note_in(folder, name)
    }
}

/// Opens a list that is there for reading; what is no file is nobody's list (a pipe would be waited for).
pub fn open_list(folder: &File) -> Option<(File, Meta)> {
    let file = names::open_source(folder, OsStr::new(LIST_NAME), false).ok()?;
    let meta = file_meta(&file).ok().filter(|meta| meta.kind == FileKind::Regular)?;
    Some((file, meta))
}
