//! The half of a connection that receives: bytes are waited for, received, opened, and counted.
//!
//! Must not know: what frames mean, what is sent.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use datapump_engine::{CpuStage, meter::within};

use super::{Channel, closed, may_go_on};
use crate::fault::NetFault;
use crate::tls::{Seal, Turn};

impl Channel {
    /// Whether something of what comes next is here, without a call.
    pub fn has_buffered(&self) -> bool {
        self.taken < self.plain.len() || self.opened < self.filled
    }

    /// Whether something came.
    pub fn has_come(&mut self) -> Result<bool, NetFault> {
        if self.has_buffered() {
            return Ok(true);
        }
        if matches!(self.seal, Seal::Open) {
            return self.has_input(Duration::ZERO); // it is received where it belongs
        }
        (self.opened, self.filled) = (0, 0);
        match self.timed.read_now(&mut self.incoming) {
            Ok(len) => {
                self.meter.arrived(len);
                self.filled = len;
            }
            Err(error) if may_go_on(&error) => return Ok(false),
            Err(error) => return Err(NetFault::of_io("receive", &error)),
        }
        Ok(true)
    }

    /// Whether something came, within this time.
    pub fn has_input(&mut self, patience: Duration) -> Result<bool, NetFault> {
        self.waits(None, patience)
    }

    /// The same, but the wait ends also when something else can be read.
    pub fn has_input_or(&self, other: BorrowedFd<'_>, patience: Duration) -> Result<bool, NetFault> {
        self.waits(Some(other), patience)
    }

    /// Waits until something came here or on another connection, or for this time.
    pub fn wait_with(&self, other: &Channel, patience: Duration) -> Result<(), NetFault> {
        match other.timed.link.socket() {
            _ if other.has_buffered() => Ok(()),
            socket => self.waits(socket, patience).map(drop),
        }
    }

    fn waits(&self, other: Option<BorrowedFd<'_>>, patience: Duration) -> Result<bool, NetFault> {
        if self.has_buffered() {
            return Ok(true);
        }
        let _stage = within(CpuStage::Waiting);
        let has_input = self.timed.link.has_input(other, patience);
        if matches!(has_input, Ok(false)) && !patience.is_zero() {
            self.meter.looked();
        }
        has_input.map_err(|error| NetFault::of_io("wait for the connection", &error))
    }

    /// Fills `bytes`.
    pub fn receive(&mut self, bytes: &mut [u8]) -> Result<(), NetFault> {
        // To take opened bytes takes less time than to look at a clock.
        let opens = self.is_sealed() && self.plain.len() - self.taken < bytes.len();
        let _stage = opens.then(|| within(CpuStage::Decrypt));
        let (start, before_ns) = (Instant::now(), self.timed.receiving_ns);
        let received = self.receive_whole(bytes);
        let waited_ns = self.timed.receiving_ns - before_ns;
        self.opening_ns += (start.elapsed().as_nanos() as u64).saturating_sub(waited_ns);
        received
    }

    fn receive_whole(&mut self, bytes: &mut [u8]) -> Result<(), NetFault> {
        let mut at = self.take_plain(bytes);
        while at < bytes.len() {
            if matches!(self.seal, Seal::Open) {
                at += self.read_into(&mut bytes[at..])?;
                continue;
            }
            at += self.receive_opened(&mut bytes[at..])?;
        }
        Ok(())
    }

    /// Takes what was opened before.
    fn take_plain(&mut self, bytes: &mut [u8]) -> usize {
        let there = &self.plain[self.taken..];
        let len = there.len().min(bytes.len());
        bytes[..len].copy_from_slice(&there[..len]);
        self.taken += len;
        if self.taken == self.plain.len() {
            self.plain.clear();
            self.taken = 0;
        }
        len
    }

    /// Opens the next record into `bytes`; what does not fit stays for the next time.
    fn receive_opened(&mut self, bytes: &mut [u8]) -> Result<usize, NetFault> {
        let (mut at, mut rest) = (0, std::mem::take(&mut self.plain));
        let turn = self.open(&mut |opened| {
            let len = opened.len().min(bytes.len() - at);
            bytes[at..at + len].copy_from_slice(&opened[..len]);
            at += len;
            rest.extend_from_slice(&opened[len..]);
        });
        self.plain = rest;
        match turn? {
            _ if at > 0 => {}
            Turn::Send => self.flush()?,
            Turn::Closed => return Err(closed()),
            Turn::Receive | Turn::Ready => self.receive_some()?,
        }
        Ok(at)
    }

    pub(super) fn open(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<Turn, NetFault> {
        let came = &mut self.incoming[self.opened..self.filled];
        let (meter, mut received) = (&self.meter, 0);
        let counted = &mut |opened: &[u8]| {
            received += opened.len();
            take(opened);
        };
        let (used, turn) = self.seal.open(came, &mut self.outgoing, counted)?;
        meter.received(received);
        self.opened += used;
        Ok(turn)
    }

    /// Waits for more sealed bytes.
    pub(super) fn receive_some(&mut self) -> Result<(), NetFault> {
        self.incoming.copy_within(self.opened..self.filled, 0);
        (self.opened, self.filled) = (0, self.filled - self.opened);
        if self.filled == self.incoming.len() {
            return Err(NetFault::Protocol("a record of the other side never ends".into()));
        }
        loop {
            self.cancel.check()?;
            match self.timed.read(&mut self.incoming[self.filled..]) {
                Ok(0) => return Err(closed()),
                Ok(len) => {
                    self.meter.arrived(len);
                    self.filled += len;
                    return Ok(());
                }
                Err(error) if may_go_on(&error) => self.meter.needed(),
                Err(error) => return Err(NetFault::of_io("receive", &error)),
            }
        }
    }

    fn read_into(&mut self, bytes: &mut [u8]) -> Result<usize, NetFault> {
        loop {
            self.cancel.check()?;
            match self.timed.read_block(bytes) {
                Ok(0) => return Err(closed()),
                Ok(len) => {
                    self.meter.arrived(len);
                    self.meter.received(len);
                    return Ok(len);
                }
                Err(error) if may_go_on(&error) => self.meter.needed(),
                Err(error) => return Err(NetFault::of_io("receive", &error)),
            }
        }
    }
}
