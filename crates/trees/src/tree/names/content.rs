//! Compares the content of a name with another file's by the one loop: with what exists at the target, with the file of
//! `--link-dest`, with the other tree of `verify`.
//!
//! Must not know: what becomes of a name (`decide`, `finish`), how blocks are moved.

use std::fs::File;
use std::sync::Arc;

use datapump_core::verdict::Waits;
use datapump_engine::Handle;

use crate::file::task::Finish;
use crate::open::copy_method::{self, Facts};
use crate::open::held::Original;
use crate::open::opened::Opened;
use crate::open::{self, OpenTarget, sizes};
use crate::problem::{Operation, Problem};
use crate::run::owner::Ready;
use crate::tree::batch::cursor::BatchName;
use crate::tree::walk;

use crate::tree::rules::compare::{self, Pair};
use crate::tree::state::tree_file::{Against, OpenedFile, TreeFile};
use datapump_files::disk::{FileKind, names};
use datapump_files::identity::tick;

impl BatchName<'_> {
    pub(crate) fn open_there(self) -> Result<File, Problem> {
        let opened = names::open_source(self.target()?, &self.name.name, true);
        opened.map_err(|errno| Problem::system(Operation::Open, &self.target_path(), errno.0))
    }

    /// Compares the content with another file's; a difference brings the name back to be copied.
    pub(crate) fn check(
        self,
        waits: &mut Waits,
        other: File,
        against: Against,
    ) -> Result<Option<Ready>, Problem> {
        let one = self.open_file(self.shared.compares_by_sums())?;
        let pair = Pair { one, other: Arc::new(Handle::Os(other)), is_other_name: false };
        self.compare_contents(waits, pair, Finish::Checked, against)
    }

    /// Compares a name with the one in the other tree.
    pub(crate) fn compare(self, waits: &mut Waits) -> Result<Option<Ready>, Problem> {
        let now_ns = tick::now_ns();
        let meta = self.source_meta()?;
        match compare::compare_name(self, &meta, now_ns)? {
            Some(pair) => self.compare_contents(waits, pair, Finish::Nothing, Against::Target),
            None if meta.kind == FileKind::Folder => walk::enter_compared(self).map(|()| None),
            None => Ok(None),
        }
    }

    /// Makes a task that compares a file's content with another's, and hands it on.
    fn compare_contents(
        self,
        waits: &mut Waits,
        Pair { one: OpenedFile { held, meta, look }, other, is_other_name }: Pair,
        finish: Finish,
        against: Against,
    ) -> Result<Option<Ready>, Problem> {
        let (path, other_path) = (self.source_path(), self.target_path());
        let traits = self.traits_of(&held, &meta);
        // Files that the kernel makes up as they are read have no size that tells.
        let is_read_to_end = traits.made_up || sizes::goes_on_in(&held, &meta, traits.source_magic, &path)?;
        let ranges = if is_read_to_end {
            Ok(None)
        } else {
            compare::data_ranges(self.shared, &meta, &held, &other).map(Some)
        };
        let ranges = ranges.map_err(|errno| Problem::system(Operation::ReadMap, &path, errno.0))?;
        let facts = Facts { bytes_are_looked_at: true, ..self.copy_facts(&held, &meta, false) };
        let how = copy_method::decide(&facts, self.shared.settings.options);
        let watched = !traits.made_up && !held.is_read_once();
        let folder = self.cursor.source.folder_of(&self.name.name);
        let original = Original { folder, watched, ..Original::new(path.clone(), held, meta, look) };
        let opened = Opened::from_original(original, ranges);
        let ends =
            open::make_ends(self.shared, &path, &other_path, opened, how, &mut OpenTarget::Compare(other))?;
        let entry = self.entry();
        let tree_file = TreeFile { is_other_name, against, ..TreeFile::new(entry) };
        let task = open::make_task(self.shared, (path, other_path), ends, finish, tree_file.into_owned());
        self.hand_on(waits, Arc::new(task), how)
    }
}
