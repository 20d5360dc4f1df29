//! What the ends of a copy are, as far as that decides which parts can be measured alone.
//!
//! Must not know: how a part is measured.

use std::cell::Cell;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use datapump::{Choice, LimitedBy, LimitedDetail, Place, Why};
use datapump_engine::Handle;
use datapump_files::disk::{FileCalls, is_cached, kind};

use super::Case;
use super::part::PartName;
use super::timer::{has_ended_within, limited};
use crate::probe::host;
use crate::session::quiet::{QuietDisk, REST, nearest_there};

/// Longer than the discards of what is written here take (0.7 GB/s).
const QUIET_WITHIN: Duration = Duration::from_secs(5);
/// Longest wait for the discards of one slice, and for their commit: a disk that others use is never idle.
const DISCARDED_WITHIN: Duration = Duration::from_millis(800);
/// A source counts as in the page cache where the copy had at most this part read from storage: of a disk, half of a file
/// takes a hundred times as long as the other half.
const STORAGE_FRACTION_MAX: f64 = 0.02;
/// Unit of `st_blocks`: stat(2).
pub(super) const BLOCK_BYTES: u64 = 512;
/// After a commit the discards of removed files are under way.
const SHORT_REST: Duration = Duration::from_millis(60);

/// One end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A file here; as a source, of so many bytes.
    File(u64),
    /// A folder here.
    Folder,
    /// On another host.
    Remote,
    /// Null: there is nothing to measure.
    Null,
    /// A URL: the copy alone reads it, as servers may count and limit what they send.
    Web,
    /// A pipe or a device: what is taken out of it, or put into it, does not come back.
    Once,
    /// A source that is not there.
    Missing,
    /// A source without length: empty, or made up as it is read, as in /proc.
    Empty,
}

/// The ends of a copy.
#[derive(Debug)]
pub(super) struct CopyEnds {
    pub(super) source: End,
    pub(super) sink: End,
    /// The source is in the page cache, and is read from there.
    pub(super) is_cached: bool,
    /// One disk here serves both.
    pub(super) is_shared: bool,
    /// The target has no holes, so that those of the source are read.
    pub(super) reads_holes: bool,
    /// The disk that is written to. What is only read leaves nothing to wait for.
    pub(super) disk: Option<QuietDisk>,
    /// A commit took too long: none is made again.
    pub(super) commits_slowly: Cell<bool>,
    pub(super) cpus: u32,
    /// Bytes that the copy reads, if they are known.
    pub(super) copy_bytes: Option<u64>,
}

impl CopyEnds {
    pub(super) fn from_case(case: &Case) -> CopyEnds {
        let source = match &case.sources[..] {
            [one] => source_of(one),
            _ => End::Folder,
        };
        let sink = sink_of(&case.target);
        let disk = |end, place: Option<&Place>| match (end, place) {
            (End::File(_) | End::Folder, Some(Place::Path(path))) => {
                QuietDisk::containing(nearest_there(path)).ok()
            }
            _ => None,
        };
        let (from, to) = (disk(source, case.sources.first()), disk(sink, Some(&case.target)));
        let is_cached = matches!(source, End::File(_))
            && case.options.tuning.direct != Choice::Always
            && case.sources.first().is_some_and(is_source_cached);
        let is_one_disk = matches!((&from, &to), (Some(from), Some(to)) if from.is_same(to));
        let is_shared = is_one_disk && !is_cached;
        let reads_holes = case.options.tuning.ignore_holes || matches!(sink, End::Null | End::Once);
        let copy_bytes = match (source, case.sources.first()) {
            (End::File(_), Some(Place::Path(path))) if !reads_holes => data_bytes(path),
            (End::File(bytes), _) => Some(bytes),
            (End::Empty, Some(Place::Path(path))) if !size_may_lie(path) => Some(0),
            (_, Some(Place::Null { bytes, .. })) => *bytes,
            _ => None,
        };
        let (commits_slowly, cpus, disk) = (Cell::new(false), host::cpus(), to);
        CopyEnds { source, sink, is_cached, is_shared, reads_holes, disk, commits_slowly, cpus, copy_bytes }
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> CopyEnds {
        let (source, sink, commits_slowly) = (End::Once, End::File(0), Cell::new(false));
        let (is_cached, is_shared, reads_holes) = (false, false, false);
        let (disk, cpus, copy_bytes) = (None, 2, None);
        CopyEnds { source, sink, is_cached, is_shared, reads_holes, disk, commits_slowly, cpus, copy_bytes }
    }

    /// The copy goes over a network, and this host reads.
    pub(super) fn is_push(&self) -> bool {
        self.sink == End::Remote
    }

    /// The copy goes over a network.
    pub(super) fn is_remote(&self) -> bool {
        self.sink == End::Remote || self.source == End::Remote
    }

    /// A limit with its cause: a source in the page cache is waited for, and its disk serves no end. `storage`: the part of
    /// what was moved that was read from storage, where that is counted.
    pub(super) fn without_disk(
        &self,
        limit: LimitedBy,
        detail: LimitedDetail,
        storage: Option<f64>,
    ) -> LimitedDetail {
        let is_in_memory = self.is_cached && storage.is_none_or(|part| part <= STORAGE_FRACTION_MAX);
        let why = match (limit, detail.why) {
            (_, why) if !is_in_memory => why,
            (LimitedBy::Source, Why::Device | Why::SharedDevice) => Why::PageCache,
            (_, Why::SharedDevice) => Why::Device,
            (_, why) => why,
        };
        LimitedDetail { why, ..detail }
    }

    /// Bytes of the copy, if that is known.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.copy_bytes
    }

