//! Several streams over one pipe in each direction, where the two hosts cannot call each other: the far end's input and
//! output, which ssh carries. Each stream is shown to the rest as one end of a pair of sockets.
//!
//! A stream has two threads, one for each direction, which wait for nothing but their own stream and the pipe. The
//! reader of the pipe never waits for a stream: what may come is bounded by the credit that was given.
//!
//! Must not know: ssh, sessions, what the streams carry.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use datapump_core::wire::WireError;
use datapump_core::wire::streams::{
    DATA_BYTES_MAX, HEAD_BYTES, STREAMS_MAX, StreamFlow, StreamHead, StreamKind,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::fault::NetFault;

/// A wait looks up as often.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// One end of the pipe, with its streams.
pub struct SshMux {
    /// Nothing more goes out once it is taken away.
    output: Mutex<Option<File>>,
    /// Held while a stream is opened: its frame goes out before the next one is opened.
    opening: Mutex<()>,
    streams: Mutex<Streams>,
    /// A stream was closed.
    closed: Condvar,
    is_over: AtomicBool,
}

#[derive(Default)]
struct Streams {
    open: BTreeMap<u32, Arc<Stream>>,
    /// The number of the last that was opened.
    last: u32,
}

struct Stream {
    number: u32,
    socket: UnixStream,
    state: Mutex<MuxState>,
    changed: Condvar,
}

#[derive(Default)]
struct MuxState {
    flow: StreamFlow,
    /// What came and was not taken yet: at most a window.
    came: VecDeque<Vec<u8>>,
    /// Nothing more comes, and nothing is wanted.
    is_ended: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn io(operation: &str) -> impl Fn(std::io::Error) -> NetFault {
    move |error| NetFault::of_io(operation, &error)
}

impl SshMux {
    /// Sends into this pipe.
    pub fn new(output: File) -> Arc<SshMux> {
        Arc::new(SshMux {
            output: Mutex::new(Some(output)),
            opening: Mutex::default(),
            streams: Mutex::default(),
            closed: Condvar::new(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Opens a stream.
    pub(crate) fn open(self: &Arc<SshMux>) -> Result<UnixStream, NetFault> {
        let _turn = locked(&self.opening);
        let number = locked(&self.streams).last + 1;
        let socket = self.start(number, true)?;
        // Nobody reads the pipe any more: nobody would tell this stream either.
        if self.is_over.load(Ordering::Relaxed) {
            Err(NetFault::Lost("ssh has ended".into()))
        } else {
            Ok(socket)
        }
    }

    /// Makes a stream and gives the end for who uses it. The other side is told before anything can be sent.
    fn start(self: &Arc<SshMux>, number: u32, tells: bool) -> Result<UnixStream, NetFault> {
        let (socket, user) = UnixStream::pair().map_err(io("make a pair of sockets"))?;
        let (state, changed) = (Mutex::default(), Condvar::new());
        let stream = Arc::new(Stream { number, socket, state, changed });
        {
            let mut streams = locked(&self.streams);
            if number != streams.last + 1 || streams.open.len() >= STREAMS_MAX {
                return Err(WireError::Unexpected("a stream too many, or out of turn").into());
            }
            streams.last = number;
            streams.open.insert(number, Arc::clone(&stream));
        }
        if tells {
            self.say(StreamKind::Open, number)?;
        }
        let (ssh_mux, served) = (Arc::clone(self), Arc::clone(&stream));
        let spawned = Builder::new().spawn(move || ssh_mux.give(&served));
        spawned.map_err(io("start a thread"))?;
        let ssh_mux = Arc::clone(self);
        Builder::new().spawn(move || ssh_mux.take(&stream)).map_err(io("start a thread"))?;
        Ok(user)
    }

    fn say(&self, kind: StreamKind, stream: u32) -> Result<(), NetFault> {
        self.send(&StreamHead { kind, stream }.encode())
    }

    /// Sends a whole frame.
    fn send(&self, frame: &[u8]) -> Result<(), NetFault> {
        match &mut *locked(&self.output) {
            Some(output) => output.write_all(frame).map_err(io("send")),
            None => Err(NetFault::Lost("ssh has ended".into())),
        }
    }

    /// What the user of a stream says goes into the pipe, as there is credit.
    fn give(&self, stream: &Stream) {
        let mut frame = vec![0; HEAD_BYTES + DATA_BYTES_MAX as usize];
        while let Some(most) = stream.credit() {
            let Ok(len @ 1..) = read(&stream.socket, &mut frame[HEAD_BYTES..HEAD_BYTES + most as usize])
            else {
                break;
            };
            locked(&stream.state).flow.send(len as u32);
            let head = StreamHead { kind: StreamKind::Data(len as u32), stream: stream.number };
            frame[..HEAD_BYTES].copy_from_slice(&head.encode());
            if self.send(&frame[..HEAD_BYTES + len]).is_err() {
                break;
            }
        }
        let _ = self.say(StreamKind::End, stream.number);
        stream.end();
        locked(&self.streams).open.remove(&stream.number);
        self.closed.notify_all();
    }

    /// What came for a stream goes to its user, and credit for it goes back.
    fn take(&self, stream: &Stream) {
        while let Some(bytes) = stream.next() {
            // A user who is gone has no use for it.
            let _ = (&stream.socket).write_all(&bytes);
            let credit = locked(&stream.state).flow.take(bytes.len() as u32);
            if let Some(credit) = credit {
                let _ = self.say(StreamKind::Credit(credit), stream.number);
            }
        }
        let _ = stream.socket.shutdown(Shutdown::Both);
    }

    /// Reads the pipe until it ends, or this end does; `accept` gets the streams that the other side opens, unless only
    /// this side opens any.
    pub fn receive(
        self: &Arc<SshMux>,
        early: &[u8],
        input: File,
        accept: Option<&mut dyn FnMut(UnixStream)>,
    ) -> Result<(), NetFault> {
        let mut input = Input { early: early.to_vec().into(), file: input, is_over: &self.is_over };
        let received = self.receive_frames(&mut input, accept);
        self.is_over.store(true, Ordering::Relaxed);
        locked(&self.streams).open.values().for_each(|stream| stream.end());
        received
    }

    fn receive_frames(
        self: &Arc<SshMux>,
        input: &mut Input<'_>,
        mut accept: Option<&mut dyn FnMut(UnixStream)>,
    ) -> Result<(), NetFault> {
        let mut head = [0; HEAD_BYTES];
        while input.fill(&mut head)? {
            let StreamHead { kind, stream: number } = StreamHead::decode(&head)?;
            let mut bytes = Vec::new();
            if let StreamKind::Data(len) = kind {
                bytes.resize(len as usize, 0);
                if !input.fill(&mut bytes)? {
                    break;
                }
            }
            let (stream, last) = {
                let streams = locked(&self.streams);
                (streams.open.get(&number).cloned(), streams.last)
            };
            match (stream, kind, &mut accept) {
                (None, StreamKind::Open, Some(accept)) => accept(self.start(number, false)?),
                (_, StreamKind::Open, _) => {
                    return Err(WireError::Unexpected("a stream that was not asked for").into());
                }
                (Some(stream), kind, _) => stream.handle(kind, bytes)?,
                // It was on its way when the stream was closed here.
                (None, _, _) if number <= last => {}
                (None, _, _) => return Err(WireError::Unexpected("bytes of no stream").into()),
            }
        }
        Ok(())
    }

    /// Waits until everything was sent that users of streams have said, and they have closed them; then ends the pipe.
    pub fn finish(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut streams = locked(&self.streams);
        while !streams.open.is_empty() && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            streams = self.closed.wait_timeout(streams, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(streams);
        self.is_over.store(true, Ordering::Relaxed);
        // Its holder sends a frame; for longer only if the pipe is full, and then whoever ends ssh frees it.
        let deadline = Instant::now() + POLL_INTERVAL;
        while self.output.try_lock().map(|mut output| output.take()).is_err() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }
}

impl Stream {
    /// Waits until something may be sent; nothing once the stream is closed.
    fn credit(&self) -> Option<u32> {
        let mut state = locked(&self.state);
        while state.flow.may_send() == 0 && !state.is_ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.is_ended).then(|| state.flow.may_send())
    }

    /// Waits for the next that came; nothing once the stream is closed.
    fn next(&self) -> Option<Vec<u8>> {
        let mut state = locked(&self.state);
        while state.came.is_empty() && !state.is_ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.came.pop_front()
    }

    fn handle(&self, kind: StreamKind, bytes: Vec<u8>) -> Result<(), NetFault> {
        let mut state = locked(&self.state);
        match kind {
            StreamKind::Data(len) => {
                state.flow.handle_data(len)?;
                state.came.push_back(bytes);
            }
            StreamKind::Credit(bytes) => state.flow.handle_credit(bytes)?,
            StreamKind::End | StreamKind::Open => state.is_ended = true,
        }
        self.changed.notify_all();
        Ok(())
    }

    fn end(&self) {
        locked(&self.state).is_ended = true;
        self.changed.notify_all();
    }
}

fn read(mut socket: &UnixStream, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match socket.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// What comes out of the pipe.
struct Input<'ssh_mux> {
    early: VecDeque<u8>,
    file: File,
    is_over: &'ssh_mux AtomicBool,
}

impl Input<'_> {
    /// Fills `bytes`, or says that nothing more comes.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, NetFault> {
        let mut at = 0;
        while at < bytes.len() {
            if let Some(byte) = self.early.pop_front() {
                bytes[at] = byte;
                at += 1;
                continue;
            }
            match wait_and_read(&mut self.file, &mut bytes[at..])? {
                Some(0) => return Ok(false),
                Some(len) => at += len,
                None if self.is_over.load(Ordering::Relaxed) => return Ok(false),
                None => {}
            }
        }
        Ok(true)
    }
}

/// Reads what comes soon; zero bytes are the end.
pub(crate) fn wait_and_read(file: &mut File, bytes: &mut [u8]) -> Result<Option<usize>, NetFault> {
    let patience = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
    let mut fds = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)];
    match poll(&mut fds, Some(&patience)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(errno) => return Err(NetFault::of_io("wait for ssh", &errno.into())),
    }
    match file.read(bytes) {
        Ok(len) => Ok(Some(len)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(NetFault::of_io("receive", &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::pipe;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    /// What has not come by then never will: a guard for the suite.
    const HANGS_AFTER: Duration = Duration::from_secs(60);

    fn bounded(stream: UnixStream) -> UnixStream {
        stream.set_read_timeout(Some(HANGS_AFTER)).expect("a time");
        stream.set_write_timeout(Some(HANGS_AFTER)).expect("a time");
        stream
    }

    /// Two ends of a pipe; what the caller opens comes out of the receiver.
    fn pair() -> (Arc<SshMux>, Arc<SshMux>, mpsc::Receiver<UnixStream>) {
        let file = |end: OwnedFd| File::from(end);
        let ((there_out, there_in), (back_out, back_in)) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        let caller = SshMux::new(file(there_in.into()));
        let called = SshMux::new(file(back_in.into()));
        let (sender, receiver) = mpsc::channel();
        let (one, other) = (Arc::clone(&caller), Arc::clone(&called));
        std::thread::spawn(move || one.receive(&[], file(back_out.into()), None));
        std::thread::spawn(move || {
            let mut accept = |stream| sender.send(bounded(stream)).expect("the test waits");
            other.receive(&[], file(there_out.into()), Some(&mut accept))
        });
        (caller, called, receiver)
    }

    fn noise(bytes: usize, seed: u8) -> Vec<u8> {
        (0..bytes).map(|at| (at * 31 + at / 251) as u8 ^ seed).collect()
    }

    #[test]
    fn a_stream_that_nobody_reads_holds_up_no_other() {
        let (caller, _called, streams) = pair();
        let stuck = bounded(caller.open().expect("a stream"));
        let stuck_there = streams.recv().expect("it is opened");
        let full = noise(8 << 20, 1);
        let filling = std::thread::spawn({
            let (mut stuck, full) = (stuck.try_clone().expect("an open file"), full.clone());
            move || stuck.write_all(&full)
        });
        for seed in 2..6 {
            let mut here = bounded(caller.open().expect("a stream"));
            let mut there = streams.recv().expect("it is opened");
            let sent = noise(5 << 20, seed);
            let writing = std::thread::spawn({
                let sent = sent.clone();
                move || {
                    there.write_all(&sent).expect("it is read");
                    let mut answer = Vec::new();
                    there.read_to_end(&mut answer).map(|_| answer)
                }
            });
            let mut came = vec![0; sent.len()];
            here.read_exact(&mut came).expect("it comes");
            assert!(came == sent, "stream {seed}");
            here.write_all(b"thanks").expect("it is taken");
            drop(here);
            assert_eq!(writing.join().expect("no panic").expect("it was closed"), b"thanks");
        }
        // It is whole in the end.
        let mut there = stuck_there;
        let mut came = vec![0; full.len()];
        there.read_exact(&mut came).expect("it comes");
        assert!(came == full);
        filling.join().expect("no panic").expect("it was read");
    }

    #[test]
    fn an_end_is_seen_on_the_other_side_and_so_is_that_of_the_pipe() {
        let (caller, called, streams) = pair();
        let (here, mut there) =
            (bounded(caller.open().expect("a stream")), streams.recv().expect("it is opened"));
        drop(here);
        assert_eq!(there.read(&mut [0]).expect("an end"), 0);
        let (mut here, there) =
            (bounded(caller.open().expect("a stream")), streams.recv().expect("it is opened"));
        drop(there);
        assert_eq!(here.read(&mut [0]).expect("an end"), 0);
        let (mut here, _there) =
            (bounded(caller.open().expect("a stream")), streams.recv().expect("it is opened"));
        called.finish(Duration::ZERO);
        assert_eq!(here.read(&mut [0]).expect("an end"), 0, "the pipe was closed");
        while !caller.is_over.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        assert!(caller.open().is_err(), "nobody is there");
    }

    #[test]
    fn what_is_no_frame_ends_the_pipe() {
        let head = |kind, stream| StreamHead { kind, stream }.encode().to_vec();
        for (bytes, ends) in [
            (b"Last login: today on tty1".to_vec(), false),
            (head(StreamKind::End, 1), false),
            (head(StreamKind::Open, 2), false),
            ([head(StreamKind::Open, 1), head(StreamKind::Open, 1)].concat(), false),
            ([head(StreamKind::Open, 1), head(StreamKind::Credit(1), 1)].concat(), false),
            ([head(StreamKind::Open, 1), head(StreamKind::Data(9), 1)].concat(), true),
            (Vec::new(), true),
        ] {
            let (out, input) = pipe().expect("a pipe");
            drop(input);
            let ssh_mux = SshMux::new(File::from(OwnedFd::from(pipe().expect("a pipe").1)));
            // A stream that is closed here may get what was on its way.
            let mut open = Vec::new();
            let mut accept = |stream| open.push(stream);
            let received = ssh_mux.receive(&bytes, File::from(OwnedFd::from(out)), Some(&mut accept));
            assert_eq!(received.is_ok(), ends, "{bytes:?}: {received:?}");
        }
    }
}
