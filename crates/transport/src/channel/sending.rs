//! The half of a connection that sends: frames are gathered, sealed, and sent.
//!
//! Must not know: what frames mean, what comes back.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use datapump_core::wire::frame::Head;
use datapump_engine::{CpuStage, meter::within};

use super::{Channel, Digest, closed, may_go_on};
use crate::cancel::CancelToken;
use crate::fault::NetFault;
use crate::sockets::{deepen_send_buffer, pace};
use crate::timed::Timed;
use crate::tls::{Outgoing, Seal};

/// So much is gathered before it is sent: fewer calls, and fewer times that the other side is woken.
const GATHERED_BYTES: usize = 64 << 10;
/// Answers to one who asks on and on and takes nothing are not gathered without end.
const UNSENT_BYTES_MAX: usize = 256 << 10;
/// Bytes sent open are copied behind those put before if no longer than this, else they are sent from where they lie.
const COPIED_BYTES_MAX: usize = 4 << 10;
/// How long who hangs up waits for a full connection to take its last word.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

impl Channel {
    /// Will always be full: it may have more under way than the kernel would give it by itself.
    pub fn deepen(&self) {
        self.timed.link.tcp().into_iter().for_each(deepen_send_buffer);
    }

    /// Does not send a window in one burst, for which a switch of the path may have no room.
    pub fn pace(&self) {
        self.timed.link.tcp().into_iter().for_each(pace);
    }

    /// Sends a message.
    pub fn send_message(&mut self, body: &[u8], number: u64) -> Result<(), NetFault> {
        self.put_message(body, number)?;
        self.flush()
    }

    /// The same, not sent before the next `flush`, unless it becomes very much.
    pub fn put_message(&mut self, body: &[u8], number: u64) -> Result<(), NetFault> {
        let head = Head::message(body, number)?;
        self.put(&head.encode())?;
        self.put(body)?;
        if self.gathered.len() < UNSENT_BYTES_MAX { Ok(()) } else { self.flush() }
    }

    /// Sends a block behind its digest. A small one stays until there are more, or the next `flush`.
    pub fn put_block(&mut self, bytes: &[u8], digest: &Digest, number: u64) -> Result<(), NetFault> {
        let head = Head::block(bytes.len() as u32, number);
        self.put(&head.encode())?;
        self.put(digest)?;
        self.put(bytes)?;
        let put_bytes = self.gathered.len() + self.outgoing.bytes().len();
        if put_bytes < GATHERED_BYTES { Ok(()) } else { self.flush() }
    }

    /// Puts bytes behind what was put before: copied, or sealed from where they lie, or sent from there.
    fn put(&mut self, bytes: &[u8]) -> Result<(), NetFault> {
        let is_open = matches!(self.seal, Seal::Open);
        let copied_bytes_max = if is_open { COPIED_BYTES_MAX } else { GATHERED_BYTES };
        if bytes.len() <= copied_bytes_max {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        if is_open {
            self.sealed_bytes += (self.gathered.len() + bytes.len()) as u64;
            self.meter.sent(self.sealed_bytes);
            send_both(&mut self.timed, &self.cancel, &self.gathered, bytes)?;
            self.gathered.clear();
            return Ok(());
        }
        self.seal_gathered()?;
        self.seal_bytes(bytes)
    }

    fn seal_gathered(&mut self) -> Result<(), NetFault> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let mut gathered = std::mem::take(&mut self.gathered);
        let sealed = self.seal_bytes(&gathered);
        gathered.clear();
        self.gathered = gathered;
        sealed
    }

    fn seal_bytes(&mut self, bytes: &[u8]) -> Result<(), NetFault> {
        let _stage = self.is_sealed().then(|| within(CpuStage::Encrypt));
        let Channel { seal, outgoing, timed, cancel, sealing_ns, meter, sealed_bytes, .. } = self;
        let (start, before_ns) = (Instant::now(), timed.sending_ns);
        let (before_bytes, mut is_behind) = (*sealed_bytes, false);
        *sealed_bytes += bytes.len() as u64;
        let sealed = seal.seal(bytes, outgoing, &mut |sealed| {
            is_behind = true;
            meter.sent(*sealed_bytes);
            send_all(timed, cancel, sealed)
        });
        if is_behind && !outgoing.bytes().is_empty() {
            // The rest waits here for the next `flush`.
            meter.sent(before_bytes);
        }
        *sealing_ns += (start.elapsed().as_nanos() as u64).saturating_sub(timed.sending_ns - before_ns);
        sealed
    }

    /// Sends what was put.
    pub fn flush(&mut self) -> Result<(), NetFault> {
        self.seal_gathered()?;
        self.meter.sent(self.sealed_bytes);
        send_all(&mut self.timed, &self.cancel, &mut self.outgoing)
    }

    /// Says that nothing more will come. Best effort.
    pub fn close(&mut self) {
        if !self.is_closed {
            self.is_closed = true;
            self.cancel.set_deadline(Some(Instant::now() + FAREWELL_MAX));
            let _ = self.seal_gathered();
            self.seal.close(&mut self.outgoing);
            let _ = self.flush();
        }
    }
}

/// Sends and forgets the bytes.
fn send_all(timed: &mut Timed, cancel: &CancelToken, outgoing: &mut Outgoing) -> Result<(), NetFault> {
    send_both(timed, cancel, outgoing.bytes(), &[])?;
    outgoing.clear();
    Ok(())
}

/// Sends one behind the other.
fn send_both(timed: &mut Timed, cancel: &CancelToken, first: &[u8], second: &[u8]) -> Result<(), NetFault> {
    let mut sent = 0;
    while sent < first.len() + second.len() {
        cancel.check()?;
        let parts = [&first[sent.min(first.len())..], &second[sent.saturating_sub(first.len())..]];
        match timed.write(&parts.map(IoSlice::new)) {
            Ok(0) => return Err(closed()),
            Ok(len) => sent += len,
            Err(error) if may_go_on(&error) => {}
            Err(error) => return Err(NetFault::of_io("send", &error)),
        }
    }
    Ok(())
}