    /// Whether a part moves all that the copy moves, through all that it goes through.
    pub(super) fn is_whole(&self, name: PartName) -> bool {
        match name {
            PartName::Together | PartName::Chain => true,
            PartName::Sink => self.source == End::Null,
            PartName::Source => self.sink == End::Null,
            PartName::Pump | PartName::Network | PartName::Local | PartName::RateLimit => false,
        }
    }

    /// Whether the source is what it was at first: a pipe in the place of a file would lose what is read from it.
    pub(super) fn has_same_source(&self, case: &Case) -> bool {
        match (&case.sources[..], self.source) {
            ([source], End::File(_)) => source_of(source) == self.source,
            _ => true,
        }
    }

    /// Lets the disk come to rest after what was written and removed.
    pub(super) fn wait_quiet(&self, stop: &AtomicBool) {
        self.wait_at_rest(REST, QUIET_WITHIN, stop);
    }

    /// Waits until what was removed is discarded, between two slices: a second of rest after each would be too long.
    pub(super) fn wait_discarded(&self, stop: &AtomicBool) {
        self.wait_at_rest(SHORT_REST, DISCARDED_WITHIN, stop);
    }

    /// Commits what this program removed, and waits for its discards. Nothing of other programs is written out, which a sync
    /// of the file system does: that may take any time, and theirs.
    fn wait_at_rest(&self, rest: Duration, within: Duration, stop: &AtomicBool) {
        let Some(disk) = self.disk.as_ref().filter(|disk| disk.name().is_some()) else { return };
        let disk_to_commit = disk.clone();
        // Where it fails, the next slice's fsync commits.
        self.commit(DISCARDED_WITHIN, stop, move || drop(disk_to_commit.commit()));
        let _ = limited(within, stop, |flag| disk.wait_at_rest(rest, &flag));
    }

    /// That a commit took too long: it may still be under way while the copy runs.
    pub(super) fn slow_commit(&self) -> Option<&'static str> {
        let words = "the disk was not idle when the copy began: a commit took longer than 0.8 s";
        self.commits_slowly.get().then_some(words)
    }

    /// One that does not end in time is the last.
    fn commit(&self, within: Duration, stop: &AtomicBool, commit: impl FnOnce() + Send + 'static) {
        let is_slow = self.commits_slowly.get() || !has_ended_within(within, stop, commit);
        self.commits_slowly.set(is_slow);
    }
}

