//! Connects to a host whose addresses may be many, side by side (RFC 8305), in waits that end now and then: a cancelled
//! call does not wait for a host that never answers.
//!
//! Must not know: what is said over the connection.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};

use super::address::{address_hint, resolve};
use crate::cancel::CancelToken;
use crate::fault::NetFault;
use crate::timed::POLL_INTERVAL;

/// Nobody listens at an address.
const REFUSED: &str = "connection refused";
/// An address that has not answered for so long is no more waited for alone (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Attempts for one connection, and so sockets that it may have at a time.
const ATTEMPTS_MAX: usize = 16;

/// Calls `host:port`, all its addresses for as long as `patience`. `called` may do something meanwhile.
pub(crate) fn call(
    host: &str,
    cancel: &CancelToken,
    patience: Duration,
    called: &dyn Fn(),
) -> Result<TcpStream, NetFault> {
    let addresses = look_up(host, &cancel.within(patience))?;
    let failed = match connect(&addresses, &cancel.within(patience), called) {
        Ok(stream) => return Ok(stream),
        Err(fault) => fault,
    };
    Err(match failed {
        NetFault::Lost(words) => {
            let try_this = if words == REFUSED {
                "; is \"pump serve\" running there?"
            } else {
                address_hint(&addresses)
            };
            NetFault::Lost(format!("connect to '{host}': {words}{try_this}"))
        }
        fault => fault,
    })
}

/// The addresses of a host. The system's own search cannot be ended: another thread waits for it.
pub(crate) fn look_up(host: &str, cancel: &CancelToken) -> Result<Vec<SocketAddr>, NetFault> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let (found, finds) = channel();
    let host = host.to_owned();
    let search = move || drop(found.send(resolve(&host)));
    Builder::new().spawn(search).map_err(|error| NetFault::of_io("start a thread", &error))?;
    loop {
        cancel.check()?;
        match finds.recv_timeout(POLL_INTERVAL) {
            Ok(found) => return found.map_err(|error| NetFault::of_io("look up the host", &error)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
        }
    }
}

/// Connects to the first of several addresses that answers, until the deadline of `cancel`. Each next attempt begins
/// when the one before has failed, or has not answered for `ATTEMPT_DELAY`. `called` may do something while the first
/// is on its way.
pub(crate) fn connect(
    addresses: &[SocketAddr],
    cancel: &CancelToken,
    called: &dyn Fn(),
) -> Result<TcpStream, NetFault> {
    let mut failed = NetFault::Lost("the host has no address".into());
    let (mut attempts, mut next, mut called) = (Vec::<OwnedFd>::new(), Instant::now(), Some(called));
    let mut waiting = interleaved(addresses).into_iter().take(ATTEMPTS_MAX).peekable();
    loop {
        if attempts.is_empty() || Instant::now() >= next {
            match waiting.next().map(|address| begin(&address)) {
                Some(Ok(attempt)) => attempts.push(attempt),
                Some(Err(errno)) => failed = fault_of(errno),
                None if attempts.is_empty() => return Err(failed),
                None => {}
            }
            next = Instant::now() + ATTEMPT_DELAY;
        }
        if let Some(called) = called.take_if(|_| !attempts.is_empty()) {
            called();
        }
        cancel.check()?;
        let pause = match waiting.peek() {
            Some(_) => POLL_INTERVAL.min(next.saturating_duration_since(Instant::now())),
            None => POLL_INTERVAL,
        };
        for answered in answered(&attempts, pause)?.into_iter().rev() {
            let attempt = attempts.swap_remove(answered);
            match sockopt::socket_error(&attempt).and_then(|answer| answer) {
                Ok(()) => return blocking(attempt),
                Err(errno) => (failed, next) = (fault_of(errno), Instant::now()),
            }
        }
    }
}

fn fault_of(errno: Errno) -> NetFault {
    match errno {
        Errno::CONNREFUSED => NetFault::Lost(REFUSED.into()),
        errno => NetFault::Lost(io::Error::from(errno).to_string()),
    }
}

/// The addresses of one family and the other in turns, as the system sorted them (RFC 8305, section 4).
fn interleaved(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_ipv4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.iter().copied().partition(|address| address.is_ipv4() == first_is_ipv4);
    let longer = first.len().max(second.len());
    (0..longer).flat_map(|at| [first.get(at), second.get(at)]).flatten().copied().collect()
}

