//! The control connection of a session: says what this side has to say, hears the other side, and notices its silence.
//!
//! Must not know: what messages lead to.

mod waiting_bytes;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use datapump_core::wire::session::{Message, SenderStats, Session};
use datapump_core::wire::talk::{Liveness, Talk};
use datapump_transport::{CancelToken, Channel, NetFault};

use crate::lane::Stepped;
use crate::net::folder::event_codec;
use crate::setup::budget::{Budget, Reserved};
use crate::setup::platform::Clock;
use waiting_bytes::WaitingBytes;

/// Messages that are sent at a time.
const SAID_TOGETHER: u32 = 256;
/// Messages that wait to be sent, and their bytes: whoever has more to say waits until they are taken, so that a client
/// that does not listen makes nothing grow. One message alone may be longer.
const WAITING_MAX: usize = 64;
const WAITING_BYTES_MAX: usize = 512 << 10;
/// Messages of the other side that wait while this one is at work: an honest one has nothing more to say then.
const PUT_BY_MAX: usize = 16;
/// Bytes of a first message that nobody counts.
const SHORT_BYTES: usize = 16 << 10;
/// A wait looks up as often.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What other threads want to say.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    messages: SyncSender<(Message, usize)>,
    waiting: Arc<WaitingBytes>,
    waker: Arc<UnixStream>,
}

impl Outbox {
    /// Says something soon.
    pub(crate) fn say(&self, message: Message) {
        self.enqueue_message(message);
        self.wake();
    }

    /// Enqueues a message that the holder of the session sends when it looks the next time: frequent messages are sent
    /// together. Waits while too much is enqueued.
    pub(crate) fn enqueue_message(&self, message: Message) {
        let bytes = event_codec::kept_bytes(&message);
        if !self.waiting.has_room(bytes) {
            self.wake();
            self.waiting.wait_for_room(bytes);
        }
        // If nobody listens any more, nobody needs to hear.
        if let Err(TrySendError::Full(message)) = self.messages.try_send((message, bytes)) {
            self.wake();
            let _ = self.messages.send(message);
        }
    }

    /// Makes the one that holds the session look up.
    pub(crate) fn wake(&self) {
        // A full pipe wakes just as well.
        let _ = (&*self.waker).write(&[0]);
    }
}

/// The messages to send on the control connection.
#[derive(Debug)]
pub(crate) struct Inbox {
    messages: Receiver<(Message, usize)>,
    waiting: Arc<WaitingBytes>,
    woken: UnixStream,
}

impl Inbox {
    fn take(&self) -> Option<Message> {
        let (message, bytes) = self.messages.try_recv().ok()?;
        self.waiting.taken(bytes);
        Some(message)
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.waiting.close();
    }
}

/// Both ends of the queue of messages that other threads say.
pub(crate) fn message_boxes() -> Result<(Outbox, Inbox), NetFault> {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let (waker, woken) =
        UnixStream::pair().map_err(|error| NetFault::of_io("make a pair of sockets", &error))?;
    for socket in [&waker, &woken] {
        socket.set_nonblocking(true).map_err(|error| NetFault::of_io("prepare a socket", &error))?;
    }
    let waiting = Arc::new(WaitingBytes::new(WAITING_BYTES_MAX));
    let outbox = Outbox { messages: sender, waiting: Arc::clone(&waiting), waker: Arc::new(waker) };
    Ok((outbox, Inbox { messages: receiver, waiting, woken }))
}

/// What a message leads to.
pub(crate) enum Follows {
    Go,
    /// All was told: the reading side says what it gave.
    Agree,
}

/// One side of a session over its control connection.
pub(crate) struct Control {
    pub(crate) channel: Channel,
    talk: Talk,
    inbox: Inbox,
    clock: Clock,
    /// Came while this side worked, and nobody took it yet.
    put_by: VecDeque<Message>,
    /// All was told, and what this side gave is not known yet.
    is_agreeing: bool,
    /// The other side takes no events at the moment: whoever tells some waits.
    holds: bool,
}

/// What the first message holds until it has been read, and what is kept of it is charged.
#[derive(Debug)]
pub(crate) struct FirstMessage<'budget> {
    _reading: MutexGuard<'budget, ()>,
    _room: Option<Reserved>,
}

