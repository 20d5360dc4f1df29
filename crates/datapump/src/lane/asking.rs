//! The lane of the side that writes: its blocks are asked for at another host and received into its slots.
//!
//! Requests are put on the connection as they are posted and answered in that order. A block is checked against the
//! digest that was taken where it was read; a damaged one is asked for again, alone.
//!
//! Must not know: names, what becomes of a block that was received.

use std::collections::VecDeque;
use std::sync::Arc;

use datapump_core::wire::ask::{Answer, Fault};
use datapump_core::wire::frame::{Head, Kind};
use datapump_core::wire::{WireError, decode, encode};
use datapump_core::{Block, Request, Settled};
use datapump_engine::{Engine, Errno, Slot, Stage, meter::within};
use datapump_transport::{Carried, Channel, Digest, NetFault};

use crate::budget::OverBudget;
use crate::end::Source;
use crate::hash::BlockHash;
use crate::net::convert::heard;
use crate::net::far::{FarFile, LONG_BYTES, named};
use crate::net::refusal::{over_budget, problem_of};
use crate::net::weight;
use crate::problem::{Class, Problem};
use crate::task::Task;

/// How often a block is asked for that comes damaged.
const TRIES_MAX: u32 = 4;
/// Attributes of a small file that its slot outweighs.
const UNCHARGED_BYTES: usize = 4 << 10;

/// So many askings for small files are sent together while answers are here to work on: each time the other side is
/// woken costs as much as a small file's block.
const SENT_TOGETHER: u32 = 6;

/// Blocks that were asked for.
pub(super) struct Asking {
    channel: Channel,
    /// Its name, as the user knows it.
    host: String,
    /// Blocks are checked against the digest that comes with them.
    is_hashed: bool,
    asked: VecDeque<Asked>,
    number: u64,
    /// Askings that were put and not sent; any that is not for a small file counts as many.
    unsent: u32,
    /// Of blocks that had to be asked for again.
    again_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    request: Request,
    number: u64,
    tries: u32,
}

/// What came.
pub(super) enum Came {
    /// A request has ended.
    Ended(Request, Settled, Option<BlockHash>),
    /// A block was damaged and is asked for again.
    Again,
}

impl Asking {
    pub(super) fn new(channel: Channel, host: &str, is_hashed: bool) -> Asking {
        let host = host.to_owned();
        Asking { channel, host, is_hashed, asked: VecDeque::new(), number: 0, unsent: 0, again_bytes: 0 }
    }

    /// What its connection did.
    pub(super) fn carried(&self) -> Carried {
        Carried { again_bytes: self.again_bytes, ..self.channel.carried() }
    }

    /// The connection.
    pub(super) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Whether answers are still to come.
    pub(super) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether something of the next answer is here.
    pub(super) fn has_come(&mut self) -> bool {
        // What is wrong with the connection is told by who receives.
        self.send_together().is_err() || self.channel.has_come().unwrap_or(true)
    }

    /// Sends what was put, or keeps it for a while if there is something to work on: what is here belongs to an asking
    /// that was sent, so that nobody waits for what is kept.
    fn send_together(&mut self) -> Result<(), NetFault> {
        if self.unsent < SENT_TOGETHER && self.channel.has_buffered() {
            return Ok(());
        }
        self.unsent = 0;
        self.channel.flush()
    }

    /// Asks for a block, sooner or later.
    pub(super) fn ask(&mut self, request: Request, file: &FarFile, tries: u32) -> Result<(), NetFault> {
        self.number += 1;
        let Request { block, done, .. } = request;
        let ask = file.asking(block.at + u64::from(done), block.len - done);
        self.channel.put_message(&encode(&ask), self.number)?;
        self.unsent += if matches!(file, FarFile::Small(_)) { 1 } else { SENT_TOGETHER };
        self.asked.push_back(Asked { request, number: self.number, tries });
        Ok(())
    }

