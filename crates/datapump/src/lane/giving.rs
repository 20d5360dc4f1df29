//! The lane of the side that reads: blocks that another host asks for are its plan, and are sent in that order.
//!
//! Each asking becomes a task of one block; the loop reads them with its depth and sends them in order. What is not a
//! block is answered in its turn.
//!
//! Must not know: who asks, why.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datapump_core::wire::ask::{Answer, Ask, Fault};
use datapump_core::wire::bounds::{ErrorNumber, FileSize};
use datapump_core::wire::{decode, encode};
use datapump_core::{Extent, FileGoal, FileLife, Length, Way};
use datapump_transport::{Channel, Digest, NetFault};

use crate::end::{FileEnd, Sink, Source};
use crate::net::owners::Telling;
use crate::net::shelf::{Flow, Given, Shelf, Taken};
use crate::plan::Claim;
use crate::run::{Shared, Work};
use crate::task::{Finish, Parts, Task};
use datapump_files::holes::Ranges;

const EINVAL: ErrorNumber = ErrorNumber(22);
const EMFILE: ErrorNumber = ErrorNumber(24);
/// Askings that are taken before the first of them is answered; honest ones are a quarter of it. The others stay in the
/// connection.
const ASKED_MAX: usize = 64;
/// Pipes, and null, that are read over one connection.
const FLOWS_MAX: usize = 256;

/// What another host asks for over one connection.
pub(super) struct Giving {
    channel: Channel,
    shelf: Arc<Shelf>,
    asked: VecDeque<Asked>,
    flows: Vec<Flowing>,
    owners: Telling,
    /// Nothing more will be asked for.
    is_over: bool,
}

/// A pipe, or null, that is read on and on: one task.
struct Flowing {
    /// What the other host calls it.
    file: u64,
    task: Arc<Task>,
    /// What is answered from now on: it has ended, or failed.
    over: Option<Answer>,
}

struct Asked {
    number: u64,
    state: State,
}

enum State {
    /// The task of this number reads so many bytes; with what is said before the block.
    Reading { task: u32, len: u32, head: Option<Box<Answer>>, small: Option<Arc<Given>> },
    /// It can be answered when its turn comes.
    Ready(Box<Answer>),
    /// What is no block is looked at when its turn comes: answers are made only to be sent.
    Waiting(Box<Ask>),
}

impl Giving {
    pub(super) fn new(channel: Channel, shelf: Arc<Shelf>) -> Giving {
        let (asked, flows, owners) = (VecDeque::new(), Vec::new(), Telling::default());
        Giving { channel, shelf, asked, flows, owners, is_over: false }
    }

    /// What was asked for next, if something was.
    pub(super) fn claim(&mut self, shared: &Shared<'_>) -> Result<Claim<Work>, NetFault> {
        while !self.is_over && self.asked.len() < ASKED_MAX {
            let received = match self.channel.has_come() {
                Ok(false) => break,
                Ok(true) => self.channel.receive_request(),
                Err(fault) => Err(fault),
            };
            let (body, number) = match received {
                // Who has all it wanted hangs up.
                Err(NetFault::Lost(_)) if self.asked.is_empty() => {
                    self.is_over = true;
                    break;
                }
                received => received?,
            };
            if let Some((task, extent)) = self.take_up(shared, decode(&body)?, number) {
                return Ok(Claim::Piece(task, extent));
            }
            self.answer_ready()?;
        }
        Ok(if self.is_over { Claim::Never } else { Claim::NotYet })
    }

    /// The connection.
    pub(super) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The connection is lost.
    pub(super) fn hang_up(&mut self) {
        self.is_over = true;
        self.asked.clear();
    }

    /// Sends what was put: nothing more comes to it for now.
    pub(super) fn flush(&mut self) -> Result<(), NetFault> {
        self.channel.flush()
    }

    /// Waits until something may have been asked for.
    pub(super) fn wait(&mut self, patience: Duration) -> Result<(), NetFault> {
        self.channel.flush()?;
        self.channel.line_check()?;
        self.channel.has_input(patience).map(|_| ())
    }

