//! Compares the content of a name with another file's by the one loop: with what stands at the target, with the file of
//! `--link-dest`, with the other tree of `verify`.
//!
//! Must not know: what becomes of a name (`decide`, `finish`), how blocks are moved.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;

use datapump_core::verdict::Waits;
use datapump_engine::Handle;

use crate::file::task::Finish;
use crate::listed::Name;
use crate::open::copy_method::{self, Facts};
use crate::open::held::Original;
use crate::open::opened::Opened;
use crate::open::sizes;
use crate::open::{self, OpenTarget};
use crate::problem::{Operation, Problem};
use crate::run::owner::Ready;
use crate::tree::Shared;
use crate::tree::batch::cursor::BatchCursor;
use crate::tree::rules::compare::{self, Compared, Pair};
use crate::tree::state::tree_file::{Against, OpenedFile, TreeFile};
use crate::tree::walk;
use datapump_files::disk::{FileKind, names};
use datapump_files::identity::tick;

impl BatchCursor {
    pub(crate) fn open_there(&self, name: &OsStr) -> Result<File, Problem> {
        let opened = names::open_source(self.target()?, name, true);
        opened.map_err(|errno| Problem::system(Operation::Open, &self.target_path(name), errno.0))
    }

    /// Compares the content with another file's; a difference brings the name back to be copied.
    pub(crate) fn check(
        &self,
        shared: &Shared<'_>,
        waits: &mut Waits,
        name: &Name,
        other: File,
        against: Against,
    ) -> Result<Option<Ready>, Problem> {
        let one = self.open_file(shared, name, shared.compares_by_sums())?;
        let pair = Pair { one, other: Arc::new(Handle::Os(other)), is_other_name: false };
        self.read_both(shared, waits, name, pair, Finish::Checked, against)
    }

    /// Compares a name with the one in the other tree.
    pub(crate) fn compare(
        &self,
        shared: &Shared<'_>,
        waits: &mut Waits,
        name: &Name,
    ) -> Result<Option<Ready>, Problem> {
        let now_ns = tick::now_ns();
        let meta = self.meta(name)?;
        match compare::compare(shared, self, name, &meta, now_ns)? {
            Compared::Content(pair) => {
                self.read_both(shared, waits, name, pair, Finish::Nothing, Against::Target)
            }
            Compared::Done if meta.kind == FileKind::Folder => {
                walk::enter_compared(shared, self, name).map(|()| None)
            }
            Compared::Done => Ok(None),
        }
    }

    /// A file whose content is compared with another's by the one loop.
    fn read_both(
        &self,
        shared: &Shared<'_>,
        waits: &mut Waits,
        name: &Name,
        Pair { one: OpenedFile { held, meta, look }, other, is_other_name }: Pair,
        finish: Finish,
        against: Against,
    ) -> Result<Option<Ready>, Problem> {
        let (path, other_path) = (self.source_path(&name.name), self.target_path(&name.name));
        let traits = self.traits_of(&held, &meta);
        // Files that the kernel makes up as they are read have no size that tells.
        let is_read_to_end = traits.made_up || sizes::goes_on_in(&held, &meta, traits.source_magic, &path)?;
        let ranges =
            if is_read_to_end { Ok(None) } else { compare::ranges(shared, &meta, &held, &other).map(Some) };
        let ranges = ranges.map_err(|errno| Problem::system(Operation::ReadMap, &path, errno.0))?;
        let facts = Facts { bytes_are_looked_at: true, ..self.facts(shared, &held, &meta, false) };
        let how = copy_method::decide(&facts, shared.settings.options);
        let watched = !traits.made_up && !held.is_read_once();
        let folder = self.source().folder_of(&name.name);
        let original = Original { folder, watched, ..Original::new(path.clone(), held, meta, look) };
        let opened = Opened::file(original, ranges);
        let ends = open::ends(shared, &path, &other_path, opened, how, &mut OpenTarget::Compare(other))?;
        let entry = self.entry(&name.name);
        let tree_file = TreeFile { is_other_name, against, ..TreeFile::new(entry) };
        let task = open::task(shared, (path, other_path), ends, finish, tree_file.into_owned());
        self.hand_on(shared, waits, Arc::new(task), how)
    }
}
