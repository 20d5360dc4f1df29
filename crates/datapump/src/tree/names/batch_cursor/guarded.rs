//! The guard's questions about a name of a tree that is walked, asked with what the walk knows.
//!
//! Must not know: what the guard answers by, what is done with the name.

use crate::problem::Problem;
use crate::target::guard::claims::ClaimedName;
use crate::target::guard::links::{self, FollowedName, LinkTarget};
use crate::target::guard::{Destruction, ExistingEntry};
use crate::target::listed::Name;
use crate::tree::Shared;
use crate::tree::folder::origin::Origin;
use crate::tree::names::batch_cursor::BatchCursor;
use datapump_files::disk::{FileKind, Meta};
use datapump_files::identity::id;

impl BatchCursor {
    /// Refuses a name that an earlier source has as well.
    pub(crate) fn check_claim(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        kind: FileKind,
    ) -> Result<(), Problem> {
        let root = &self.directory.root;
        if !root.shares_target {
            return Ok(());
        }
        let below = self.paths.relative(&self.directory).join(&name.name);
        let claimed = ClaimedName { number: root.number, below: &below, is_folder: kind == FileKind::Folder };
        let rules = shared.trees.guard_rules(shared.settings.options);
        shared.trees.guard.claims().check(&claimed, rules, || self.target_path(&name.name))
    }

    /// Refuses a link that is followed to what this command replaces or removes.
    pub(crate) fn check_followed(&self, shared: &Shared<'_>, name: &Name) -> Result<(), Problem> {
        let Origin::Here(folder) = &self.source else { return Ok(()) };
        if !shared.trees.guard.has_written_places() || shared.settings.compares {
            return Ok(());
        }
        // A link that is followed has no kind in a listing.
        let places = if name.kind.is_some() { Vec::new() } else { folder.places_behind(&name.name) };
        let (source, root) = (&self.directory.source, self.directory.root.target_id);
        let followed = FollowedName { folder: id(&source.meta), name: &name.name, root, places };
        let rules = shared.trees.guard_rules(shared.settings.options);
        shared.trees.guard.check_followed(&followed, rules, || source.path_of(&name.name))
    }

    /// Refuses to replace an entry that this command reads or keeps, and a link in the place of what it leads to. Of a
    /// link of another host nobody says where it leads.
    pub(crate) fn check_replaced(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        meta: &Meta,
        existing: &Meta,
    ) -> Result<(), Problem> {
        let entry = ExistingEntry { folder: self.target.as_deref(), name: &name.name, meta: existing };
        let is_written = self.is_in_place(shared) && meta.kind == FileKind::Regular;
        let how = if is_written { Destruction::OfContent } else { Destruction::OfName };
        shared.trees.guard.destroy(entry, how, || self.target_path(&name.name))?;
        let (Some(folder), Origin::Here(source), FileKind::Symlink) = (&self.target, &self.source, meta.kind)
        else {
            return Ok(());
        };
        let (from, path) = (self.source_path(&name.name), self.target_path(&name.name));
        let words = self.source.read_symlink(name, &from)?;
        let to = LinkTarget { folder, name: &name.name, existing };
        links::check_kept(&source.file, &words, &to, &from, &path)
    }
}