    fn take_up(&mut self, shared: &Shared<'_>, ask: Ask, number: u64) -> Option<(Arc<Task>, Extent)> {
        let taken = match ask {
            Ask::Read { file, at: FileSize(at), len } => match self.shelf.file(file) {
                Ok(Taken::Flow(flow)) => {
                    return self.take_flow(shared, (file, &flow), (at, len), number);
                }
                Ok(Taken::File(given)) => Ok((None, Some((given, at, len)))),
                Err(fault) => Err(fault),
            },
            Ask::Fetch { above, name, len } => self
                .shelf
                .fetch(above, &name, len)
                .map(|(answer, given)| (Some(answer), given.map(|given| (Arc::new(given), 0, len)))),
            ask => {
                self.asked.push_back(Asked { number, state: State::Waiting(Box::new(ask)) });
                return None;
            }
        };
        let most = shared.settings.shape.request_bytes;
        let state = match taken {
            Err(fault) => State::Ready(Box::new(Answer::Fault(fault))),
            Ok((Some(answer), Some((_, _, 0)) | None)) => State::Ready(Box::new(answer)),
            Ok((_, Some((given, at, len)))) if len > most || !is_wanted(at, len, given.meta.size_bytes) => {
                State::Ready(Box::new(unwanted()))
            }
            Ok((None, None)) => State::Ready(Box::new(unwanted())),
            Ok((head, Some((given, at, len)))) => {
                let task = task(shared, &given, at, len);
                let small = head.is_some().then_some(given);
                let state = State::Reading { task: task.number, len, head: head.map(Box::new), small };
                self.asked.push_back(Asked { number, state });
                let extent =
                    Extent { file: task.number, at, length: Length::Bytes(len.into()), way: Way::Slots };
                return Some((task, extent));
            }
        };
        self.asked.push_back(Asked { number, state });
        None
    }

    /// The next bytes of a pipe, or of null; what is over is answered at once.
    fn take_flow(
        &mut self,
        shared: &Shared<'_>,
        (file, flow): (u64, &Flow),
        (at, len): (u64, u32),
        number: u64,
    ) -> Option<(Arc<Task>, Extent)> {
        if !self.flows.iter().any(|flowing| flowing.file == file) {
            if self.flows.len() == FLOWS_MAX {
                let answer = Answer::Fault(Fault { errno: Some(EMFILE), ..unwanted_fault() });
                self.asked.push_back(Asked { number, state: State::Ready(Box::new(answer)) });
                return None;
            }
            self.flows.push(Flowing { file, task: flow_task(shared, flow), over: None });
        }
        let flowing = self.flows.iter().find(|flowing| flowing.file == file).expect("it was just made");
        let len = len.min(shared.settings.shape.request_bytes);
        let over = match &flowing.over {
            None if !is_wanted(at, len, u64::MAX) => Some(unwanted()),
            over => over.clone(),
        };
        if let Some(over) = over {
            self.asked.push_back(Asked { number, state: State::Ready(Box::new(over)) });
            return None;
        }
        let length = match flow {
            Flow::Stream(_) => Length::UpTo(len.into()),
            Flow::Null { .. } => Length::Bytes(len.into()),
        };
        let task = Arc::clone(&flowing.task);
        let state = State::Reading { task: task.number, len, head: None, small: None };
        self.asked.push_back(Asked { number, state });
        Some((Arc::clone(&task), Extent { file: task.number, at, length, way: Way::Slots }))
    }

    /// What is answered from now on to who asks more of a flow. Files are asked for by blocks, each for itself.
    fn flow_is_over(&mut self, task: u32, answer: &Answer) {
        if let Some(flowing) = self.flows.iter_mut().find(|flowing| flowing.task.number == task) {
            flowing.over = Some(answer.clone());
        }
    }

    /// A pipe has ended: nothing is left for the first that was asked of it.
    pub(super) fn end(&mut self, task: u32) -> Result<(), NetFault> {
        self.ready(task, Answer::End)
    }

