//! Addresses as users write them: a name or an address, and a port. The zone of a link-local address (`%eth0`, RFC 4007)
//! is taken as it is and as URLs have it (`%25eth0`, RFC 6874).
//!
//! Must not know: what an address is used for.

use std::borrow::Cow;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};

use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType, socket};

/// What a link-local address lacks.
const NEEDS_ZONE: &str = "; a link-local address needs its interface, as in [fe80::1%eth0]:4000";

/// The addresses that `HOST:PORT` means; an address of IPv6 is in brackets.
pub fn resolve(text: &str) -> io::Result<Vec<SocketAddr>> {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    let Some((host, port)) = bracketed else { return text.to_socket_addrs().map(Iterator::collect) };
    let port: u16 = port.parse().map_err(|_| io::Error::other("no port behind the address"))?;
    let host = decoded_zone(host);
    let found = (&*host, port).to_socket_addrs().map(Iterator::collect);
    found.map_err(|error| match host.split_once('%') {
        Some((_, zone)) => io::Error::other(format!("this host has no interface '{zone}'")),
        None => error,
    })
}

/// An address with its zone as the system takes it, whichever way it was written. Anything else is as it was.
pub fn decoded_zone(host: &str) -> Cow<'_, str> {
    match split_zone(host) {
        (address, Some(zone)) => Cow::Owned(format!("{address}%{zone}")),
        (host, None) => Cow::Borrowed(host),
    }
}

/// An address without its zone, and the zone.
pub(crate) fn split_zone(host: &str) -> (&str, Option<&str>) {
    let split = host.split_once('%').filter(|(address, _)| address.parse::<Ipv6Addr>().is_ok());
    let Some((address, zone)) = split else { return (host, None) };
    // A number alone is an index: 25 is one, too.
    let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
    (address, Some(zone))
}

/// An address as users write it: its zone by name.
pub fn shown_address(address: SocketAddr) -> String {
    let index = match address {
        SocketAddr::V6(address) if address.scope_id() != 0 => address.scope_id(),
        _ => return address.to_string(),
    };
    let named = socket(AddressFamily::INET6, SocketType::DGRAM, None);
    let named = named.and_then(|socket| index_to_name(&socket, index));
    let zone = named.unwrap_or_else(|_| index.to_string());
    format!("[{}%{zone}]:{}", address.ip(), address.port())
}

/// What to do where the system refused addresses as invalid: link-local ones without an interface.
pub fn address_hint(addresses: &[SocketAddr]) -> &'static str {
    let lacks_zone = |address: &SocketAddr| match address {
        SocketAddr::V6(address) => address.ip().is_unicast_link_local() && address.scope_id() == 0,
        SocketAddr::V4(_) => false,
    };
    if addresses.iter().any(lacks_zone) { NEEDS_ZONE } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_taken_as_they_are_and_as_urls_have_them() {
        let lo = |text: &str| resolve(text).expect(text).into_iter().map(shown_address).collect::<Vec<_>>();
        for text in ["[fe80::1%lo]:4000", "[fe80::1%25lo]:4000", "[fe80::1%1]:4000"] {
            assert_eq!(lo(text), ["[fe80::1%lo]:4000"], "{text}");
        }
        assert_eq!(lo("[::1]:1"), ["[::1]:1"]);
        assert_eq!(lo("127.0.0.1:1"), ["127.0.0.1:1"]);
        let error = resolve("[fe80::1%nosuch]:4000").expect_err("no such interface").to_string();
        assert!(error.contains("no interface 'nosuch'"), "{error}");
        resolve("[fe80::1]:x").expect_err("no port");
        for (host, split) in [
            ("fe80::1%25eth0", ("fe80::1", Some("eth0"))),
            ("fe80::1%25", ("fe80::1", Some("25"))),
            ("fe80::1%eth0", ("fe80::1", Some("eth0"))),
            ("fe80::1", ("fe80::1", None)),
            ("user%25name", ("user%25name", None)),
        ] {
            assert_eq!(split_zone(host), split, "{host}");
        }
        let bare = "[fe80::1]:1".parse().expect("an address");
        assert_eq!((address_hint(&[bare]), address_hint(&[])), (NEEDS_ZONE, ""));
    }
}
