//! The socket that a server listens on, and who can reach it.
//!
//! Must not know: sessions, what is served.

use std::io::ErrorKind;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};

use datapump_transport::{address_hint, shown_address};
use rustix::io::Errno;

use crate::problem::{Class, Operation, Problem};

/// Connections that the system keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// Listens at an address.
///
/// Errors: the system refuses; the message says what to do where that is known.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Problem> {
    let listener = TcpListener::bind(address).map_err(|error| listen_problem(address, &error))?;
    let listening =
        listener.set_nonblocking(true).and_then(|()| Ok(rustix::net::listen(&listener, BACKLOG)?));
    listening.map_err(|error| listen_problem(address, &error))?;
    Ok(listener)
}

/// The problem of an address that cannot be listened on, with advice.
fn listen_problem(address: SocketAddr, error: &std::io::Error) -> Problem {
    let advice = match error.kind() {
        _ if address.is_ipv6() && !has_ipv6() => "; IPv6 is off on this host: write an address of IPv4",
        ErrorKind::AddrNotAvailable => "; no interface of this host has this address",
        ErrorKind::AddrInUse => {
            "; another program listens there: write another port, or port 0 for a free one"
        }
        ErrorKind::PermissionDenied if address.port() < 1024 => "; only root has ports below 1024",
        _ => address_hint(&[address]),
    };
    let message = format!("listen on {}: {error}{advice}", shown_address(address));
    Problem { cause: error.raw_os_error(), ..Problem::of(Class::Io, Operation::Listen, message) }
}

/// Whether this host has addresses of IPv6 at all.
fn has_ipv6() -> bool {
    let tried = TcpListener::bind((Ipv6Addr::LOCALHOST, 0));
    let errno = tried.as_ref().err().and_then(Errno::from_io_error);
    !matches!(errno, Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL))
}

/// Whether only programs of this host reach an address.
pub(crate) fn is_of_this_host_alone(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_refused_says_what_to_do() {
        let taken = listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        let address = taken.local_addr().expect("it listens");
        let message = |address: SocketAddr| listen(address).expect_err("it is refused").message;
        assert!(message(address).contains("another program listens there"));
        assert!(message("192.0.2.1:0".parse().expect("an address")).contains("no interface of this host"));
        for (address, expected) in
            [("127.0.1.1:1", true), ("[::1]:1", true), ("[::ffff:127.0.0.1]:1", true), ("0.0.0.0:1", false)]
        {
            let address: SocketAddr = address.parse().expect("an address");
            assert_eq!(is_of_this_host_alone(address), expected, "{address}");
        }
    }
}