    /// Sends a block that was read, and whatever can be said behind it.
    pub(super) fn send(&mut self, task: u32, bytes: &[u8], digest: &Digest) -> Result<(), NetFault> {
        self.answer_ready()?;
        let Some(Asked { number, state: State::Reading { task: first, len, head, small } }) =
            self.asked.pop_front()
        else {
            return Err(NetFault::Protocol("a block that nobody asked for was read".into()));
        };
        debug_assert_eq!(first, task, "blocks are sent as they were asked for");
        if small.is_some_and(|given| !given.stood_still()) {
            self.put(Answer::Fault(changed()), number)?;
        } else {
            head.map_or(Ok(()), |head| self.put(*head, number))?;
            self.channel.put_block(bytes, digest, number)?;
            if bytes.len() < len as usize {
                self.flow_is_over(task, &Answer::End);
            }
        }
        self.answer_ready()
    }

    /// A block could not be read.
    pub(super) fn fail(&mut self, task: u32, fault: Fault) -> Result<(), NetFault> {
        self.ready(task, Answer::Fault(fault))
    }

    fn ready(&mut self, task: u32, answer: Answer) -> Result<(), NetFault> {
        self.flow_is_over(task, &answer);
        let is_it =
            |asked: &&mut Asked| matches!(asked.state, State::Reading { task: number, .. } if number == task);
        if let Some(asked) = self.asked.iter_mut().find(is_it) {
            asked.state = State::Ready(Box::new(answer));
        }
        self.answer_ready()
    }

    /// Says what can be said before a block comes whose turn it is. Sent before the next wait.
    fn answer_ready(&mut self) -> Result<(), NetFault> {
        while let Some(Asked { number, state }) =
            self.asked.pop_front_if(|asked| !matches!(asked.state, State::Reading { .. }))
        {
            match state {
                State::Ready(answer) => self.put(*answer, number)?,
                State::Waiting(ask) => {
                    let shelf = Arc::clone(&self.shelf);
                    shelf.answer(*ask, &mut |answer| self.put(answer, number))?;
                }
                State::Reading { .. } => unreachable!("it was looked at above"),
            }
        }
        Ok(())
    }

    fn put(&mut self, answer: Answer, number: u64) -> Result<(), NetFault> {
        let Giving { channel, shelf, owners, .. } = self;
        let put = &mut |answer| channel.put_message(&encode(&answer), number);
        owners.tell(answer, &shelf.own_names, put)
    }
}

/// Whether an honest peer asks for that: something that is there, and that begins where BLAKE3's chunks do.
fn is_wanted(at: u64, len: u32, size_bytes: u64) -> bool {
    let ends = at.checked_add(len.into());
    len > 0 && at.is_multiple_of(1024) && ends.is_some_and(|end| end <= size_bytes)
}

fn unwanted() -> Answer {
    Answer::Fault(unwanted_fault())
}

fn unwanted_fault() -> Fault {
    Fault { operation: "read".into(), errno: Some(EINVAL), words: None, class: None }
}

fn changed() -> Fault {
    let words = Some("changed while it was read; copy again when the source is quiet".into());
    Fault { operation: "read".into(), errno: None, words, class: None }
}

/// A pipe, or null.
fn flow_task(shared: &Shared<'_>, flow: &Flow) -> Arc<Task> {
    let source = match flow {
        Flow::Stream(handle) => Source::Stream(Arc::clone(handle)),
        Flow::Null { .. } => Source::Null,
    };
    Arc::new(Task::new(parts(shared, "standard input".into(), source, None)))
}

/// One block of a file. It needs no name: what goes wrong with it is told to the other host, which knows its path.
fn task(shared: &Shared<'_>, given: &Given, at: u64, len: u32) -> Arc<Task> {
    let align_bytes = if at.is_multiple_of(given.align_bytes.into()) { given.align_bytes } else { 1 };
    let handle = Arc::clone(if align_bytes > 1 { &given.handle } else { given.buffered() });
    let source = Source::File(FileEnd { handle, align_bytes, buffered: None });
    Arc::new(Task::new(parts(shared, PathBuf::new(), source, Some(vec![(at, at + u64::from(len))]))))
}

fn parts(shared: &Shared<'_>, name: PathBuf, source: Source, ranges: Option<Ranges>) -> Parts {
    Parts {
        number: shared.next_number(),
        names: (name.clone(), name),
        source,
        sink: Sink::Far,
        original: None,
        finish: Finish::Nothing,
        hash: None,
        verify: false,
        ranges,
        leaf: None,
        life: FileLife::opened(),
        goal: FileGoal::NOTHING,
    }
}
