//! All connections of a session as streams through one pipe, as ssh alone carries them: the frames, the credit and the
//! bounds are those of the protocol, and no thread is part of it.
//!
//! Must not know: what the streams carry.

use std::collections::{BTreeMap, VecDeque};
use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_core::wire::streams::{DATA_BYTES_MAX, HEAD_BYTES, StreamFlow, StreamHead, StreamKind};
use datapump_engine::{Link, Until};

use super::*;

/// The pipe of a session.
#[derive(Clone)]
pub(super) struct SteppedSsh {
    net: SimNet,
    ends: Arc<Mutex<[PipeEnd; 2]>>,
}

/// One end of the pipe, with its streams by their numbers.
struct PipeEnd {
    pipe: Link,
    came: VecDeque<u8>,
    streams: BTreeMap<u32, PipeStream>,
}

struct PipeStream {
    /// `None` once it is closed.
    user: Option<Link>,
    flow: StreamFlow,
}

impl SteppedSsh {
    pub(super) fn new(net: &SimNet) -> SteppedSsh {
        let (one, other) = net.pair();
        let ends = [one, other].map(|pipe| PipeEnd {
            pipe: Link::Sim(pipe),
            came: VecDeque::new(),
            streams: BTreeMap::new(),
        });
        let ssh = SteppedSsh { net: net.clone(), ends: Arc::new(Mutex::new(ends)) };
        let moving = ssh.clone();
        go_on_meanwhile(move || moving.ends().iter_mut().fold(false, |went, end| end.step() | went));
        ssh
    }

    fn ends(&self) -> MutexGuard<'_, [PipeEnd; 2]> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream, by its two ends.
    pub(super) fn connection(&self) -> Result<[Channel; 2], NetFault> {
        let mut users = Vec::new();
        for end in self.ends().iter_mut() {
            let (user, served) = self.net.local_pair();
            let number = end.streams.len() as u32 + 1;
            end.streams
                .insert(number, PipeStream { user: Some(Link::Sim(served)), flow: StreamFlow::default() });
            users.push(open(user, CancelToken::default())?);
        }
        Ok(users.try_into().unwrap_or_else(|_| unreachable!("there are two ends")))
    }
}

impl PipeEnd {
    /// Bytes of users are written to the pipe, as there is credit, and received ones move on. Whether anything did.
    fn step(&mut self) -> bool {
        let mut went = false;
        for (number, stream) in &mut self.streams {
            let mut bytes = vec![0; DATA_BYTES_MAX as usize];
            while let Some(user) = &mut stream.user
                && stream.flow.may_send() > 0
                && user.has_input(None, Duration::ZERO).unwrap_or(true)
            {
                went = true;
                let room = &mut bytes[..stream.flow.may_send() as usize];
                let Ok(len @ 1..) = user.receive(room, Until::Now) else {
                    put(&mut self.pipe, StreamKind::End, *number, &[]);
                    stream.user = None;
                    break;
                };
                stream.flow.send(len as u32);
                put(&mut self.pipe, StreamKind::Data(len as u32), *number, &bytes[..len]);
            }
        }
        went | self.receive()
    }

    /// Bytes received through the pipe move on.
    fn receive(&mut self) -> bool {
        let mut bytes = vec![0; 1 << 20];
        let Ok(len @ 1..) = self.pipe.receive(&mut bytes, Until::Now) else { return false };
        self.came.extend(&bytes[..len]);
        while let Some((StreamHead { kind, stream: number }, body)) = self.next_frame() {
            let stream = self.streams.get_mut(&number).expect("both ends open a stream at once");
            match kind {
                StreamKind::Data(len) => {
                    stream.flow.handle_data(len).expect("no more than there is credit for");
                    // A user who is gone has no use for it.
                    stream.user.iter_mut().for_each(|user| drop(user.send(&[IoSlice::new(&body)])));
                    if let Some(credit) = stream.flow.take(len) {
                        put(&mut self.pipe, StreamKind::Credit(credit), number, &[]);
                    }
                }
                StreamKind::Credit(bytes) => drop(stream.flow.handle_credit(bytes)),
                StreamKind::End => stream.user = None,
                StreamKind::Open => unreachable!("both ends open a stream at once"),
            }
        }
        true
    }

    fn next_frame(&mut self) -> Option<(StreamHead, Vec<u8>)> {
        let head: Vec<u8> = self.came.iter().take(HEAD_BYTES).copied().collect();
        let head = StreamHead::decode(&head.try_into().ok()?).expect("a frame");
        let len = if let StreamKind::Data(len) = head.kind { len as usize } else { 0 };
        if self.came.len() < HEAD_BYTES + len {
            return None;
        }
        self.came.drain(..HEAD_BYTES);
        Some((head, self.came.drain(..len).collect()))
    }
}

fn put(pipe: &mut Link, kind: StreamKind, stream: u32, bytes: &[u8]) {
    // A pipe that is gone is seen by whoever reads from it.
    let _ = pipe.send(&[IoSlice::new(&StreamHead { kind, stream }.encode()), IoSlice::new(bytes)]);
}
