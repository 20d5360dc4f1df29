//! What the system tells of the interface that datagrams leave by: how far it gathers what comes before it wakes the
//! host (interrupt coalescence).
//!
//! Must not know: datagrams.

use std::fs::read_to_string;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

use datapump_engine::os::linux::device_with_address;
use schemars::JsonSchema;
use serde::Serialize;

use crate::perform::datagrams::any_address;

/// An interface, as far as the system tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InterfaceFacts {
    /// Its name; null where the route is not known.
    pub interface: Option<String>,
    /// The longest packet in bytes.
    pub interface_mtu: Option<u64>,
    /// How long the kernel waits with packets that it puts together, in nanoseconds (gro_flush_timeout).
    pub gro_flush_timeout_ns: Option<u64>,
    /// How often it looks at the device before interrupts are on again (napi_defer_hard_irqs).
    pub napi_defer_hard_irqs: Option<u64>,
    /// The interrupt coalescence of the device, or why it is not known.
    pub coalescing: String,
}

impl InterfaceFacts {
    /// Facts of the interface for this address.
    pub fn to(address: SocketAddr) -> InterfaceFacts {
        match source_of(address).ok().and_then(|source| device_with_address(source.to_canonical())) {
            Some(name) => InterfaceFacts::read(&name),
            None => InterfaceFacts::unknown("unavailable: no route is known"),
        }
    }

    fn unknown(why: &str) -> InterfaceFacts {
        InterfaceFacts { coalescing: why.into(), ..InterfaceFacts::default() }
    }

    fn read(name: &str) -> InterfaceFacts {
        let folder = Path::new("/sys/class/net").join(name);
        let number = |file: &str| read_to_string(folder.join(file)).ok()?.trim().parse().ok();
        let coalescing = match (folder.exists(), folder.join("device").exists()) {
            (_, true) => format!("unavailable: sysfs has no such setting; see ethtool -c {name}"),
            (true, false) => format!("unavailable: {name} has no hardware"),
            (false, false) => format!("unavailable: sysfs of this network namespace does not show {name}"),
        };
        InterfaceFacts {
            interface: Some(name.into()),
            interface_mtu: number("mtu"),
            gro_flush_timeout_ns: number("gro_flush_timeout"),
            napi_defer_hard_irqs: number("napi_defer_hard_irqs"),
            coalescing,
        }
    }
}

/// The address of this host that the system sends from to there. Nothing is sent.
fn source_of(address: SocketAddr) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((any_address(address), 0))?;
    socket.connect(address)?;
    socket.local_addr().map(|local| local.ip())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn loopback_has_no_hardware() {
        let facts = InterfaceFacts::to((Ipv4Addr::LOCALHOST, 9).into());
        assert_eq!(facts.interface.as_deref(), Some("lo"));
        assert_eq!(facts.coalescing, "unavailable: lo has no hardware");
    }

    #[test]
    fn an_address_without_a_route_has_no_interface() {
        // Broadcasts are not for every socket.
        let facts = InterfaceFacts::to((Ipv4Addr::BROADCAST, 9).into());
        assert_eq!((facts.interface, facts.interface_mtu), (None, None));
        assert!(facts.coalescing.contains("no route"), "{}", facts.coalescing);
    }
}
