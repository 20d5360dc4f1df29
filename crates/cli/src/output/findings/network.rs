//! Findings from the network settings of this host and, as reported by a stranger, of the other one. Words are escaped
//! before they are shown, and none of them becomes a part of a command unless it is a plain name.
//!
//! Must not know: how settings are found, what the path does.

use datapump::{HostSettings, LinkFacts, ShortText, shown};

use super::{Finding, governor};

/// What of the path decides whether a setting matters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathNeeds {
    /// The round trip is long.
    pub(super) is_long: bool,
    /// Large segments do not come through.
    pub(super) is_black_hole: bool,
    /// Losses hold back what finds its rate by them, on the host that sends.
    pub(super) loses: bool,
}

const BBR: &str = "sudo sysctl -w net.ipv4.tcp_congestion_control=bbr";

/// The findings about a host.
pub(super) fn host_findings(facts: &HostSettings, needs: PathNeeds) -> Vec<Finding> {
    let plain = |name, text: &Option<ShortText>| shown_text(text).map(|value| Finding::good(name, value));
    let device = facts.link.as_ref().and_then(|link| plain_name(link.name.as_ref()));
    let found = [
        plain("pump", &facts.version),
        plain("kernel", &facts.kernel),
        shown_text(&facts.congestion).map(|name| congestion(&name, facts, needs)),
        facts.slow_start_after_idle.map(|is_on| slow_start(is_on, needs)),
        facts.mtu_probing.map(|mode| mtu_probing(mode, needs)),
        shown_text(&facts.default_qdisc).map(|name| qdisc(&name, facts)),
        facts.link.as_ref().map(link_words),
        facts.link.as_ref().map(|link| offloads(link, device)),
        facts.link.as_ref().map(|link| interrupts(link, facts.cpus)),
        facts.link.as_ref().map(|link| numa(link, facts.numa_nodes)),
        Some(shown_text(&facts.governor).map_or_else(no_governor, |name| governor(&name))),
        facts.smt.map(|is_on| smt(is_on, facts.cpus)),
    ];
    found.into_iter().flatten().collect()
}

fn shown_text(text: &Option<ShortText>) -> Option<String> {
    text.as_ref().map(|text| shown(text.as_str().as_bytes()))
}

/// A name that a shell takes for nothing else.
pub(super) fn plain_name(name: Option<&ShortText>) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    let name = name?.as_str();
    (!name.is_empty() && !name.starts_with('-') && name.bytes().all(is_plain)).then_some(name)
}

fn congestion(name: &str, facts: &HostSettings, needs: PathNeeds) -> Finding {
    let available = shown_text(&facts.congestion_available).unwrap_or_else(|| "unknown".into());
    let value = format!("{name} (available: {available})");
    let has = |wanted: &str| available.split_whitespace().any(|one| one == wanted);
    let load = if has("bbr") { "" } else { "sudo modprobe tcp_bbr && " };
    match name {
        "reno" | "cubic" | "bic" if needs.loses => Finding::change(
            "congestion",
            value,
            "it takes each loss for a full queue and slows down; bbr holds its rate under random losses",
            &format!("{load}{BBR}   # or for one copy: --congestion bbr"),
        ),
        "reno" if needs.is_long && has("cubic") => Finding::change(
            "congestion",
            value,
            "over a long path its window takes minutes to grow back after a loss; cubic's takes seconds",
            "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic",
        ),
        _ => Finding::good("congestion", value),
    }
}

fn slow_start(is_on: bool, needs: PathNeeds) -> Finding {
    match (is_on, needs.is_long) {
        (true, true) => Finding::change(
            "idle restart",
            "tcp_slow_start_after_idle=1",
            "a connection that paused for a moment begins with a small window again, which costs round trips",
            "sudo sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
        ),
        _ => Finding::good("idle restart", format!("tcp_slow_start_after_idle={}", u8::from(is_on))),
    }
}

fn mtu_probing(mode: u8, needs: PathNeeds) -> Finding {
    let value = format!("tcp_mtu_probing={mode}");
    match mode {
        0 if needs.is_black_hole => Finding::change(
            "MTU probing",
            value,
            "large segments do not come through, and the kernel does not try smaller ones",
            "sudo sysctl -w net.ipv4.tcp_mtu_probing=1",
        ),
        _ => Finding::good("MTU probing", value),
    }
}

