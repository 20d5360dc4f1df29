//! What the ends of a copy are, as far as that decides which parts can be measured alone.
//!
//! Must not know: how a part is measured.

use std::os::unix::fs::FileTypeExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use datapump::Place;

use super::Case;
use super::timer::limited;
use crate::probe::host;
use crate::session::quiet::{QuietDisk, nearest_there};

/// Longer than the discards of what is written here take (0.7 GB/s).
const QUIET_WITHIN: Duration = Duration::from_secs(5);
/// Longest wait for the discards of one slice: a disk that others use is never idle.
const DISCARDED_WITHIN: Duration = Duration::from_millis(800);

/// One end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A file here; as a source, of so many bytes.
    File(u64),
    /// A folder here.
    Folder,
    /// On another host.
    Far,
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
    /// One disk here serves both.
    pub(super) is_shared: bool,
    /// The disk that is written to, or else the one that is read.
    pub(super) disk: Option<QuietDisk>,
    pub(super) cpus: u32,
    /// Bytes of the copy, if they are known.
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
        let is_shared = matches!((&from, &to), (Some(from), Some(to)) if from.is_same(to));
        let copy_bytes = match (source, case.sources.first()) {
            (End::File(bytes), _) => Some(bytes),
            (_, Some(Place::Null { bytes, .. })) => *bytes,
            _ => None,
        };
        CopyEnds { source, sink, is_shared, disk: to.or(from), cpus: host::cpus(), copy_bytes }
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> CopyEnds {
        let (source, sink) = (End::Once, End::File(0));
        CopyEnds { source, sink, is_shared: false, disk: None, cpus: 2, copy_bytes: None }
    }

    /// The copy goes over a network, and this host reads.
    pub(super) fn is_push(&self) -> bool {
        self.sink == End::Far
    }

    /// The copy goes over a network.
    pub(super) fn is_far(&self) -> bool {
        self.sink == End::Far || self.source == End::Far
    }

    /// Bytes of the copy, if that is known.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.copy_bytes
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
        if let Some(disk) = &self.disk {
            let _ = limited(QUIET_WITHIN, stop, |flag| disk.wait_quiet(&flag));
        }
    }

    /// Waits until what was removed is discarded, between two slices: a second of rest after each would be too long.
    pub(super) fn wait_discarded(&self, stop: &AtomicBool) {
        if let Some(disk) = self.disk.as_ref().filter(|disk| disk.name().is_some()) {
            let _ = limited(DISCARDED_WITHIN, stop, |flag| disk.wait_discarded(&flag));
        }
    }
}

fn source_of(place: &Place) -> End {
    match place {
        Place::Null { .. } => End::Null,
        Place::Remote(_) => End::Far,
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

fn sink_of(place: &Place) -> End {
    match place {
        Place::Null { .. } => End::Null,
        Place::Remote(_) => End::Far,
        Place::Path(path) => match std::fs::metadata(path) {
            Ok(meta) if is_special(&meta) => End::Once,
            Ok(meta) if meta.is_dir() => End::Folder,
            _ => End::File(0),
        },
        _ => End::Once,
    }
}

fn is_special(meta: &std::fs::Metadata) -> bool {
    let kind = meta.file_type();
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::Arc;

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
        let case = |target| Case {
            sources: vec![path(&file)],
            target,
            options: Default::default(),
            stop: Arc::default(),
        };
        assert!(
            CopyEnds::from_case(&case(path(&folder.path().join("a/b")))).is_shared
                || QuietDisk::containing(folder.path()).is_err()
        );
        assert!(!CopyEnds::from_case(&case(Place::Stream)).is_shared);
        assert_eq!(CopyEnds::from_case(&case(Place::Stream)).bytes(), Some(5));
    }
}
