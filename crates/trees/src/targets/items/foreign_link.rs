//! A folder of backups that is named through the symbolic link of another user is refused: that user could lead what is
//! replaced, and what is removed, to anywhere.
//!
//! Must not know: what has a backup, how the folder is opened.

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::setup::options::{Backup, Options};
use crate::targets::guard::backups::path_behind;
use crate::targets::item::Item;
use datapump_files::disk::{FileKind, file_meta};
use datapump_files::followed::behind::places_on;
use datapump_files::identity::id;

const ROOT: u32 = 0;

/// Refuses such a folder, as each of the items would find it.
pub(super) fn refuse(items: &[Item], options: &Options) -> Result<(), Problem> {
    let Some(Backup { folder: Some(backups), .. }) = &options.backup else { return Ok(()) };
    let own = rustix::process::geteuid().as_raw();
    let mut last = None;
    for item in items.iter().filter(|item| !item.is_left_out) {
        let Some(at) = item.target.place() else { continue };
        let Some((base, missing)) = at.known_folder() else { continue };
        let base_id = file_meta(base).ok().map(|meta| (id(&meta), missing));
        // Most items go into one folder.
        if last == Some(base_id) {
            continue;
        }
        last = Some(base_id);
        let mut places = places_on(base, path_behind(missing, backups).as_os_str()).into_iter();
        let is_foreign = |uid: u32| uid != ROOT && uid != own;
        let link = places.find(|place| place.meta.kind == FileKind::Symlink && is_foreign(place.meta.uid));
        if let Some(link) = link {
            let (shown, uid) = (link.path(), link.meta.uid);
            let words = format!(
                "--backup-dir goes through '{}', a symbolic link of another user (uid {uid}), who could lead it \
                 elsewhere; name the folder that it leads to, or another one",
                shown_path(&shown)
            );
            return Err(Problem::new(Class::Usage, Operation::BackUp, backups, words));
        }
    }
    Ok(())
}