fn qdisc(name: &str, facts: &HostSettings) -> Finding {
    let is_paced = shown_text(&facts.congestion).is_some_and(|name| name.starts_with("bbr"));
    // Loopback and tunnels have no queue of their own.
    let is_virtual = facts.link.as_ref().is_some_and(|link| link.is_virtual == Some(true));
    match (is_paced && !is_virtual, name) {
        (true, "fq") | (false, _) => Finding::good("queue", format!("default_qdisc={name}")),
        (true, _) => Finding::change(
            "queue",
            format!("default_qdisc={name}; the device's own queue was not looked at"),
            "bbr paces what it sends: fq does that for all connections, without it each has a timer, which costs CPU; \
             tc qdisc show tells whether the device has fq already, or a queue that somebody chose",
            // No tc: a root fq would take the place of one queue for each CPU (mq), or of a shaper.
            "sudo sysctl -w net.core.default_qdisc=fq   # for devices that are brought up from then on",
        ),
    }
}

fn name_of(link: &LinkFacts) -> String {
    shown_text(&link.name).unwrap_or_else(|| "unnamed".into())
}

fn link_words(link: &LinkFacts) -> Finding {
    let mtu = link.mtu_bytes.map(|bytes| format!("MTU {bytes}"));
    let speed = match link.mbit_per_s {
        _ if link.is_virtual == Some(true) => Some("made by software".into()),
        Some(speed) => Some(format!("{speed} Mbit/s")),
        None => Some("speed unknown".into()),
    };
    let parts: Vec<String> = [Some(name_of(link)), mtu, speed].into_iter().flatten().collect();
    Finding::good("device", parts.join(", "))
}

fn offloads(link: &LinkFacts, device: Option<&str>) -> Finding {
    let known = [("TSO", link.tso), ("GSO", link.gso), ("GRO", link.gro)];
    let states: Vec<String> = known
        .iter()
        .filter_map(|(name, state)| Some(format!("{name} {}", if (*state)? { "on" } else { "off" })))
        .collect();
    if states.is_empty() {
        let why = shown_text(&link.offloads_unknown).unwrap_or_else(|| "the device does not tell".into());
        return Finding::good("offloads", format!("unavailable: {why}"));
    }
    let value = states.join(", ");
    // A virtual device hands on what it gets.
    if link.is_virtual != Some(true) && known.iter().any(|(_, state)| *state == Some(false)) {
        Finding::change(
            "offloads",
            value,
            "each segment passes the kernel by itself, which costs several times the CPU",
            &format!("sudo ethtool -K {} tso on gso on gro on", device.unwrap_or("DEVICE")),
        )
    } else {
        Finding::good("offloads", value)
    }
}

fn interrupts(link: &LinkFacts, cpus: Option<u32>) -> Finding {
    let (Some(interrupts), Some(taken_by)) = (link.interrupts, link.interrupt_cpus) else {
        let why = if link.is_virtual == Some(true) {
            "no device is behind it"
        } else {
            "this system does not show them"
        };
        return Finding::good("interrupts", format!("unavailable: {why}"));
    };
    let value = format!("{interrupts}, taken by {taken_by} CPU(s)");
    if interrupts > 1 && taken_by == 1 && cpus.is_some_and(|cpus| cpus > 1) {
        Finding::change(
            "interrupts",
            value,
            "one CPU does the work of all queues of the device",
            "sudo systemctl enable --now irqbalance",
        )
    } else {
        Finding::good("interrupts", value)
    }
}

fn numa(link: &LinkFacts, nodes: Option<u32>) -> Finding {
    match (link.numa_node, nodes) {
        (Some(node), Some(nodes @ 2..)) => Finding::change(
            "NUMA",
            format!("{nodes} nodes, the device is at node {node}"),
            "a pump on another node moves each byte between the nodes",
            &format!("numactl --cpunodebind={node} --membind={node} pump …"),
        ),
        (None, Some(nodes @ 2..)) => {
            Finding::good("NUMA", format!("{nodes} nodes; the device does not tell its own"))
        }
        (_, Some(_)) => Finding::good("NUMA", "one node"),
        (_, None) => Finding::good("NUMA", "unavailable: the kernel tells no nodes"),
    }
}

fn no_governor() -> Finding {
    Finding::good("CPU governor", "unavailable: the kernel does not set the CPU's speed (a virtual machine?)")
}

