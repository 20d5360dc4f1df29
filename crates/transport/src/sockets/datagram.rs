//! A UDP socket: datagrams that are not fragmented, several in one call where the system can (segmentation offload,
//! recvmmsg).
//!
//! Must not know: what stands in datagrams, when they are sent.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The longest that the system hands over at once, segments of one sender together.
const RECEIVE_BYTES: usize = 1 << 16;
/// The requested size of a socket's buffers; systems mostly give less (net.core.rmem_max, wmem_max).
const BUFFER_BYTES: usize = 4 << 20;
/// A send waits for room so long at a time.
const SEND_WAIT: Duration = Duration::from_millis(100);

/// A UDP socket whose datagrams are never fragmented on the way.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UdpSocket,
    state: UdpSocketState,
}

/// Memory that datagrams are received into.
pub struct DatagramBuffers(Vec<u8>);

impl std::fmt::Debug for DatagramBuffers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "DatagramBuffers({} bytes)", self.0.len())
    }
}

impl DatagramBuffers {
    /// What they take of memory.
    pub const BYTES: usize = RECEIVE_BYTES * BATCH_SIZE;
}

impl Default for DatagramBuffers {
    fn default() -> DatagramBuffers {
        DatagramBuffers(vec![0; DatagramBuffers::BYTES])
    }
}

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedDatagram<'bytes> {
    /// Its payload.
    pub payload: &'bytes [u8],
    /// Where it comes from.
    pub from: SocketAddr,
    /// The address of this host that it was sent to, where the system tells.
    pub to: Option<IpAddr>,
}

impl DatagramSocket {
    /// Binds a socket; port 0 takes a free one.
    ///
    /// Errors: of the system.
    pub fn bind(address: SocketAddr) -> io::Result<DatagramSocket> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        state.set_send_buffer_size((&socket).into(), BUFFER_BYTES)?;
        state.set_recv_buffer_size((&socket).into(), BUFFER_BYTES)?;
        Ok(DatagramSocket { socket, state })
    }

    /// Where it is bound.
    ///
    /// Errors: of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Its receive buffer, as the system counts it: with its own bookkeeping.
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.state.recv_buffer_size((&self.socket).into()).unwrap_or(0) as u64
    }

    /// Datagrams that one call may send together; 1 where the system cannot. That it says so does not mean that the
    /// device can: the first send may fail with EIO or EINVAL.
    pub fn segments_max(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends datagrams of `segment` bytes each (the last may be shorter), or all bytes as one. Waits for room.
    ///
    /// Errors: of the system; one that says "message too long" means that the datagram is longer than this host's own
    /// device takes.
    pub fn send(
        &self,
        bytes: &[u8],
        segment: Option<usize>,
        to: SocketAddr,
        from: Option<IpAddr>,
    ) -> io::Result<()> {
        let transmit =
            Transmit { destination: to, ecn: None, contents: bytes, segment_size: segment, src_ip: from };
        loop {
            match self.state.try_send((&self.socket).into(), &transmit) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT, SEND_WAIT)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => return sent,
            }
        }
    }

    /// Takes what has come, or waits for it. False if nothing came in this time.
    ///
    /// Errors: of the system.
    pub fn receive(
        &self,
        buffers: &mut DatagramBuffers,
        patience: Duration,
        take: &mut dyn FnMut(ReceivedDatagram<'_>),
    ) -> io::Result<bool> {
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<IoSliceMut<'_>> =
            buffers.0.chunks_mut(RECEIVE_BYTES).map(IoSliceMut::new).collect();
        let mut received = self.state.recv((&self.socket).into(), &mut slices, &mut meta);
        let is_empty = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
        if received.as_ref().is_err_and(is_empty) && self.wait(PollFlags::IN, patience)? {
            received = self.state.recv((&self.socket).into(), &mut slices, &mut meta);
        }
        let count = match received {
            Ok(count) => count,
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => 0,
            Err(error) => return Err(error),
        };
        for (bytes, meta) in slices.iter().zip(&meta[..count]) {
            let (from, to) = (meta.addr, meta.dst_ip);
            let mut take = |payload| take(ReceivedDatagram { payload, from, to });
            match meta.len {
                0 => take(&[]),
                len => bytes[..len].chunks(meta.stride.max(1)).for_each(take),
            }
        }
        Ok(count > 0)
    }

    /// Waits until the socket can be used so. False if it cannot in this time.
    fn wait(&self, flags: PollFlags, patience: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), flags)];
        let patience =
            Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
        match poll(&mut fds, Some(&patience)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn socket() -> DatagramSocket {
        DatagramSocket::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port is free")
    }

    /// All that comes, until so many have.
    fn received(socket: &DatagramSocket, count: usize) -> Vec<Vec<u8>> {
        let (mut buffers, mut all) = (DatagramBuffers::default(), Vec::new());
        while all.len() < count {
            let mut take = |datagram: ReceivedDatagram<'_>| all.push(datagram.payload.to_vec());
            let came = socket.receive(&mut buffers, Duration::from_secs(10), &mut take);
            assert!(came.expect("it is there"), "{count} were sent");
        }
        all
    }

    #[test]
    fn datagrams_come_as_they_were_sent_together_or_one_by_one() {
        let (one, other) = (socket(), socket());
        let to = other.address().expect("it is bound");
        let bytes: Vec<u8> = (0..10_000_u32).map(|at| (at / 1000) as u8).collect();
        one.send(&bytes, Some(1000), to, None).expect("loopback takes segments");
        let chunks: Vec<Vec<u8>> = bytes.chunks(1000).map(<[u8]>::to_vec).collect();
        assert_eq!(received(&other, 10), chunks);
        for length in [0, 1, 32, 65_507] {
            one.send(&vec![7; length], None, to, None).expect("it is short enough");
            assert_eq!(received(&other, 1), [vec![7; length]]);
        }
        let error = one.send(&vec![7; 65_508], None, to, None).expect_err("IP has no longer ones");
        assert_eq!(error.raw_os_error(), Some(90), "EMSGSIZE: {error}");
    }

    #[test]
    fn nothing_came_in_time() {
        let mut buffers = DatagramBuffers::default();
        let came = socket().receive(&mut buffers, Duration::from_millis(1), &mut |_| panic!("nobody sent"));
        assert!(!came.expect("it is there"));
    }
}
