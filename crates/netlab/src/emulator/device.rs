//! A TUN device in a network namespace, through which frames of up to 64 KiB come and go.
//!
//! Must not know: links, other devices.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use datapump_engine::os::linux::in_net_space;
use tun_rs::{DeviceBuilder, SyncDevice};

use super::BoxEnd;

/// As many frames wait to be read: by default 500, which is 6 ms of a gigabit in packets of 1500 bytes.
const QUEUE_FRAMES: u32 = 10_000;

/// A device.
pub struct TunDevice {
    device: SyncDevice,
    name: String,
    space: PathBuf,
}

impl TunDevice {
    /// Makes it in a namespace, with the address of an end.
    pub fn open(space: &Path, end: &BoxEnd, mtu: u16) -> io::Result<TunDevice> {
        in_net_space(space, || {
            let builder = DeviceBuilder::new().mtu(mtu).offload(true).enable(false);
            let builder = match end.address {
                IpAddr::V4(address) => builder.ipv4(address, end.prefix, None),
                IpAddr::V6(address) => builder.ipv6(address, end.prefix),
            };
            let device = builder.build_sync()?;
            let name = device.name()?;
            if end.address.is_ipv4() {
                silence_ip6(&name);
            }
            device.set_tx_queue_len(QUEUE_FRAMES)?;
            device.enabled(true)?;
            device.set_nonblocking(true)?;
            Ok(TunDevice { device, name, space: space.into() })
        })
    }

    /// The next frame, if there is one.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(into) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a frame over; whether the kernel took it. It may have no memory for it, or not know what it is.
    pub fn write(&self, frame: &[u8]) -> bool {
        self.device.send(frame).is_ok()
    }

    /// Frames that the kernel dropped because they were not read in time.
    pub fn overrun(&self) -> u64 {
        let table = in_net_space(&self.space, || std::fs::read_to_string("/proc/thread-self/net/dev"));
        table.ok().and_then(|table| dropped(&table, &self.name)).unwrap_or(0)
    }

    /// To wait for a frame.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// An interface that has version 6 of IP looks for neighbours by itself: its packets would be counted, and lost, like
/// others.
fn silence_ip6(name: &str) {
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
}

/// What /proc/net/dev says of an interface: behind its name eight figures of what it received, then bytes, packets,
/// errors and drops of what it sent.
fn dropped(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_from_the_table_of_interfaces() {
        let table = [
            "Inter-|   Receive",
            "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13",
            "  tun1: 0 0 0 0 0 0 0 0 900 9 0 7 0",
        ];
        let table = table.join("\n");
        assert_eq!(["tun1", "lo", "tun"].map(|name| dropped(&table, name)), [Some(7), Some(12), None]);
    }
}