/// Waits for the memory that a message takes while it is received, until this time; a short one is free.
fn room_for(
    channel: &Channel,
    bytes: usize,
    budget: &Arc<Budget>,
    until: Instant,
) -> Result<Option<Reserved>, NetFault> {
    if bytes <= SHORT_BYTES {
        return Ok(None);
    }
    loop {
        match budget.reserve_all(bytes as u64) {
            Some(room) => return Ok(Some(room)),
            None if Instant::now() >= until => {
                return Err(NetFault::Lost("the server has no memory for so long a message now".into()));
            }
            None => {
                channel.line_check()?;
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

impl Control {
    /// `patience`: silence after which the other side is taken for dead.
    pub(crate) fn new(
        channel: Channel,
        session: Session,
        inbox: Inbox,
        patience: Duration,
        clock: Clock,
    ) -> Control {
        Control {
            channel,
            talk: Talk::new(session, patience.as_nanos() as u64, clock.now_ns()),
            inbox,
            clock,
            put_by: VecDeque::new(),
            is_agreeing: false,
            holds: false,
        }
    }

    /// Silence after which the other side is taken for dead.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_nanos(self.talk.patience_ns())
    }

    /// From now on the other side has so long.
    pub(crate) fn set_patience(&mut self, patience: Duration) -> Result<(), NetFault> {
        self.talk.set_patience_ns(patience.as_nanos() as u64);
        self.channel.watch(patience)
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Its waits are those of this line from now on.
    pub(crate) fn join(&mut self, cancel: &CancelToken) {
        self.channel.join(cancel.of_control());
    }

    /// Says a message now.
    pub(crate) fn say(&mut self, message: Message) -> Result<(), NetFault> {
        self.put(message)?;
        self.flush()
    }

    /// The same, not before the next `flush`.
    fn put(&mut self, message: Message) -> Result<(), NetFault> {
        self.talk.say(message)?;
        self.put_said()
    }

    fn put_said(&mut self) -> Result<(), NetFault> {
        while let Some(body) = self.talk.poll_message(self.now_ns()) {
            self.channel.within(self.patience(), |channel| channel.put_message(&body, 0))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), NetFault> {
        self.channel.within(self.patience(), Channel::flush)
    }

    /// Waits for one message.
    pub(crate) fn hear(&mut self) -> Result<Message, NetFault> {
        loop {
            if let Some(message) = self.take(POLL_INTERVAL)? {
                return Ok(message);
            }
        }
    }

    /// Waits for the first message, which is due soon, to its last byte: signs of life are not enough. A long one has its
    /// room before it is received, and may take far more memory than its length: no other is read until the guard is
    /// dropped, when what is kept of this one is charged.
    pub(crate) fn receive_first<'budget>(
        &mut self,
        patience: Duration,
        budget: &'budget Arc<Budget>,
    ) -> Result<(Message, FirstMessage<'budget>), NetFault> {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if !self.has_input(POLL_INTERVAL)? {
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            let (body, room) = self.channel.within(left, |channel| {
                let head = channel.receive_head()?;
                let room = room_for(channel, head.len as usize, budget, until)?;
                Ok((channel.receive_body(head)?, room))
            })?;
            let reading = budget.one_reads();
            if let Some(message) = self.talk.handle_message(&body, self.now_ns())? {
                return Ok((message, FirstMessage { _reading: reading, _room: room }));
            }
        }
        Err(NetFault::Lost("the other side does not say what it wants".into()))
    }

    /// Runs something that may take long, as calls of a disk may, on a thread; the other side hears meanwhile that this
    /// one lives. Gives its result.
    ///
    /// Errors: the other side is not there any more. What was begun goes on to its end.
    pub(crate) fn run_meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> Result<T, NetFault> {
        std::thread::scope(|scope| {
            let (sender, done) = sync_channel(1);
            let worker = std::thread::Builder::new().spawn_scoped(scope, move || drop(sender.send(work())));
            worker.map_err(|error| NetFault::of_io("start a thread", &error))?;
            loop {
                match done.recv_timeout(POLL_INTERVAL) {
                    Ok(done) => return Ok(done),
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(NetFault::Lost("internal error of this side".into()));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let received = self.next(Duration::ZERO)?;
                self.put_by.extend(received);
                if self.put_by.len() > PUT_BY_MAX {
                    return Err(NetFault::Protocol("more messages than may wait".into()));
                }
            }
        })
    }

    /// Goes on until the session is over; each message of the other side is answered by `answer`. `look` is called now
    /// and then and may have something to say; `given` when the writing side has told its report, until it knows.
    pub(crate) fn run(
        &mut self,
        answer: &mut dyn FnMut(Message) -> Follows,
        look: &mut dyn FnMut() -> Option<Message>,
        given: &mut dyn FnMut() -> Option<SenderStats>,
    ) -> Result<(), NetFault> {
        while self.step(POLL_INTERVAL, answer, look, given)? != Stepped::Over {}
        Ok(())
    }

    /// Sends what there is to send, and handles one message if one arrives within the patience. Once the other side asked for
    /// it, `given` is asked until both sides agree on the end.
    pub(crate) fn step(
        &mut self,
        patience: Duration,
        answer: &mut dyn FnMut(Message) -> Follows,
        look: &mut dyn FnMut() -> Option<Message>,
        given: &mut dyn FnMut() -> Option<SenderStats>,
    ) -> Result<Stepped, NetFault> {
        if self.is_agreeing
            && let Some(given) = given()
        {
            self.is_agreeing = false;
            self.say(Message::Agreed(Box::new(given)))?;
        }
        if self.talk.is_over() {
            self.channel.close();
            return Ok(Stepped::Over);
        }
        self.empty_inbox()?;
        // Also after the report: connections that come late are looked at, and closed.
        if let Some(message) = look()
            && self.talk.is_running()
        {
            self.say(message)?;
        }
        self.pass_time()?;
        let patience = if self.is_agreeing { Duration::ZERO } else { patience };
        let Some(message) = self.take(patience)? else { return Ok(Stepped::Waits) };
        // A side that is to stop must not wait to say what it has done.
        match message {
            Message::HoldEvents(holds) => self.holds = holds,
            Message::Stop => self.holds = false,
            _ => {}
        }
        match answer(message) {
            Follows::Go => {}
            Follows::Agree => self.is_agreeing = true,
        }
        Ok(Stepped::On)
    }

    /// Sends a sign of life if this side has been silent.
    ///
    /// Errors: the other side is silent too long, or a connection stalls; the session is cut.
    fn pass_time(&mut self) -> Result<(), NetFault> {
        let liveness = self.talk.handle_time(self.now_ns(), &|| self.channel.session_traffic())?;
        self.put_said()?;
        self.flush()?;
        let seconds = self.patience().as_secs_f64();
        let why = match liveness {
            Liveness::Alive => return Ok(()),
            Liveness::Silent => format!("the other side has been silent for {seconds} s"),
            Liveness::Stalled => format!(
                "a connection stalled: nothing arrived over it for {seconds} s of what the other side sent"
            ),
        };
        self.channel.cut_session(&why);
        Err(NetFault::Lost(why))
    }

    /// Sends what other threads said, unless the other side holds events back.
    fn empty_inbox(&mut self) -> Result<(), NetFault> {
        while !self.holds {
            let mut put = 0;
            // Not more: they have one time limit together.
            while put < SAID_TOGETHER
                && let Some(message) = self.inbox.take()
            {
                self.put(message)?;
                put += 1;
            }
            match put {
                0 => return Ok(()),
                _ => self.flush()?,
            }
        }
        Ok(())
    }

    /// The next message that nobody took, if there is one soon.
    fn take(&mut self, patience: Duration) -> Result<Option<Message>, NetFault> {
        self.put_by.pop_front().map_or_else(|| self.next(patience), |message| Ok(Some(message)))
    }

    /// The next message, if one comes soon and nothing is to be said before.
    fn next(&mut self, patience: Duration) -> Result<Option<Message>, NetFault> {
        match self.next_body(patience)? {
            Some(body) => Ok(self.talk.handle_message(&body, self.now_ns())?),
            None => Ok(None),
        }
    }

    fn next_body(&mut self, patience: Duration) -> Result<Option<Vec<u8>>, NetFault> {
        if !self.has_input(patience)? {
            return Ok(None);
        }
        let (body, _) = self.channel.message_within(self.patience())?;
        Ok(Some(body))
    }

    /// Whether something of a message came; else what is to be done now and then is done.
    fn has_input(&mut self, patience: Duration) -> Result<bool, NetFault> {
        if self.channel.has_input_or(self.inbox.woken.as_fd(), patience)? {
            return Ok(true);
        }
        let mut bytes = [0; 64];
        while matches!(self.inbox.woken.read(&mut bytes), Ok(1..)) {}
        self.channel.line_check()?;
        self.pass_time().map(|()| false)
    }
}

#[cfg(test)]
mod tests {
    use datapump_core::wire::frame::Head;
    use datapump_engine::Socket;
    use datapump_transport::Seal;

    use super::*;
    use crate::setup::platform::Platform;

    const WAIT_MAX: Duration = Duration::from_secs(30);

    /// All of it but the last byte: it has its room before it comes, has no more time than any other, and leaves nothing.
    #[test]
    fn half_a_first_message_is_charged_and_given_up() {
        const BYTES: usize = 1 << 20;
        // Room for one of them.
        let budget = Budget::new(BYTES as u64 * 3 / 2);
        let hears = |patience: Duration| {
            let (here, mut there) = UnixStream::pair().expect("two sockets");
            let (_outbox, inbox) = message_boxes().expect("room");
            let channel = Channel::new(Socket::Unix(here), Seal::Open, CancelToken::default(), WAIT_MAX);
            let (channel, clock) = (channel.expect("open"), Platform::real().clock);
            let mut control = Control::new(channel, Session::called(), inbox, WAIT_MAX, clock);
            let speaker = std::thread::spawn(move || {
                let body = vec![b'x'; BYTES];
                let head = Head::message(&body, 0).expect("it is short enough").encode();
                let _ = there.write_all(&head).and_then(|()| there.write_all(&body[1..]));
                there
            });
            let heard = control.receive_first(patience, &budget).map(|_| ());
            assert!(matches!(heard, Err(NetFault::Lost(_))), "{heard:?}");
            drop(control);
            drop(speaker.join().expect("no panic"));
        };
        std::thread::scope(|scope| {
            let first = scope.spawn(|| hears(Duration::from_millis(3000)));
            while budget.taken_bytes() == 0 && !first.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(budget.taken_bytes(), BYTES as u64);
            hears(Duration::from_millis(200));
        });
        assert_eq!(budget.taken_bytes(), 0);
    }
}
