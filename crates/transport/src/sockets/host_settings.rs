//! Network settings of this host, and of the device that a connection uses, as the kernel reports them. Nothing is
//! changed, and nobody needs a privilege to ask.
//!
//! Must not know: sessions, who asks, what is good or bad about a setting.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use datapump_core::wire::session::{HostSettings, LinkFacts, ShortText};
use datapump_engine::os::linux::{LinkOffload, device_with_address, has_offload};

use crate::channel::SocketFacts;

/// The facts of this host, of the pump of this version. Of a connection: the device that has its address, and its own
/// congestion control instead of the usual one.
pub fn host_settings(version: &str, socket: Option<&SocketFacts>) -> HostSettings {
    let facts = SettingsTree::of_system().facts();
    let congestion = socket.and_then(|socket| socket.congestion.as_deref());
    HostSettings {
        version: Some(ShortText::shortened(version)),
        congestion: congestion.map(ShortText::shortened).or(facts.congestion.clone()),
        link: socket.and_then(|socket| link_facts(socket.local.ip())),
        ..facts
    }
}

/// The device that has this address.
fn link_facts(address: IpAddr) -> Option<LinkFacts> {
    let name = device_with_address(address.to_canonical())?;
    let mut link = SettingsTree::of_system().link(&name);
    for (offload, state) in [
        (LinkOffload::Tso, &mut link.tso),
        (LinkOffload::Gso, &mut link.gso),
        (LinkOffload::Gro, &mut link.gro),
    ] {
        match has_offload(&name, offload) {
            Ok(is_on) => *state = Some(is_on),
            Err(error) => link.offloads_unknown = Some(ShortText::shortened(&error.to_string())),
        }
    }
    Some(link)
}

/// Where `/proc` and `/sys` are.
struct SettingsTree(PathBuf);

impl SettingsTree {
    fn of_system() -> SettingsTree {
        SettingsTree(PathBuf::from("/"))
    }

    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        Some(read_to_string(self.0.join(path)).ok()?.trim().to_owned())
    }

    fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    fn words(&self, path: &str) -> Option<ShortText> {
        self.text(path).filter(|text| !text.is_empty()).map(|text| ShortText::shortened(&text))
    }

    fn tcp(&self, name: &str) -> String {
        format!("proc/sys/net/ipv4/tcp_{name}")
    }

    fn facts(&self) -> HostSettings {
        HostSettings {
            kernel: self.words("proc/sys/kernel/osrelease"),
            congestion: self.words(&self.tcp("congestion_control")),
            congestion_available: self.words(&self.tcp("available_congestion_control")),
            slow_start_after_idle: self
                .number::<u8>(self.tcp("slow_start_after_idle"))
                .map(|value| value != 0),
            window_scaling: self.number::<u8>(self.tcp("window_scaling")).map(|value| value != 0),
            mtu_probing: self.number(self.tcp("mtu_probing")),
            default_qdisc: self.words("proc/sys/net/core/default_qdisc"),
            receive_buffer: self.three(&self.tcp("rmem")),
            send_buffer: self.three(&self.tcp("wmem")),
            governor: self.words("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            smt: self.number::<u8>("sys/devices/system/cpu/smt/active").map(|value| value != 0),
            cpus: self.text("sys/devices/system/cpu/online").and_then(|list| count(&list)),
            numa_nodes: self.text("sys/devices/system/node/online").and_then(|list| count(&list)),
            ..HostSettings::default()
        }
    }

    /// `least first greatest`.
    fn three(&self, path: &str) -> Option<[u64; 3]> {
        let numbers: Vec<u64> = self.text(path)?.split_whitespace().map_while(|it| it.parse().ok()).collect();
        numbers.try_into().ok()
    }

    fn link(&self, name: &str) -> LinkFacts {
        let folder = Path::new("sys/class/net").join(name);
        // Without the folder this /sys is another network's.
        let is_there = self.0.join(&folder).exists();
        let device = self.0.join(&folder).join("device").canonicalize().ok();
        let interrupts = device.as_deref().map(interrupts).filter(|numbers| !numbers.is_empty());
        LinkFacts {
            name: Some(ShortText::shortened(name)),
            mtu_bytes: self.number(folder.join("mtu")),
            // A device that does not know its speed says -1.
            mbit_per_s: self.number::<i64>(folder.join("speed")).and_then(|speed| u32::try_from(speed).ok()),
            is_virtual: is_there.then_some(device.is_none()),
            numa_node: device.as_deref().and_then(node),
            interrupt_cpus: interrupts.as_deref().and_then(|numbers| self.interrupt_cpus(numbers)),
            interrupts: interrupts.map(|numbers| numbers.len() as u32),
            ..LinkFacts::default()
        }
    }

    /// CPUs that take one of these interrupts.
    fn interrupt_cpus(&self, numbers: &[String]) -> Option<u32> {
        let mut cpus = BTreeSet::new();
        for number in numbers {
            let of = |name: &str| self.text(Path::new("proc/irq").join(number).join(name));
            let list = of("effective_affinity_list").filter(|list| !list.is_empty());
            cpus.extend(list.or_else(|| of("smp_affinity_list")).iter().flat_map(|list| members(list)));
        }
        (!cpus.is_empty()).then_some(cpus.len() as u32)
    }
}

