//! Counts what lies in the trees that are copied, beside the copy, so that who watches sees how much of all is done.
//!
//! Names are walked as the copy walks them; nothing of what they hold is read. It begins when a copy has lasted a
//! second, and only where progress is shown. It may take a tenth of a second of a processor, and 1.5 % of one from then
//! on: a copy of small files takes one to two processors. What it cannot count it does not tell.
//!
//! Must not know: how anything is copied, who shows the counts.

pub mod served_root;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use datapump_engine::os::linux::thread_ns;

use crate::count_ahead::served_root::ServedRoot;
use crate::folder::side::{FolderSide, Keeper};
use crate::listed::Name;
use crate::origin::Origin;
use crate::place::{Place, stands_for_content};
use crate::problem::Problem;
use crate::report::watch::{TreeCounts, Watch};
use crate::setup::options::Options;
use datapump_core::selection::{Listing, Select};
use datapump_files::disk::{Disk, FileKind, Meta, PathAt, names};
use datapump_files::followed::named_link;
use datapump_files::identity::{FileId, id};

const BEGINS_AFTER: Duration = Duration::from_secs(1);
/// What it may take at once.
const FIRST_CPU_NS: f64 = 100e6;
/// And of the time from then on.
const CPU_FRACTION: f64 = 0.015;
/// Folders that are kept open.
const OPEN_FOLDERS: usize = 8;
/// Folders that wait; a tree with more is not counted.
const WAITING_MAX: usize = 1 << 16;
/// Names of one file that are remembered, to count it once; behind that some are counted twice.
const LINKED_MAX: usize = 1 << 16;
/// What both take at most.
pub const COUNT_BYTES: usize = 16 << 20;

/// Runs `copy` and gives its result. Meanwhile the names and bytes of the sources are counted on a thread, where
/// progress is shown and one of them is a folder.
pub fn copy_and_count<T>(watch: &Watch, sources: &[Place], options: &Options, copy: impl FnOnce() -> T) -> T {
    let paths: Vec<PathBuf> = sources.iter().filter_map(Place::local_path).map(Path::to_path_buf).collect();
    if !watch.is_shown() || !paths.iter().any(|path| path.is_dir()) {
        return copy();
    }
    let tell = |counts| watch.set_counted(counts);
    serve_and_count(&whole_host(), &paths, options, tell, copy)
}

/// Serves what these places hold, and counts it beside that.
pub fn serve_and_count<T>(
    root: &ServedRoot,
    sources: &[PathBuf],
    options: &Options,
    tell: impl FnOnce(TreeCounts) + Send,
    serve: impl FnOnce() -> T,
) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let count = || {
            if let Some(counted) = AheadCounter::new(options, &over).and_then(|it| it.count(root, sources)) {
                tell(counted);
            }
        };
        // Without a thread for it nothing is counted, and the copy goes on.
        let thread = thread::Builder::new().name("count".into()).spawn_scoped(scope, count);
        let thread = thread.ok().map(|thread| thread.thread().clone());
        let _ends = EndOfCount { over: &over, thread };
        serve()
    })
}

/// What this user may read, by paths from where the program runs.
fn whole_host() -> ServedRoot {
    ServedRoot::User(PathBuf::new())
}

/// The copy has ended, however.
struct EndOfCount<'run> {
    over: &'run AtomicBool,
    thread: Option<Thread>,
}

impl Drop for EndOfCount<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.iter().for_each(Thread::unpark);
    }
}

struct AheadCounter<'run> {
    options: &'run Options,
    over: &'run AtomicBool,
    select: Select,
    began: Instant,
    keeper: Arc<Keeper>,
    linked: HashSet<FileId>,
    /// Paths that patterns are matched against begin with this. Where a folder goes is not known here: to a folder, as
    /// mostly when patterns begin above it.
    patterns_above: PathBuf,
    files: u64,
    bytes: u64,
    names: u64,
}

/// A folder that waits, by its name in its parent.
type NotCounted = (Arc<FolderSide>, OsString);

