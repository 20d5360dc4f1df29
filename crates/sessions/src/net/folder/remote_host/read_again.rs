//! A file of the other side that is opened and read a second time: the other side reads, and answers with digests.
//!
//! Must not know: why, what follows.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use datapump_core::Subtree;
use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::encode;
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::turns::RequestTurns;
use datapump_engine::Errno;
use datapump_files::holes::ByteRanges;
use datapump_transport::{Digest, NetFault};

use super::remote_folder::remote_file::OpenedAs;
use super::{OpenFile, RemoteFile, RemoteHost, body};
use crate::file::copied::CopiedContent;
use crate::problem::{Operation, Problem};

impl RemoteFile {
    /// Opens once more what has its name now. `None` of a stream.
    pub(crate) fn open_again(&self, path: &Path) -> Result<Option<OpenFile>, Problem> {
        let opened = match self {
            RemoteFile::Open(OpenFile { opened_as: OpenedAs::Name(folder, name), .. }) => {
                folder.open(name, path)
            }
            RemoteFile::Open(OpenFile { remote_host, opened_as: OpenedAs::Place(place), .. }) => {
                remote_host.open_place_again(*place, path)
            }
            RemoteFile::Small(small) => small.folder.open(&small.name, path),
            RemoteFile::Stream(_) => return Ok(None),
        };
        opened.map(Some).map_err(Problem::vanished)
    }
}

impl OpenFile {
    /// Whether it is what was copied. `None` where the other side is too old to tell.
    pub(crate) fn is_same(
        &self,
        copied: &CopiedContent<'_>,
        path: &Path,
        stop: &AtomicBool,
    ) -> Result<Option<bool>, Problem> {
        let Some(ranges) = self.ranges.clone() else { return Ok(None) };
        self.has_in(ranges, copied, path, stop)
    }

    /// Whether it begins with what was copied, as long as it was when it was opened. Holes of then may be none by now.
    /// `None` where the other side is too old to tell.
    pub(crate) fn begins_with(
        &self,
        copied: &CopiedContent<'_>,
        path: &Path,
        stop: &AtomicBool,
    ) -> Result<Option<bool>, Problem> {
        self.has_in(vec![(0, self.meta.size_bytes)], copied, path, stop)
    }

    /// Whether these ranges of the file, read by the other side, are what was copied; `None` where it gives no digests.
    fn has_in(
        &self,
        ranges: ByteRanges,
        copied: &CopiedContent<'_>,
        path: &Path,
        stop: &AtomicBool,
    ) -> Result<Option<bool>, Problem> {
        let system = |errno: Errno| Problem::system(Operation::Read, path, errno.0);
        copied.is_same_by_sums(ranges, &mut |parts| self.remote_host.sums(self.number, parts), stop, system)
    }
}

impl RemoteHost {
    /// Digests of parts of a file, requested together. `None` where the other side gives none.
    fn sums(&self, file: u64, parts: &[Subtree]) -> Result<Option<Vec<Digest>>, Problem> {
        let answers = self.pools.names.take(Purpose::Names).and_then(|mut channel| {
            let mut asking = RequestTurns::default();
            for part in parts {
                let (at, len) = (FileSize(part.at), part.bytes as u32);
                let ask = PeerRequest::Read { file, at, len, sum: Some(true) };
                channel.put_message(&encode(&ask), asking.ask(()))?;
            }
            channel.flush()?;
            let mut sums = Vec::with_capacity(parts.len());
            for _ in parts {
                let answer = self.decode(&body(&mut channel, &asking)?)?;
                asking.handle_end();
                if let Answer::Sum(sum) = answer {
                    sums.push(sum);
                }
            }
            self.pools.names.give(channel);
            Ok::<_, NetFault>((sums.len() == parts.len()).then_some(sums))
        });
        answers.map_err(|fault| self.lost(&fault))
    }
}
