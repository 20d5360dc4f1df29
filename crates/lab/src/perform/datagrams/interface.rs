//! What the system tells of the interface that datagrams leave by: how far it gathers what comes before it wakes the
//! host (interrupt coalescence, SCIENCE E26).
//!
//! Must not know: datagrams.

use std::fs::read_to_string;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

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
    /// Of the interface for this address.
    pub fn to(address: IpAddr) -> InterfaceFacts {
        let routes = read_to_string("/proc/net/route").unwrap_or_default();
        match (address.to_canonical(), address.is_loopback()) {
            (_, true) => InterfaceFacts::of("lo"),
            (IpAddr::V4(address), _) => match interface_of(&routes, address) {
                Some(name) => InterfaceFacts::of(name),
                None => InterfaceFacts::unknown("unavailable: no route is known"),
            },
            (IpAddr::V6(_), _) => InterfaceFacts::unknown("unavailable: routes of IPv6 are not read"),
        }
    }

    fn unknown(why: &str) -> InterfaceFacts {
        InterfaceFacts { coalescing: why.into(), ..InterfaceFacts::default() }
    }

    fn of(name: &str) -> InterfaceFacts {
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

/// The interface of the longest prefix in `/proc/net/route`: interface, destination, …, mask in the eighth column, both
/// numbers as the host stores them.
fn interface_of(routes: &str, address: Ipv4Addr) -> Option<&str> {
    let address = u32::from_ne_bytes(address.octets());
    let matching = routes.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(columns.get(at)?, 16).ok();
        let (destination, mask) = (number(1)?, number(7)?);
        (address & mask == destination).then(|| (mask.count_ones(), columns[0]))
    });
    matching.max_by_key(|(ones, _)| *ones).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_longest_prefix_is_taken() {
        let routes = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                      eth0 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n\
                      tun0 0000590A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
                      bad line\n";
        assert_eq!(interface_of(routes, Ipv4Addr::new(10, 89, 0, 2)), Some("tun0"));
        assert_eq!(interface_of(routes, Ipv4Addr::new(10, 90, 0, 2)), Some("eth0"));
        assert_eq!(interface_of("", Ipv4Addr::new(10, 90, 0, 2)), None);
    }

    #[test]
    fn loopback_has_no_hardware() {
        let facts = InterfaceFacts::to(Ipv4Addr::LOCALHOST.into());
        assert_eq!(facts.interface.as_deref(), Some("lo"));
        assert_eq!(facts.coalescing, "unavailable: lo has no hardware");
    }
}
