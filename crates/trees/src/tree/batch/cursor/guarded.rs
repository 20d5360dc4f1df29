//! The guard's questions about a name of a tree that is walked, asked with what the walk knows.
//!
//! Must not know: what the guard answers by, what is done with the name.

use crate::listed::Name;
use crate::origin::Origin;
use crate::problem::Problem;
use crate::target::guard::claims::ClaimedName;
use crate::target::guard::links::{self, FollowedName, LinkTarget};
use crate::target::guard::{Destruction, ExistingEntry};
use crate::tree::Shared;
use crate::tree::batch::cursor::BatchCursor;
use datapump_files::disk::{FileKind, Meta};
use datapump_files::followed::behind::PlaceBehind;
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

    /// Where a name leads as a link that is followed; nothing unless it may lead to below a target.
    fn places_at_target(&self, shared: &Shared<'_>, name: &Name) -> Vec<PlaceBehind> {
        let (Origin::Here(folder), links) = (&self.source, &shared.trees.guard.followed) else {
            return Vec::new();
        };
        // A link that is followed has no kind in a listing.
        if name.kind.is_some() || shared.settings.compares || !links.are_followed() {
            return Vec::new();
        }
        let places = folder.places_behind(&name.name);
        if links.lead_to_target(&places, self.directory.root.target_id) { places } else { Vec::new() }
    }

    /// Whether a link that is followed leads to below a target.
    pub(crate) fn leads_to_target(&self, shared: &Shared<'_>, name: &Name) -> bool {
        !self.places_at_target(shared, name).is_empty()
    }

    /// Refuses a link that is followed to what this run makes or replaces. `may_lead`: it may lead to below a target.
    pub(crate) fn check_followed(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        may_lead: bool,
    ) -> Result<(), Problem> {
        let source = &self.directory.source;
        if shared.settings.compares || !source.is_here() {
            return Ok(());
        }
        let places = if may_lead { self.places_at_target(shared, name) } else { Vec::new() };
        let followed = FollowedName { folder: id(&source.meta), name: &name.name, places };
        shared.trees.guard.followed.check(&followed, || source.path_of(&name.name))
    }

    /// Keeps in mind, where links are followed, that a name of a folder that stood there gets another inode.
    pub(crate) fn note_written(&self, shared: &Shared<'_>, name: &Name) {
        let (links, directory) = (&shared.trees.guard.followed, &self.directory);
        if let Some(target) = directory.target.as_ref().filter(|_| !directory.traits.fresh) {
            links.note_written(id(&target.meta), &name.name);
        }
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
