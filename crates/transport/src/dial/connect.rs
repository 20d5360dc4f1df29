//! Calls an address, in waits that end now and then: who is stopped does not wait for a host that never answers.
//!
//! Must not know: what is said over the connection.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};

use crate::cancel::CancelToken;
use crate::fault::NetFault;
use crate::timed::POLL_INTERVAL;

/// Nobody listens at an address.
const REFUSED: &str = "connection refused";

/// Calls `host:port`, each of its addresses for as long as `patience`. `called` may do something meanwhile.
pub(crate) fn call(
    host: &str,
    cancel: &CancelToken,
    patience: Duration,
    called: &dyn Fn(),
) -> Result<TcpStream, NetFault> {
    let mut failed = NetFault::Lost("the host has no address".into());
    for address in look_up(host, &cancel.within(patience))? {
        match connect(&address, &cancel.within(patience), called) {
            Ok(stream) => return Ok(stream),
            Err(NetFault::Stopped) => return Err(NetFault::Stopped),
            Err(fault) => failed = fault,
        }
    }
    Err(match failed {
        NetFault::Lost(words) => {
            let try_this = if words == REFUSED { "; is \"pump serve\" running there?" } else { "" };
            NetFault::Lost(format!("connect to '{host}': {words}{try_this}"))
        }
        fault => fault,
    })
}

/// The addresses of a host. The system's own search cannot be ended: another thread waits for it.
fn look_up(host: &str, cancel: &CancelToken) -> Result<Vec<SocketAddr>, NetFault> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let (found, finds) = channel();
    let host = host.to_owned();
    let search = move || drop(found.send(host.to_socket_addrs().map(Iterator::collect)));
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

/// Calls an address until the line's deadline.
pub(crate) fn connect(
    address: &SocketAddr,
    cancel: &CancelToken,
    called: &dyn Fn(),
) -> Result<TcpStream, NetFault> {
    let fault = |errno: Errno| match errno {
        Errno::CONNREFUSED => NetFault::Lost(REFUSED.into()),
        errno => NetFault::Lost(io::Error::from(errno).to_string()),
    };
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP)).map_err(fault)?;
    match rustix::net::connect(&socket, address) {
        // An interrupted call goes on by itself.
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
        Err(errno) => return Err(fault(errno)),
    }
    called();
    let patience = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
    loop {
        cancel.check()?;
        let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
        match poll(&mut fds, Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => break,
            Err(errno) => return Err(fault(errno)),
        }
    }
    sockopt::socket_error(&socket).map_err(fault)?.map_err(fault)?;
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
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        rustix::net::listen(&listener, 0).expect("a short queue");
        let address = listener.local_addr().expect("an address");
        // Those that find room in the queue are connected; the next gets no answer.
        let cancel = CancelToken::default();
        let mut taken = Vec::new();
        let fault = loop {
            match connect(&address, &cancel.within(Duration::from_millis(300)), &|| ()) {
                Ok(stream) => taken.push(stream),
                Err(fault) => break fault,
            }
            assert!(taken.len() < 100, "the queue has no end");
        };
        assert_eq!(fault, NetFault::Lost("the other side does not answer".into()));
    }
}
