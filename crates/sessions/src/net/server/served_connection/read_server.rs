//! The plan of a lane that sends: each request of another host becomes a task of one block.
//!
//! The loop reads the blocks with its depth, and they are sent in the order of the requests.
//!
//! Must not know: who requests them, why, how they are sent.

use crate::problem::Operation;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use datapump_core::verdict::Waits;
use datapump_core::wire::bounds::{ErrorNumber, FileSize};
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest, is_wanted};
use datapump_core::{BlockRoute, Extent, Length};
use datapump_transport::NetFault;

use super::send_lane::{CHANGED, Reading, SendLane};
use crate::end::{FileEnd, Sink, Source};
use crate::file::task::{Finish, Parts, Task};
use crate::net::folder::convert::changed;
use crate::net::folder::given_file::GivenFile;
use crate::net::folder::handle_place::Flow;
use crate::net::folder::handle_table::{HandleTable, Taken};
use crate::run::MoverRun;
use crate::run::owner::{Ready, Worker};
use crate::run::plan::Claim;
use datapump_engine::TransferFlags;
use datapump_files::holes::ByteRanges;

const EINVAL: ErrorNumber = ErrorNumber(22);
const EMFILE: ErrorNumber = ErrorNumber(24);
/// Pipes, and null, that are read over one connection.
const STREAMS_MAX: usize = 256;

/// The work of a lane that sends: what another host reads over its connection.
pub(super) struct ReadServer<'run> {
    run: &'run MoverRun<'run>,
    lane: Rc<RefCell<SendLane>>,
    /// Those that are read on and on over this connection.
    streams: Vec<ReadStream>,
}

/// A pipe, or null, that is read on and on: one task.
struct ReadStream {
    /// What the other host calls it.
    file: u64,
    task: Arc<Task>,
}

/// A block to be read.
struct BlockTask {
    task: Arc<Task>,
    extent: Extent,
    reading: Reading,
}

/// Or what is answered instead.
type FoundBlock = Result<BlockTask, Box<Answer>>;

impl BlockTask {
    fn new(task: Arc<Task>, at: u64, length: Length, len: u32) -> BlockTask {
        let file = task.number;
        let reading = Reading { task: file, len, head: None, is_sum: false, small: None, _charge: None };
        BlockTask { task, extent: Extent { file, at, length, way: BlockRoute::Slots }, reading }
    }

    /// Of a file its digest may be wanted instead; a stream is read on for its bytes.
    fn summed(mut self, sum: Option<bool>) -> BlockTask {
        self.reading.is_sum = sum == Some(true) && matches!(self.extent.length, Length::Bytes(_));
        self
    }
}

impl<'run> ReadServer<'run> {
    pub(super) fn new(run: &'run MoverRun<'run>, lane: Rc<RefCell<SendLane>>) -> ReadServer<'run> {
        ReadServer { run, lane, streams: Vec::new() }
    }
}

impl Worker for ReadServer<'_> {
    /// The next block to read. What is requested before it and needs no block is answered here.
    fn claim(&mut self) -> Result<Claim<()>, NetFault> {
        let shared = Rc::clone(&self.lane);
        let mut lane = shared.borrow_mut();
        while let Some((ask, number)) = lane.next_request()? {
            let found = match ask {
                PeerRequest::Read { file, at: FileSize(at), len, sum } => {
                    self.read(&mut lane, file, at, len).map(|found| found.summed(sum))
                }
                PeerRequest::Fetch { above, name, len: len @ 1.., sum, len_max } => {
                    let len_max = len_max.map_or(len, |most| most.min(self.run.settings.shape.request_bytes));
                    let found = fetch_small(self.run, &lane.handles, above, &name, len, len_max);
                    found.map(|found| found.summed(sum))
                }
                ask => {
                    lane.look_up(number, ask)?;
                    continue;
                }
            };
            match found {
                Ok(BlockTask { task, extent, reading }) => {
                    lane.read(number, reading);
                    return Ok(Claim::Piece(task, extent));
                }
                Err(answer) => lane.reply(number, *answer)?,
            }
        }
        Ok(if lane.is_over { Claim::Never } else { Claim::NotYet })
    }

    fn work(&mut self, _waits: &mut Waits) -> Option<Ready> {
        None
    }

    fn wait(&mut self, patience: Duration) -> Result<bool, NetFault> {
        self.lane.borrow_mut().wait(patience)
    }
}