fn smt(is_on: bool, cpus: Option<u32>) -> Finding {
    let cpus = cpus.map_or_else(String::new, |cpus| format!(", {cpus} CPUs"));
    if is_on {
        Finding::good("SMT", format!("on{cpus}: two of them share a core"))
    } else {
        Finding::good("SMT", format!("off{cpus}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str) -> Option<ShortText> {
        Some(ShortText::shortened(words))
    }

    fn one(facts: &HostSettings, needs: PathNeeds, name: &str) -> Finding {
        let found = host_findings(facts, needs);
        found
            .iter()
            .find(|finding| finding.name == name)
            .unwrap_or_else(|| panic!("no {name}: {found:?}"))
            .clone()
    }

    #[test]
    fn a_setting_is_changed_where_the_path_needs_it() {
        let facts = HostSettings {
            congestion: text("reno"),
            congestion_available: text("reno cubic bbr"),
            slow_start_after_idle: Some(true),
            mtu_probing: Some(0),
            default_qdisc: text("pfifo_fast"),
            link: Some(LinkFacts { gro: Some(false), tso: Some(true), ..LinkFacts::default() }),
            ..HostSettings::default()
        };
        let long = PathNeeds { is_long: true, ..PathNeeds::default() };
        let hole = PathNeeds { is_black_hole: true, ..PathNeeds::default() };
        let loses = PathNeeds { loses: true, ..PathNeeds::default() };
        for (name, needs, command) in [
            ("congestion", long, "=cubic"),
            ("congestion", loses, "sudo sysctl -w net.ipv4.tcp_congestion_control=bbr"),
            ("idle restart", long, "tcp_slow_start_after_idle=0"),
            ("MTU probing", hole, "tcp_mtu_probing=1"),
            ("offloads", PathNeeds::default(), "ethtool -K DEVICE"),
        ] {
            let finding = one(&facts, needs, name);
            assert!(!finding.good && finding.advice.is_some(), "{finding:?}");
            assert!(finding.command.as_ref().is_some_and(|words| words.contains(command)), "{finding:?}");
        }
        for name in ["congestion", "idle restart", "MTU probing", "queue", "NUMA", "interrupts"] {
            assert!(one(&facts, PathNeeds::default(), name).good, "{name}");
        }
        let paced = HostSettings { congestion: text("bbr"), ..facts };
        assert!(!one(&paced, long, "queue").good && one(&paced, loses, "congestion").good);
        let queue = one(&paced, long, "queue").command.expect("it says how");
        assert!(
            queue.contains("default_qdisc=fq") && !queue.contains("tc "),
            "no queue is replaced: {queue}"
        );
    }

    #[test]
    fn a_device_of_a_machine_with_nodes_is_shown_with_its_own() {
        let link = LinkFacts {
            name: text("eth0"),
            interrupts: Some(8),
            interrupt_cpus: Some(1),
            numa_node: Some(1),
            ..LinkFacts::default()
        };
        let facts =
            HostSettings { link: Some(link), numa_nodes: Some(2), cpus: Some(8), ..HostSettings::default() };
        assert!(one(&facts, PathNeeds::default(), "NUMA").command.is_some_and(|it| it.contains("=1 ")));
        assert!(!one(&facts, PathNeeds::default(), "interrupts").good);
    }

    /// Words of a stranger are shown escaped, and are no part of a command that somebody pastes into a shell.
    #[test]
    fn words_of_a_stranger_do_no_harm() {
        let link = LinkFacts { name: text("eth0; rm -rf ~"), tso: Some(false), ..LinkFacts::default() };
        let facts = HostSettings {
            congestion: text("bbr"),
            default_qdisc: text("\x1b[2Jx"),
            kernel: text("a\nok      pump"),
            link: Some(link),
            ..HostSettings::default()
        };
        for finding in host_findings(&facts, PathNeeds::default()) {
            let all = format!("{} {:?}", finding.value, finding.command);
            assert!(!finding.value.contains(['\n', '\x1b']), "{all}");
            assert!(!finding.command.unwrap_or_default().contains("rm"), "{all}");
        }
        for (name, is_plain) in
            [("eth0.7", true), ("-x", false), ("", false), ("a b", false), ("$(a)", false)]
        {
            assert_eq!(plain_name(text(name).as_ref()).is_some(), is_plain, "{name}");
        }
    }
}