impl<'run> AheadCounter<'run> {
    /// `None` where nothing can be counted.
    fn new(options: &'run Options, over: &'run AtomicBool) -> Option<AheadCounter<'run>> {
        let select = Select::new(&options.selection.rules).ok()?;
        let (began, keeper) = (Instant::now(), Keeper::new(OPEN_FOLDERS));
        Some(AheadCounter {
            options,
            over,
            select,
            began,
            keeper,
            linked: HashSet::new(),
            patterns_above: PathBuf::new(),
            files: 0,
            bytes: 0,
            names: 0,
        })
    }

    /// What all sources hold; `None` if the copy ended before, or a folder could not be listed.
    fn count(mut self, root: &ServedRoot, sources: &[PathBuf]) -> Option<TreeCounts> {
        self.wait_until(BEGINS_AFTER)?;
        let is_kept = |path: &Path| self.options.place.keep_links && named_link(path).is_some();
        let sources: Vec<&PathBuf> = sources.iter().filter(|path| !is_kept(path)).collect();
        for path in sources {
            let found = match root {
                ServedRoot::Folder(root) => PathAt::find_beneath(root, path).ok()?,
                ServedRoot::User(_) => PathAt::find(&Disk::Os, path),
                ServedRoot::Null { .. } => return None,
            };
            let meta = found.metadata().ok()?;
            let open = || match root {
                ServedRoot::Folder(root) => names::open_beneath(root, path),
                _ => names::open_path(path),
            };
            match meta.kind {
                FileKind::Folder => self.count_tree(path, open().ok()?)?,
                FileKind::Regular => self.count_file(meta.size_bytes),
                _ => {}
            }
        }
        Some(TreeCounts { files: self.files, bytes: self.bytes, names: Some(self.names) })
    }

    /// Counts a file; one that is read back counts its bytes twice.
    fn count_file(&mut self, bytes: u64) {
        // Bytes that are read back move a second time.
        let trips = if self.options.durability.verify { 2 } else { 1 };
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(trips));
    }

    /// Counts what is in one source folder, at any depth; `None` as for `count`.
    fn count_tree(&mut self, path: &Path, folder: File) -> Option<()> {
        let begin_above = self.options.selection.patterns_begin_above && !stands_for_content(path);
        let name = path.file_name().filter(|_| begin_above && !self.select.is_list());
        self.patterns_above = name.map(PathBuf::from).unwrap_or_default();
        let root = FolderSide::root(path, folder, &self.keeper).ok()?;
        let root = root.following(self.options.links.follow);
        let device = root.meta.device;
        let mut waiting = Vec::new();
        self.count_folder(&root, &mut waiting)?;
        while let Some((above, name)) = waiting.pop() {
            let folder = above.child(&name).ok()?;
            // A bind mount or a link may lead to a folder above.
            let is_loop = folder.ancestors().skip(1).any(|above| id(&above.meta) == id(&folder.meta));
            let is_out = self.options.selection.one_file_system && folder.meta.device != device;
            if !is_loop && !is_out {
                self.count_folder(&folder, &mut waiting)?;
            }
        }
        Some(())
    }

    /// Counts the names of one folder, and adds the folders in it to `waiting`. `None` as for `count`, and where too many wait.
    fn count_folder(&mut self, folder: &Arc<FolderSide>, waiting: &mut Vec<NotCounted>) -> Option<()> {
        let origin = folder.origin().ok()?;
        let mut cookie = Some(0);
        while let Some(from) = cookie {
            self.rest()?;
            if waiting.len() > WAITING_MAX {
                return None;
            }
            let (names, next) = next_listed(&self.select, folder, &origin, from).ok()?;
            cookie = next.filter(|_| !names.is_empty());
            for name in names {
                self.count_name(folder, &origin, name, waiting);
            }
        }
        Some(())
    }

    /// Counts a name unless it is excluded or gone: a file with its bytes, a further name of it and one outside the bounds
    /// of size without; a folder waits to be counted.
    fn count_name(
        &mut self,
        folder: &Arc<FolderSide>,
        origin: &Origin,
        name: Name,
        waiting: &mut Vec<NotCounted>,
    ) {
        let path = || folder.path_of(&name.name);
        let known = name.kind.filter(|kind| *kind != FileKind::Regular);
        let meta = if known.is_some() { None } else { origin.metadata(&name, path).ok() };
        let Some(kind) = known.or(meta.map(|meta| meta.kind)) else { return };
        let is_folder = kind == FileKind::Folder;
        if !self.select.includes(&self.patterns_above, || folder.relative(), &name.name, is_folder) {
            return;
        }
        self.names += 1;
        match meta.filter(|meta| meta.kind == FileKind::Regular) {
            Some(meta) if self.counts(&meta) => self.count_file(meta.size_bytes),
            None if is_folder => waiting.push((Arc::clone(folder), name.name)),
            _ => {}
        }
    }

    /// Of several names of one file only the first counts, and no file out of the bounds that were asked for.
    fn counts(&mut self, meta: &Meta) -> bool {
        let is_further = meta.links > 1
            && self.options.attributes.keep.links
            && self.linked.len() < LINKED_MAX
            && !self.linked.insert(id(meta));
        self.options.selection.bounds.why_outside(meta).is_none() && !is_further
    }

    /// Rests until it has taken no more than its part of the time. `None` once the copy has ended.
    fn rest(&self) -> Option<()> {
        let taken_ns = thread_ns() as f64 - FIRST_CPU_NS;
        self.wait_until(Duration::from_nanos((taken_ns / CPU_FRACTION).max(0.0) as u64))
    }

    /// Waits until so much time has passed since the count began. `None` once the copy has ended.
    fn wait_until(&self, elapsed: Duration) -> Option<()> {
        loop {
            if self.over.load(Ordering::Relaxed) {
                return None;
            }
            match elapsed.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero()) {
                Some(left) => thread::park_timeout(left),
                None => return Some(()),
            }
        }
    }
}