impl ReadServer<'_> {
    /// A block of what the other host has open.
    fn read(&mut self, lane: &mut SendLane, file: u64, at: u64, len: u32) -> FoundBlock {
        match lane.handles.file(file) {
            Ok(Taken::File(given)) => block(self.run, &given, at, len),
            Ok(Taken::Flow(flow)) => self.next_of_flow(lane, file, &flow, at, len),
            Err(fault) => Err(Box::new(Answer::Fault(fault))),
        }
    }

    /// The next bytes of a pipe, or of null. The inner answer: it is over, or the request cannot be right.
    fn next_of_flow(&mut self, lane: &mut SendLane, file: u64, flow: &Flow, at: u64, len: u32) -> FoundBlock {
        let task = self.stream_task_for(lane, file, flow)?;
        let len = len.min(self.run.settings.shape.request_bytes);
        if let Some(ended) = lane.ended(task.number) {
            return Err(Box::new(ended.clone()));
        }
        if !is_wanted(at, len, u64::MAX) {
            return Err(unwanted());
        }
        let length = match flow {
            Flow::Stream(_) => Length::UpTo(len.into()),
            Flow::Null { .. } => Length::Bytes(len.into()),
        };
        Ok(BlockTask::new(task, at, length, len))
    }

    /// The task that reads a stream; made with the first request for it.
    ///
    /// Errors: too many streams are read.
    fn stream_task_for(
        &mut self,
        lane: &mut SendLane,
        file: u64,
        flow: &Flow,
    ) -> Result<Arc<Task>, Box<Answer>> {
        if let Some(stream) = self.streams.iter().find(|stream| stream.file == file) {
            return Ok(Arc::clone(&stream.task));
        }
        if self.streams.len() == STREAMS_MAX {
            return Err(Box::new(Answer::Fault(Fault { errno: Some(EMFILE), ..unwanted_fault() })));
        }
        let task = stream_task(self.run, flow);
        lane.streams.push((task.number, None));
        self.streams.push(ReadStream { file, task: Arc::clone(&task) });
        Ok(task)
    }
}

/// A block of a file.
fn block(run: &MoverRun<'_>, given: &GivenFile, at: u64, len: u32) -> FoundBlock {
    if len > run.settings.shape.request_bytes || !is_wanted(at, len, given.meta.size_bytes) {
        return Err(unwanted());
    }
    Ok(BlockTask::new(task(run, given, at, len), at, Length::Bytes(len.into()), len))
}

/// Opens a small file: its attributes, and the one block that it has. An answer alone where it has none, or another length.
fn fetch_small(
    run: &MoverRun<'_>,
    handles: &HandleTable,
    above: u64,
    name: &[u8],
    len: u32,
    len_max: u32,
) -> FoundBlock {
    let found = handles.fetch(above, name, len, len_max).map_err(|fault| Box::new(Answer::Fault(fault)))?;
    let (answer, _charge, given) = found;
    let Some(given) = given else { return Err(Box::new(answer)) };
    // It was not empty when it was listed.
    if given.meta.size_bytes == 0 {
        let answer = handles.still_empty(&given, answer);
        return Err(Box::new(answer.unwrap_or_else(|| Answer::Fault(changed(CHANGED, None)))));
    }
    let mut found = block(run, &given, 0, given.meta.size_bytes as u32)?;
    let small = Some(Arc::new(given));
    found.reading = Reading { head: Some(Box::new(answer)), small, _charge, ..found.reading };
    Ok(found)
}

fn unwanted() -> Box<Answer> {
    Box::new(Answer::Fault(unwanted_fault()))
}

fn unwanted_fault() -> Fault {
    Fault { operation: Operation::Read.words().into(), errno: Some(EINVAL), words: None, class: None }
}

/// A pipe, or null.
fn stream_task(run: &MoverRun<'_>, flow: &Flow) -> Arc<Task> {
    let source = match flow {
        Flow::Stream(handle) => Source::Stream(Arc::clone(handle)),
        Flow::Null { .. } => Source::Null,
    };
    Arc::new(Task::new(parts(run, "standard input".into(), source, None)))
}

/// A task for one block of a file. It needs no name: what goes wrong with it is sent to the other host, which knows its
/// path.
fn task(run: &MoverRun<'_>, given: &GivenFile, at: u64, len: u32) -> Arc<Task> {
    let (handle, align_bytes) = given.take_for_block(at, len);
    let handle = Arc::clone(handle);
    // A direct request leaves nothing in the cache anyway.
    let uncached = run.settings.options.tuning.uncached && align_bytes == 1;
    let flags = TransferFlags { uncached, durable: false };
    let source = Source::File(FileEnd { handle, align_bytes, buffered: None, flags, skips_zeros: false });
    Arc::new(Task::new(parts(run, PathBuf::new(), source, Some(vec![(at, at + u64::from(len))]))))
}

fn parts(run: &MoverRun<'_>, name: PathBuf, source: Source, ranges: Option<ByteRanges>) -> Parts {
    let names = (name.clone(), name);
    Parts { ranges, ..Parts::bare(run.next_number(), names, source, Sink::RemoteHost, Finish::Nothing) }
}
