//! Names that backups would have, for whoever asks another host for several of them together.
//!
//! Must not know: how backups are made, whether one is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::folder::directory::Directory;
use crate::listed::Name;
use crate::tree::Shared;
use datapump_files::disk::names;

/// The names that simple backups of these names would have beside them.
pub(crate) fn names_beside<'names>(
    shared: &Shared<'_>,
    directory: &Directory,
    names: impl Iterator<Item = &'names Name>,
) -> Vec<Name> {
    let backup = shared.settings.options.backup.as_ref().filter(|backup| backup.folder.is_none());
    let (Some(backup), Some(target)) = (backup, &directory.target) else { return Vec::new() };
    let Ok(folder) = target.file() else { return Vec::new() };
    let stands = |name: &&Name| names::metadata(&folder, &name.name).is_ok();
    let beside = |name: &Name| {
        let mut beside = name.name.clone();
        beside.push(OsStr::from_bytes(&backup.suffix));
        Name::here(beside, None)
    };
    names.filter(stands).map(beside).collect()
}
