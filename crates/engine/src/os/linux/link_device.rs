//! Network devices: which one has an address, and which offloads it does (netdevice(7), linux/ethtool.h).
//!
//! Must not know: connections, what an offload is good for.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// Work that a device, or the kernel just before it, does for many segments at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOffload {
    /// TCP segmentation by the device.
    Tso,
    /// Segmentation by the kernel, as late as possible.
    Gso,
    /// Received segments are put together.
    Gro,
}

impl LinkOffload {
    /// ETHTOOL_GTSO, ETHTOOL_GGSO, ETHTOOL_GGRO: nobody needs a privilege to ask.
    fn question(self) -> u32 {
        match self {
            LinkOffload::Tso => 0x1e,
            LinkOffload::Gso => 0x23,
            LinkOffload::Gro => 0x2b,
        }
    }
}

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Whether a device does that: `SIOCETHTOOL`.
///
/// Errors: there is no such device, or it does not tell.
pub fn has_offload(device: &str, offload: LinkOffload) -> io::Result<bool> {
    let name = device.as_bytes();
    // The last byte stays 0.
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut value = EthtoolValue { command: offload.question(), data: 0 };
    let mut letters = [0; libc::IFNAMSIZ];
    letters.iter_mut().zip(name).for_each(|(letter, byte)| *letter = *byte as libc::c_char);
    let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() };
    let mut request = libc::ifreq { ifr_name: letters, ifr_ifru };
    // SAFETY: the kernel reads the name and the pointer of the request, reads and writes the two numbers that it points
    // to, all of which live in this frame, and keeps no reference to any of them.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if result == 0 { Ok(value.data != 0) } else { Err(io::Error::last_os_error()) }
}

/// The device that has an address of this host; none if no device has it.
pub fn device_with_address(address: IpAddr) -> Option<String> {
    let mut first = std::ptr::null_mut();
    // SAFETY: the call stores a list in `first`, which lives in this frame; it is given back below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return None;
    }
    let (mut found, mut entry) = (None, first);
    // SAFETY: each entry was made by getifaddrs, is not changed, and is not given back before the end of the list.
    while let Some(one) = unsafe { entry.as_ref() } {
        if address_of(one) == Some(address) {
            // SAFETY: the name of an entry is a C string (getifaddrs(3)), which lives as long as the entry.
            let name = unsafe { CStr::from_ptr(one.ifa_name) };
            found = name.to_str().ok().map(str::to_owned);
            break;
        }
        entry = one.ifa_next;
    }
    // SAFETY: the list came from getifaddrs, and nothing of it is used any more: the name was copied.
    unsafe { libc::freeifaddrs(first) };
    found
}

/// The address of an entry, if it is one of IP.
fn address_of(entry: &libc::ifaddrs) -> Option<IpAddr> {
    // SAFETY: an entry's address is null or what its family says (getifaddrs(3)); the reads copy plain numbers.
    unsafe {
        let address = entry.ifa_addr.as_ref()?;
        match i32::from(address.sa_family) {
            libc::AF_INET => {
                let four = entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(four.sin_addr.s_addr))))
            }
            libc::AF_INET6 => {
                let six = entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::V6(Ipv6Addr::from(six.sin6_addr.s6_addr)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_address() {
        let name = device_with_address(Ipv4Addr::LOCALHOST.into()).expect("every host has it");
        assert!(name.starts_with("lo"), "{name}");
        // Of a block that is for books (RFC 5737).
        assert_eq!(device_with_address(Ipv4Addr::new(192, 0, 2, 77).into()), None);
    }

    #[test]
    fn offloads_are_known_or_why_not() {
        for offload in [LinkOffload::Tso, LinkOffload::Gso, LinkOffload::Gro] {
            let answer = has_offload("lo", offload);
            assert!(
                answer.is_ok() || answer.as_ref().is_err_and(|error| error.raw_os_error().is_some()),
                "{answer:?}"
            );
            assert!(has_offload("no-such-device0", offload).is_err());
            assert!(has_offload("a name longer than any device has", offload).is_err());
        }
    }
}