fn source_of(place: &Place) -> End {
    match place {
        Place::Null { .. } => End::Null,
        Place::Remote(_) => End::Remote,
        Place::Web(_) => End::Web,
        Place::Path(path) => match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => End::Folder,
            Ok(meta) if meta.is_file() && meta.len() > 0 => End::File(meta.len()),
            Ok(meta) if meta.is_file() => End::Empty,
            Ok(_) => End::Once,
            // The copy tells it.
            Err(_) => End::Missing,
        },
        _ => End::Once,
    }
}

/// Bytes of a file that are not in holes; all of them where the file system's map of holes is not to be believed.
fn data_bytes(path: &Path) -> Option<u64> {
    let file = std::fs::File::open(path).ok()?;
    let meta = file.metadata().ok()?;
    let (bytes, handle) = (meta.len(), Handle::Os(file));
    if meta.blocks().saturating_mul(BLOCK_BYTES) >= bytes || !kind::holes_are_honest(handle.room().magic) {
        return Some(bytes);
    }
    let ranges = handle.data_ranges(bytes).ok().flatten();
    Some(ranges.map_or(bytes, |ranges| ranges.iter().map(|(start, end)| end - start).sum()))
}

fn is_source_cached(place: &Place) -> bool {
    let Place::Path(path) = place else { return false };
    let Ok(file) = std::fs::File::open(path) else { return false };
    let bytes = file.metadata().map_or(0, |meta| meta.len());
    is_cached(Handle::Os(file).cached_fraction(bytes))
}

fn sink_of(place: &Place) -> End {
    match place {
        Place::Null { .. } => End::Null,
        Place::Remote(_) => End::Remote,
        Place::Path(path) => match std::fs::metadata(path) {
            Ok(meta) if is_special(&meta) => End::Once,
            Ok(meta) if meta.is_dir() => End::Folder,
            _ => End::File(0),
        },
        _ => End::Once,
    }
}

/// Whether a size may say nothing: of a file that the kernel or a daemon (FUSE) makes up as it is read.
fn size_may_lie(path: &Path) -> bool {
    let may_lie = |magic| kind::is_made_up(magic) || kind::sizes_may_lie(magic);
    rustix::fs::statfs(path).map_or(true, |system| may_lie(system.f_type as u64))
}