    /// Waits for the next answer.
    pub(super) fn receive(
        &mut self,
        engine: &mut Engine,
        task: impl Fn(&Request) -> Arc<Task>,
    ) -> Result<Came, NetFault> {
        self.send_together()?;
        // It stays in the queue until it has ended: a connection that is lost takes all with it that are there.
        let asked = *self.asked.front().expect("something was asked for");
        let task = task(&asked.request);
        let Source::Far(file) = &task.source else { unreachable!("it was asked for at another host") };
        let failed = |problem: Problem| {
            let _ = task.trouble.set(problem);
            Ok(Came::Ended(asked.request, Settled::Failed(Errno::EIO.0), None))
        };
        let (mut head, mut over) = (self.answer(asked)?, None);
        if head.kind == Kind::Message {
            let body = self.channel.receive_body(head)?;
            let answer = read(file, &body)?;
            if answer == Answer::End && matches!(**file, FarFile::Stream(_)) {
                self.asked.pop_front();
                return Ok(Came::Ended(asked.request, Settled::EndOfData, None));
            }
            match before_block(file, answer, asked.request.block.len)? {
                Before::Nothing(fault) => {
                    self.asked.pop_front();
                    let problem = problem_of(&fault, &task.source_name).on(&self.host);
                    return failed(if task.leaf.is_some() { problem.vanished() } else { problem });
                }
                Before::Block => {}
                Before::Over(refusal) => over = Some(over_budget(refusal, &task.source_name)),
            }
            head = self.answer(asked)?;
        }
        let (hash, digest) = self.block(engine, head, &asked.request, file)?;
        self.asked.pop_front();
        if let Some(problem) = over {
            return failed(problem);
        }
        if hash.as_ref().is_none_or(|hash| hash.digest() == digest) {
            return Ok(Came::Ended(asked.request, Settled::Moved(head.len), hash));
        }
        self.again_bytes += u64::from(head.len);
        // What was taken out of a pipe is not there a second time.
        match asked.tries < TRIES_MAX && !matches!(**file, FarFile::Stream(_)) {
            true => self.ask(asked.request, file, asked.tries + 1).map(|()| Came::Again),
            false => failed(damaged(&task, asked.request.block.at)),
        }
    }

    fn answer(&mut self, asked: Asked) -> Result<Head, NetFault> {
        let head = self.channel.receive_head()?;
        match head.number == asked.number {
            true => Ok(head),
            false => Err(WireError::Unexpected("an answer that nobody asked for").into()),
        }
    }

    fn block(
        &mut self,
        engine: &mut Engine,
        head: Head,
        request: &Request,
        file: &FarFile,
    ) -> Result<(Option<BlockHash>, Digest), NetFault> {
        let block = Block { len: head.len, ..request.block };
        // The last block of a pipe may be shorter.
        let is_last = matches!(file, FarFile::Stream(_)) && head.len > 0 && head.len < request.block.len;
        let fits = head.len == request.block.len || is_last;
        if head.kind != Kind::Block || !fits || request.done > 0 {
            return Err(WireError::Unexpected("another block than was asked for").into());
        }
        let (mut digest, bytes) = ([0; 32], &mut engine.bytes_mut(Slot(request.slot))[..block.len as usize]);
        self.channel.receive(&mut digest)?;
        self.channel.receive(bytes)?;
        let _stage = within(Stage::Hash);
        Ok((self.is_hashed.then(|| BlockHash::of(block, bytes)), digest))
    }

    /// The connection is lost: what was asked for will not come.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = Request> + use<> {
        std::mem::take(&mut self.asked).into_iter().map(|asked| asked.request)
    }
}

fn read(file: &FarFile, body: &[u8]) -> Result<Answer, WireError> {
    match file {
        FarFile::Small(small) => small.folder.far.read(body),
        _ if body.len() > LONG_BYTES => Err(WireError::Unexpected("so long a message")),
        FarFile::Open(_) | FarFile::Stream(_) => decode(body),
    }
}

/// What a message before a block means.
enum Before {
    /// No block comes.
    Nothing(Fault),
    Block,
    /// A block comes, of a file whose attributes are more than this side may hold.
    Over(OverBudget),
}

fn before_block(file: &FarFile, answer: Answer, len: u32) -> Result<Before, NetFault> {
    match (answer, file) {
        (Answer::Fault(fault), _) => Ok(Before::Nothing(fault)),
        (Answer::File { meta, .. }, FarFile::Small(_)) if meta.size_bytes.0 != u64::from(len) => {
            let words =
                Some("changed its length after it was listed; copy again when the source is quiet".into());
            Ok(Before::Nothing(Fault { operation: "read".into(), errno: None, words, class: None }))
        }
        (Answer::File { meta, attributes, .. }, FarFile::Small(small)) => {
            let bytes = weight::of_attributes(&attributes);
            if bytes > UNCHARGED_BYTES {
                match small.folder.far.charge(bytes) {
                    Ok(charge) => drop(small.charge.set(charge)),
                    Err(over) => return Ok(Before::Over(over)),
                }
            }
            let _ = small.told.set((heard(&meta), named(attributes)));
            Ok(Before::Block)
        }
        _ => Err(WireError::Unexpected("another answer than was asked for").into()),
    }
}

fn damaged(task: &Task, at: u64) -> Problem {
    let words = format!(
        "came damaged over the network {TRIES_MAX} times; check the memory of both hosts, then copy again"
    );
    Problem::new(Class::Mismatch, "receive", &task.source_name, words).at(at)
}