/// The next names of a folder that are dealt with, by a list or by the folder, and where those behind them begin.
pub(crate) fn next_listed(
    select: &Select,
    folder: &FolderSide,
    origin: &Origin,
    from: u64,
) -> Result<(Vec<Name>, Option<u64>), Problem> {
    if let Listing::Listed(names) = select.listing(|| folder.relative()) {
        return Ok((Name::selected(names), None));
    }
    let (names, next) = origin.list(from, false, &folder.path())?;
    Ok((names, Some(next)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::options::Selection;
    use datapump_files::followed::FollowLinks;
    use std::fs;

    fn counted(options: &Options, sources: &[&Path]) -> Option<TreeCounts> {
        let over = AtomicBool::new(false);
        let paths: Vec<PathBuf> = sources.iter().map(|path| path.to_path_buf()).collect();
        let counter = AheadCounter::new(options, &over).expect("rules in order");
        let began = counter.began.checked_sub(BEGINS_AFTER).expect("it runs longer");
        AheadCounter { began, ..counter }.count(&whole_host(), &paths)
    }

    #[test]
    fn what_a_copy_would_find_is_counted() {
        let home = tempfile::tempdir().expect("room");
        let tree = home.path().join("tree");
        fs::create_dir_all(tree.join("sub/deep")).expect("room");
        fs::create_dir(home.path().join("out")).expect("room");
        for (name, bytes) in
            [("tree/a", 10), ("tree/sub/b", 200), ("tree/sub/deep/c", 3000), ("out/d", 40_000), ("file", 7)]
        {
            fs::write(home.path().join(name), vec![1; bytes]).expect("room");
        }
        fs::hard_link(tree.join("a"), tree.join("sub/a")).expect("room");
        std::os::unix::fs::symlink("../out", tree.join("link")).expect("room");
        let usual = Options::default();
        let exclude = |pattern: &str| vec![Selection::Exclude(pattern.into())];
        let mut each = usual.clone();
        each.attributes.keep.links = false;
        let file = home.path().join("file");
        for (options, sources, files, bytes, names) in [
            (usual.clone(), vec![&*tree], 3, 3210, 7),
            (usual.clone(), vec![&*tree, &file], 4, 3217, 7),
            (each, vec![&*tree], 4, 3220, 7),
            (usual.clone().with(|it| it.durability.verify = true), vec![&*tree], 3, 6420, 7),
            (usual.clone().with(|it| it.selection.rules = exclude("deep")), vec![&*tree], 2, 210, 5),
            (
                usual.clone().with(|it| it.selection.bounds.max_size_bytes = Some(200)),
                vec![&*tree],
                2,
                210,
                7,
            ),
            (usual.clone().with(|it| it.links.follow = FollowLinks::Always), vec![&*tree], 4, 43_210, 8),
            (
                usual
                    .clone()
                    .with(|it| it.selection.rules = vec![Selection::Names(b"sub/b\n".to_vec(), false)]),
                vec![&*tree],
                1,
                200,
                2,
            ),
        ] {
            let expected = TreeCounts { files, bytes, names: Some(names) };
            assert_eq!(counted(&options, &sources), Some(expected), "{options:?}");
        }
        assert_eq!(counted(&usual, &[&home.path().join("missing")]), None);
    }

    #[test]
    fn a_copy_that_ends_ends_the_count() {
        let home = tempfile::tempdir().expect("room");
        fs::create_dir(home.path().join("tree")).expect("room");
        let (watch, sources) = (Watch::default(), [Place::Path(home.path().join("tree"))]);
        watch.show_progress();
        assert_eq!(copy_and_count(&watch, &sources, &Options::default(), || 7), 7);
        assert_eq!(watch.snapshot().counted, None);
    }
}