fn begin(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match rustix::net::connect(&socket, address) {
        // An interrupted call goes on by itself.
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// Which attempts have an answer, after a pause at most.
fn answered(attempts: &[OwnedFd], pause: Duration) -> Result<Vec<usize>, NetFault> {
    let pause = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
    let mut fds: Vec<_> = attempts.iter().map(|attempt| PollFd::new(attempt, PollFlags::OUT)).collect();
    match poll(&mut fds, Some(&pause)) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Vec::new()),
        Err(errno) => return Err(fault_of(errno)),
    }
    Ok((0..fds.len()).filter(|&at| !fds[at].revents().is_empty()).collect())
}

fn blocking(socket: OwnedFd) -> Result<TcpStream, NetFault> {
    let stream = TcpStream::from(socket);
    let blocks = stream.set_nonblocking(false);
    blocks.map(|()| stream).map_err(|error: io::Error| NetFault::Lost(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn who_listens_is_called_and_who_does_not_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("an address");
        let (cancel, patience) = (CancelToken::default(), Duration::from_secs(60));
        for host in [address.to_string(), format!("localhost:{}", address.port())] {
            let stream = call(&host, &cancel, patience, &|| ()).expect("it listens");
            assert_eq!(stream.peer_addr().ok(), Some(address), "{host}");
        }
        let stopped = cancel.heeding(&Arc::new(AtomicBool::new(true)));
        assert_eq!(
            call("localhost:1", &stopped, patience, &|| ()).expect_err("no search"),
            NetFault::Stopped
        );
        drop(listener);
        let refused = call(&address.to_string(), &cancel, patience, &|| ()).expect_err("nobody listens");
        let words = format!("connect to '{address}': connection refused; is \"pump serve\" running there?");
        assert_eq!(refused, NetFault::Lost(words));
        call("no such host:1", &cancel, patience, &|| ()).expect_err("there is none");
    }

    #[test]
    fn a_host_that_never_answers_is_waited_for_no_longer_than_agreed() {
        let (listener, _taken) = silent();
        let address = listener.local_addr().expect("an address");
        let cancel = CancelToken::default().within(Duration::from_millis(300));
        let fault = connect(&[address], &cancel, &|| ()).expect_err("no answer");
        assert_eq!(fault, NetFault::Lost("the other side does not answer".into()));
    }

    #[test]
    fn families_take_turns_and_the_first_stays_first() {
        let address = |word: &str| word.parse::<SocketAddr>().expect("an address");
        let [a, b, c] = ["[::1]:1", "[::2]:1", "[::3]:1"].map(address);
        let [x, y] = ["1.0.0.1:1", "1.0.0.2:1"].map(address);
        assert_eq!(interleaved(&[a, b, c, x, y]), [a, x, b, y, c]);
        assert_eq!(interleaved(&[x, a, y]), [x, a, y]);
        assert_eq!(interleaved(&[x, y]), [x, y]);
        assert_eq!(interleaved(&[]), []);
    }

    /// An address whose queue is full answers nothing.
    fn silent() -> (TcpListener, Vec<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        rustix::net::listen(&listener, 0).expect("a short queue");
        let address = listener.local_addr().expect("an address");
        let cancel = CancelToken::default();
        let connect = || connect(&[address], &cancel.within(Duration::from_millis(300)), &|| ());
        let taken: Vec<_> = std::iter::from_fn(|| connect().ok()).take(100).collect();
        assert!(taken.len() < 100, "the queue has no end");
        (listener, taken)
    }

    #[test]
    fn dead_addresses_cost_as_little_as_one_delay_each() {
        let (dead, _taken) = silent();
        let refusing = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let alive = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let of = |listener: &TcpListener| listener.local_addr().expect("an address");
        let addresses = [of(&dead), of(&refusing), of(&dead), of(&alive)];
        drop(refusing);
        let calls = std::cell::Cell::new(0);
        let cancel = CancelToken::default().within(Duration::from_secs(60));
        let stream = connect(&addresses, &cancel, &|| calls.set(calls.get() + 1)).expect("one listens");
        assert_eq!(stream.peer_addr().ok(), Some(of(&alive)));
        assert_eq!(calls.get(), 1, "meanwhile once");
        // Each of the dead ones is waited for as long as the line lasts, not one after the other.
        let begun = Instant::now();
        let cancel = CancelToken::default().within(Duration::from_secs(2));
        let fault = connect(&[of(&dead); 64], &cancel, &|| ()).expect_err("nobody answers");
        assert_eq!(fault, NetFault::Lost("the other side does not answer".into()));
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