fn is_special(meta: &std::fs::Metadata) -> bool {
    let kind = meta.file_type();
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};

    use datapump::{Fill, Options};

    #[test]
    fn ends_are_told_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, empty] = ["file", "empty"].map(|name| folder.path().join(name));
        std::fs::write(&file, b"12345").expect("room");
        std::fs::write(&empty, b"").expect("room");
        let path = |path: &Path| Place::Path(path.into());
        for (what, place, source, sink) in [
            ("a file", path(&file), End::File(5), End::File(0)),
            ("a folder", path(folder.path()), End::Folder, End::Folder),
            ("an empty file", path(&empty), End::Empty, End::File(0)),
            ("nothing yet", path(&folder.path().join("new")), End::Missing, End::File(0)),
            ("a device", path(Path::new("/dev/null")), End::Once, End::Once),
            ("standard input", Place::Stream, End::Once, End::Once),
        ] {
            assert_eq!((source_of(&place), sink_of(&place)), (source, sink), "{what}");
        }
        let from = |source: &Path, target| Case {
            sources: vec![path(source)],
            target,
            options: Default::default(),
            stop: Arc::default(),
        };
        let case = |target| from(&file, target);
        // Direct reads take nothing from the page cache, which has what was just written.
        for (direct, is_cached) in [(Choice::Auto, true), (Choice::Always, false)] {
            let options = Options::default().with(|it| it.tuning.direct = direct);
            let ends = CopyEnds::from_case(&Case { options, ..case(path(&folder.path().join("a/b"))) });
            assert_eq!(ends.is_cached, is_cached, "{direct:?}");
            let has_disk = QuietDisk::containing(folder.path()).is_ok();
            assert_eq!(ends.is_shared, has_disk && !is_cached, "{direct:?}");
        }
        assert!(!CopyEnds::from_case(&case(Place::Stream)).is_shared);
        assert_eq!(CopyEnds::from_case(&case(Place::Stream)).bytes(), Some(5));
        assert!(CopyEnds::from_case(&case(Place::Stream)).disk.is_none(), "nothing is removed there");
        for (source, bytes) in [(&*empty, Some(0)), (Path::new("/proc/version"), None)] {
            let ends = CopyEnds::from_case(&from(source, Place::Stream));
            assert_eq!((ends.source, ends.bytes()), (End::Empty, bytes), "{source:?}");
        }
    }

    /// The copy reads what its source holds, and holes where the target can have none.
    #[test]
    fn a_copy_to_a_file_reads_no_holes() {
        let folder = tempfile::tempdir().expect("a folder");
        let holed = folder.path().join("holed");
        let data = std::fs::File::create(&holed).expect("room");
        data.set_len(64 << 20).expect("a hole");
        data.write_all_at(&[7; 8192], 32 << 20).expect("room");
        let is_honest = kind::holes_are_honest(Handle::Os(data).room().magic);
        let file = || Place::Path(folder.path().join("new"));
        for (what, target, ignore_holes, reads_holes) in [
            ("a file", file(), false, false),
            ("a file, all bytes", file(), true, true),
            ("a stream", Place::Stream, false, true),
            ("null", Place::Null { bytes: None, fill: Fill::Zero }, false, true),
        ] {
            let options = Options::default().with(|it| it.tuning.ignore_holes = ignore_holes);
            let (sources, stop) = (vec![Place::Path(holed.clone())], Arc::default());
            let ends = CopyEnds::from_case(&Case { sources, target, options, stop });
            let bytes = if reads_holes || !is_honest { 64 << 20 } else { 8192 };
            assert_eq!((ends.reads_holes, ends.bytes()), (reads_holes, Some(bytes)), "{what}");
        }
    }

    #[test]
    fn a_disk_that_is_not_read_limits_nothing() {
        use LimitedBy::{Cpu, Sink, Source};
        for (limit, why, of_cached) in [
            (Source, Why::Device, Why::PageCache),
            (Source, Why::SharedDevice, Why::PageCache),
            (Source, Why::RateLimit, Why::RateLimit),
            (Sink, Why::SharedDevice, Why::Device),
            (Sink, Why::Device, Why::Device),
            (Cpu, Why::Copying, Why::Copying),
        ] {
            for (is_cached, storage, expected) in [
                (true, Some(0.0), of_cached),
                (true, None, of_cached),
                // More than half of it was in memory, and the rest took nearly all the time.
                (true, Some(0.4), why),
                (false, Some(0.0), why),
            ] {
                let ends = CopyEnds { is_cached, ..CopyEnds::for_tests() };
                let detail = LimitedDetail { why, ..LimitedDetail::default() };
                let detail = ends.without_disk(limit, detail, storage);
                assert_eq!(detail.why, expected, "{limit:?}, {why:?}, cached: {is_cached}, {storage:?}");
            }
        }
    }

    /// A disk that takes seconds for each commit costs its time once.
    #[test]
    fn a_commit_that_takes_too_long_is_the_last() {
        let (ends, stop) = (CopyEnds::for_tests(), AtomicBool::new(false));
        let commits = Arc::new(AtomicUsize::new(0));
        let (_open, is_closed) = mpsc::channel::<()>();
        let is_closed = Arc::new(std::sync::Mutex::new(is_closed));
        let commit = |within, is_slow: bool| {
            let (commits, is_closed) = (Arc::clone(&commits), Arc::clone(&is_closed));
            ends.commit(within, &stop, move || {
                commits.fetch_add(1, Ordering::Relaxed);
                if is_slow {
                    let _ = is_closed.lock().map(|it| it.recv());
                }
            });
            ends.slow_commit().is_some()
        };
        let long = Duration::from_secs(600);
        assert_eq!([commit(long, false), commit(long, false)], [false; 2]);
        assert_eq!(commits.load(Ordering::Relaxed), 2);
        assert_eq!([commit(Duration::ZERO, true), commit(long, false)], [true; 2]);
        assert!(commits.load(Ordering::Relaxed) <= 3, "none after the slow one");
    }
}
