//! A path in a box (`pump lab path`): two network namespaces, a TUN device in each, and between them a link in each
//! direction that delays, limits, loses, reorders and doubles what goes over it. For kernels without netem, and with
//! figures of its own: how late packets came, and at which rate.
//!
//! A named namespace that was missing is made, and removed at the end. One that a killed path left behind is removed by
//! the next: a note says which process made it. Devices go with the process.
//!
//! Must not know: what goes over the path, command lines.

mod codel;
mod device;
mod direction;
mod frame;
mod link;
mod spaces;
mod stats;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

pub use link::{Aqm, LinkSettings};
pub use stats::{DirectionStats, PathStats};

use crate::SettingsError;
use device::TunDevice;
use direction::OneWay;
use spaces::Spaces;

/// RFC 8200, section 5.
const IP6_MTU_MIN: u16 = 1280;

/// An end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxEnd {
    /// The name of its network namespace.
    pub space: String,
    /// Its address, and how many bits of it are the network's.
    pub address: IpAddr,
    /// See there.
    pub prefix: u8,
}

/// What a path in a box is.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxSettings {
    /// One end.
    pub left: BoxEnd,
    /// The other end.
    pub right: BoxEnd,
    /// The largest packet.
    pub mtu: u16,
    /// The link, in both directions.
    pub link: LinkSettings,
}

/// Says so when it is dropped.
struct EndsBoth<'a>(&'a AtomicBool);

impl Drop for EndsBoth<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl BoxSettings {
    /// Errors: numbers out of range, settings that contradict each other.
    fn check(&self) -> Result<(), SettingsError> {
        let asked = |words: &str| Err(SettingsError::new(words));
        let (left, right, link) = (&self.left, &self.right, &self.link);
        [left, right].into_iter().try_for_each(|end| spaces::check(&end.space))?;
        link.check()?;
        if left.space == right.space {
            asked("both ends are in one network namespace; name two")
        } else if left.address.is_ipv4() != right.address.is_ipv4() {
            asked("one address is of version 4 of IP and one of version 6; give two of one version")
        } else if left.address == right.address {
            asked("both ends have one address; give two")
        } else if left.network() != right.network() {
            asked(
                "the ends are not in one network; give two addresses of one, such as 10.9.0.1/24 and 10.9.0.2/24",
            )
        } else if left.address.is_ipv6() && self.mtu < IP6_MTU_MIN {
            asked("version 6 of IP needs packets of 1280 bytes; give --mtu 1280 or more")
        } else {
            Ok(())
        }
    }
}

impl BoxEnd {
    /// Its network's address, with the length of the part that is the network's.
    fn network(&self) -> (u128, u8) {
        let (bits, length) = match self.address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        (bits.checked_shr(length - u32::from(self.prefix).min(length)).unwrap_or(0), self.prefix)
    }
}

/// Lays the path, says so, and carries packets until it is to stop.
///
/// Errors: an [`SettingsError`] for settings that cannot be meant so; not root; a namespace, a device or an address that
/// cannot be had; a device that fails.
pub fn carry(settings: &BoxSettings, stop: &AtomicBool, ready: impl FnOnce()) -> anyhow::Result<PathStats> {
    settings.check()?;
    let spaces = Spaces::open([&settings.left.space, &settings.right.space])?;
    let device = |end: &BoxEnd| {
        let file = spaces.file(&end.space);
        TunDevice::open(&file, end, settings.mtu).with_context(|| {
            format!("a TUN device with {}/{} in the namespace {}", end.address, end.prefix, end.space)
        })
    };
    let (left, right) = (device(&settings.left)?, device(&settings.right)?);
    ready();
    let other = LinkSettings { seed: settings.link.seed.wrapping_add(1), ..settings.link.clone() };
    // One that ends, however it does, ends both.
    let has_ended = AtomicBool::new(false);
    let carry = |direction: OneWay<'_>| {
        let _ends = EndsBoth(&has_ended);
        direction.run(|| stop.load(Ordering::Relaxed) || has_ended.load(Ordering::Relaxed))
    };
    let (there, back) = std::thread::scope(|scope| {
        let there = scope.spawn(|| carry(OneWay::new(&left, &right, settings.link.clone())));
        let back = carry(OneWay::new(&right, &left, other));
        (there.join(), back)
    });
    let there = there.unwrap_or_else(|_| Err(std::io::Error::other("the thread of a direction panicked")));
    Ok(PathStats { there: there.context("from left to right")?, back: back.context("from right to left")? })
}