/// The interrupts of a device, or of the one that it is a part of, as virtio's are.
fn interrupts(device: &Path) -> Vec<String> {
    let of = |folder: &Path| -> Vec<String> {
        let entries = read_dir(folder.join("msi_irqs")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    device.ancestors().take(2).map(of).find(|numbers| !numbers.is_empty()).unwrap_or_default()
}

/// The node of memory of a device, or of the one that it is a part of; a machine with one node says -1.
fn node(device: &Path) -> Option<u32> {
    let number = |folder: &Path| read_to_string(folder.join("numa_node")).ok()?.trim().parse::<u32>().ok();
    device.ancestors().take(2).find_map(number)
}

/// No host has more CPUs.
const MEMBERS_MAX: u32 = 1 << 16;

/// `0-3,8` of cpuset(7).
fn members(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        Some(first..=last.min(MEMBERS_MAX))
    };
    list.split(',').filter_map(range).flatten().collect()
}

fn count(list: &str) -> Option<u32> {
    Some(members(list).len() as u32).filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with these files.
    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, SettingsTree) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("room");
            std::fs::write(path, text).expect("room");
        }
        let tree = SettingsTree(folder.path().to_owned());
        (folder, tree)
    }

    #[test]
    fn settings_are_read_and_what_is_missing_stays_unknown() {
        let (_folder, tree) = tree(&[
            ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
            ("proc/sys/net/ipv4/tcp_slow_start_after_idle", "1\n"),
            ("proc/sys/net/ipv4/tcp_window_scaling", "0\n"),
            ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n"),
            ("sys/devices/system/cpu/online", "0-3,8\n"),
            ("sys/devices/system/cpu/smt/active", "0\n"),
        ]);
        let facts = tree.facts();
        assert_eq!(facts.receive_buffer, Some([4096, 131_072, 6_291_456]));
        assert_eq!((facts.slow_start_after_idle, facts.smt, facts.cpus), (Some(true), Some(false), Some(5)));
        assert_eq!(facts.congestion_available, Some(ShortText::shortened("reno cubic")));
        assert_eq!(facts.window_scaling, Some(false));
        assert_eq!((facts.send_buffer, facts.kernel, facts.mtu_probing), (None, None, None));
    }

    #[test]
    fn a_device_has_the_interrupts_of_what_it_is_a_part_of() {
        let (folder, tree) = tree(&[
            ("sys/devices/pci/msi_irqs/24", "msix"),
            ("sys/devices/pci/msi_irqs/25", "msix"),
            ("sys/devices/pci/numa_node", "1\n"),
            ("sys/devices/pci/virtio0/vendor", "1"),
            ("proc/irq/24/effective_affinity_list", "2\n"),
            ("proc/irq/25/effective_affinity_list", "\n"),
            ("proc/irq/25/smp_affinity_list", "2-3\n"),
            ("sys/class/net/eth0/mtu", "9000\n"),
            ("sys/class/net/eth0/speed", "-1\n"),
            ("sys/class/net/tun0/speed", "10000\n"),
        ]);
        let link = folder.path().join("sys/class/net/eth0/device");
        std::os::unix::fs::symlink("../../../devices/pci/virtio0", link).expect("a link");
        let eth = tree.link("eth0");
        assert_eq!((eth.interrupts, eth.interrupt_cpus, eth.numa_node), (Some(2), Some(2), Some(1)));
        assert_eq!((eth.mtu_bytes, eth.mbit_per_s, eth.is_virtual), (Some(9000), None, Some(false)));
        let tun = tree.link("tun0");
        assert_eq!((tun.is_virtual, tun.mbit_per_s, tun.interrupts), (Some(true), Some(10_000), None));
        assert_eq!(tree.link("of another network").is_virtual, None);
    }

    #[test]
    fn this_host_tells_its_settings() {
        let facts = host_settings("1.2.3", None);
        assert!(facts.kernel.is_some() && facts.congestion.is_some(), "{facts:?}");
        assert!(facts.receive_buffer.is_some_and(|[least, _, most]| least <= most), "{facts:?}");
        assert_eq!(facts.link, None);
        let link = link_facts(std::net::Ipv4Addr::LOCALHOST.into()).expect("loopback");
        assert!(link.tso.is_some() || link.offloads_unknown.is_some(), "{link:?}");
    }
}
