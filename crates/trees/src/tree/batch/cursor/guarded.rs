//! The guard's questions about a name of a tree that is walked, asked with what the walk knows.
//!
//! Must not know: what the guard answers by, what is done with the name.

use crate::origin::Origin;
use crate::problem::Problem;
use crate::targets::guard::claims::ClaimedName;
use crate::targets::guard::links::{self, FollowedName, LinkTarget};
use crate::targets::guard::{Destruction, ExistingEntry};

use crate::tree::batch::cursor::BatchName;
use datapump_files::disk::{FileKind, Meta};
use datapump_files::followed::behind::PlaceBehind;
use datapump_files::identity::id;

impl BatchName<'_> {
    /// Refuses a name that an earlier source has as well.
    pub(crate) fn check_claim(self, kind: FileKind) -> Result<(), Problem> {
        let root = &self.directory().root;
        if !root.shares_target {
            return Ok(());
        }
        let below = self.relative().join(&self.name.name);
        let claimed = ClaimedName { number: root.number, below: &below, is_folder: kind == FileKind::Folder };
        let rules = self.shared.trees.guard_rules(self.shared.settings.options);
        self.shared.trees.guard.claims().check(&claimed, rules, || self.target_path())
    }

    /// Where a name leads as a link that is followed; nothing unless it may lead to below a target.
    fn places_at_target(self) -> Vec<PlaceBehind> {
        let (Origin::Here(folder), links) = (&self.cursor.source, &self.shared.trees.guard.followed) else {
            return Vec::new();
        };
        // A link that is followed has no kind in a listing.
        if self.name.kind.is_some() || self.shared.settings.compares || !links.are_followed() {
            return Vec::new();
        }
        let places = folder.places_behind(&self.name.name);
        if links.lead_to_target(&places, self.directory().root.target_id) { places } else { Vec::new() }
    }

    /// Whether a link that is followed leads to below a target.
    pub(crate) fn leads_to_target(self) -> bool {
        !self.places_at_target().is_empty()
    }

    /// Refuses a link that is followed to what this run makes or replaces. `may_lead`: it may lead to below a target.
    pub(crate) fn check_followed(self, may_lead: bool) -> Result<(), Problem> {
        let source = &self.directory().source;
        if self.shared.settings.compares || !source.is_here() {
            return Ok(());
        }
        let places = if may_lead { self.places_at_target() } else { Vec::new() };
        let followed = FollowedName { folder: id(&source.meta), name: &self.name.name, places };
        self.shared.trees.guard.followed.check(&followed, || source.path_of(&self.name.name))
    }

    /// Keeps in mind, where links are followed, that a name of a folder that stood there gets another inode.
    pub(crate) fn note_written(self) {
        let (links, directory) = (&self.shared.trees.guard.followed, self.directory());
        if let Some(target) = directory.target.as_ref().filter(|_| !directory.traits.fresh) {
            links.note_written(id(&target.meta), &self.name.name);
        }
    }

    /// Refuses to replace an entry that this command reads or keeps, and a link in the place of what it leads to. Of a
    /// link of another host nobody says where it leads.
    pub(crate) fn check_replaced(self, meta: &Meta, existing: &Meta) -> Result<(), Problem> {
        let entry =
            ExistingEntry { folder: self.cursor.target.as_deref(), name: &self.name.name, meta: existing };
        let is_written = self.is_in_place() && meta.kind == FileKind::Regular;
        let how = if is_written { Destruction::OfContent } else { Destruction::OfName };
        self.shared.trees.guard.check_destroy(entry, how, || self.target_path())?;
        let (Some(folder), Origin::Here(source), FileKind::Symlink) =
            (&self.cursor.target, &self.cursor.source, meta.kind)
        else {
            return Ok(());
        };
        let (from, path) = (self.source_path(), self.target_path());
        let words = self.cursor.source.read_symlink(self.name, &from)?;
        let to = LinkTarget { folder, name: &self.name.name, existing };
        links::check_kept(&source.file, &words, &to, &from, &path)
    }
}
