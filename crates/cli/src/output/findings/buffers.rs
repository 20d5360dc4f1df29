//! Finding: are the greatest socket buffers of both hosts as large as the bandwidth-delay product? A host receives into
//! its receive buffer and sends from its send buffer; the smaller of the two that a transfer uses limits it.
//!
//! Must not know: how settings are found.

use datapump::HostSettings;
use datapump::units::{bit_rate_words, bytes_words};
use datapump_netlab::congestion::{buffer_needed_bytes, limited_by_buffer_bytes_per_s};

use super::Finding;
use super::messages::ms_words;

/// The two rates that paths usually have.
const GIGABIT_BYTES_PER_S: f64 = 125e6;
const TEN_GIGABIT_BYTES_PER_S: f64 = 1250e6;
/// The share of a buffer that is data; the rest is the kernel's own bookkeeping (tcp(7), tcp_adv_win_scale).
const DATA_SHARE: f64 = 0.5;
/// No buffer is advised to be greater: each connection may take as much of the host's memory.
const ADVISED_MAX_BYTES: u64 = 256 << 20;

/// Without window scaling no window is larger (RFC 7323).
const UNSCALED_BYTES: f64 = 65_535.0;

const NOT_MEASURED: &str = "no change follows: this host's kernel did not measure the round trip";
const GREATEST: &str = "no greater one is advised";

/// What buffers are held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferNeeds {
    pub(super) round_trip_s: f64,
    /// The connections of a copy: each has buffers of its own.
    pub(super) connections: u32,
    /// Both network devices are known to be that fast.
    pub(super) is_ten_gigabit: bool,
    /// This host's kernel measured the round trip. No setting follows from what another host says.
    pub(super) is_measured: bool,
}

/// Both buffers of a host, and whether windows may be as large.
pub(super) fn buffer_findings(facts: &HostSettings, needs: BufferNeeds) -> Vec<Finding> {
    let kinds = [
        ("receive buffer", "tcp_rmem", "receives", facts.receive_buffer),
        ("send buffer", "tcp_wmem", "sends", facts.send_buffer),
    ];
    let buffers = kinds
        .into_iter()
        .filter_map(|(name, key, verb, sizes)| sizes.map(|sizes| buffer(name, key, verb, sizes, needs)));
    window_scaling(facts, needs).into_iter().chain(buffers).collect()
}

/// Nothing where it is on: that is usual.
fn window_scaling(facts: &HostSettings, needs: BufferNeeds) -> Option<Finding> {
    let BufferNeeds { round_trip_s, connections, is_measured, .. } = needs;
    let is_off = facts.window_scaling == Some(false);
    let most_bytes = UNSCALED_BYTES * f64::from(connections.max(1));
    let value = || "off: a TCP window has at most 64 KiB".to_owned();
    if !is_off {
        return None;
    }
    if !is_measured || most_bytes >= buffer_needed_bytes(GIGABIT_BYTES_PER_S, round_trip_s) {
        return Some(Finding::good("window scaling", value()));
    }
    let most = limited_by_buffer_bytes_per_s(GIGABIT_BYTES_PER_S, round_trip_s, most_bytes);
    let advice = format!(
        "no more than {} fit over this round trip with {connections} connections, whatever the buffers are",
        bit_rate_words(most)
    );
    let command = "sudo sysctl -w net.ipv4.tcp_window_scaling=1";
    Some(Finding::change("window scaling", value(), &advice, command))
}

fn buffer(name: &str, key: &str, verb: &str, sizes: [u64; 3], needs: BufferNeeds) -> Finding {
    let BufferNeeds { round_trip_s, connections, is_ten_gigabit, is_measured } = needs;
    let data_bytes = sizes[2] as f64 * DATA_SHARE * f64::from(connections.max(1));
    let needed = |rate: f64| buffer_needed_bytes(rate, round_trip_s);
    let holds = |rate: f64| data_bytes >= needed(rate);
    let fit_words = |rate: f64| {
        let word = if holds(rate) { "holds" } else { "does not hold" };
        format!("{word} {} ({})", bit_rate_words(rate), bytes_words(needed(rate) as u64))
    };
    let value = format!(
        "{key} up to {}, {connections} connections: at {} {}, {}",
        bytes_words(sizes[2]),
        ms_words(round_trip_s),
        fit_words(GIGABIT_BYTES_PER_S),
        fit_words(TEN_GIGABIT_BYTES_PER_S)
    );
    let wanted = if is_ten_gigabit { TEN_GIGABIT_BYTES_PER_S } else { GIGABIT_BYTES_PER_S };
    if holds(wanted) {
        return Finding::good(name, value);
    } else if !is_measured {
        return Finding::good(name, format!("{value}; {NOT_MEASURED}"));
    } else if sizes[2] >= ADVISED_MAX_BYTES {
        return Finding::good(name, format!("{value}; {GREATEST}"));
    }
    let most = limited_by_buffer_bytes_per_s(wanted, round_trip_s, data_bytes);
    let advice = format!(
        "what this host {verb} cannot exceed {} over this round trip: about half of a buffer is data",
        bit_rate_words(most)
    );
    Finding::change(name, value, &advice, &command(key, sizes, needed(wanted) / DATA_SHARE))
}

/// One connection alone fills the path then.
fn command(key: &str, [least, first, _]: [u64; 3], bytes: f64) -> String {
    let most = (bytes as u64).min(ADVISED_MAX_BYTES).div_ceil(1 << 20).max(1) << 20;
    format!("sudo sysctl -w net.ipv4.{key}='{least} {first} {most}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_held_against_the_product_of_rate_and_round_trip() {
        let needs = |ms: f64, is_ten_gigabit| BufferNeeds {
            round_trip_s: ms / 1e3,
            connections: 2,
            is_ten_gigabit,
            is_measured: true,
        };
        let facts = |most: u64| HostSettings {
            receive_buffer: Some([4096, 131_072, most]),
            send_buffer: Some([4096, 16_384, 4 << 20]),
            ..HostSettings::default()
        };
        // 1 Gbit/s over 20 ms is 2.5 MB: two times half of 6 MiB hold it, two times half of 1 MiB do not.
        for (most, needs, is_good) in [
            (6 << 20, needs(20.0, false), true),
            (1 << 20, needs(20.0, false), false),
            (6 << 20, needs(20.0, true), false),
            (6 << 20, needs(180.0, false), false),
            (1 << 20, needs(0.1, true), true),
        ] {
            let found = buffer_findings(&facts(most), needs);
            assert_eq!(found[0].good, is_good, "{found:?}");
        }
        let found = buffer_findings(&facts(1 << 20), needs(20.0, false));
        assert_eq!(found.len(), 2);
        let command = found[0].command.as_deref().expect("it says how");
        assert_eq!(command, "sudo sysctl -w net.ipv4.tcp_rmem='4096 131072 5242880'");
        assert!(found[0].advice.as_ref().is_some_and(|words| words.contains("419 Mbit/s")), "{found:?}");
        assert!(found[1].good && found[1].value.contains("does not hold 10 Gbit/s"), "{found:?}");
        assert!(buffer_findings(&HostSettings::default(), needs(20.0, false)).is_empty());
    }

    #[test]
    fn windows_without_scaling_hold_little_over_a_long_path() {
        let facts = |window_scaling| HostSettings { window_scaling, ..HostSettings::default() };
        let needs = |ms: f64, is_measured| BufferNeeds {
            round_trip_s: ms / 1e3,
            connections: 2,
            is_ten_gigabit: false,
            is_measured,
        };
        for (window_scaling, needs, is_good) in [
            (Some(false), needs(20.0, true), Some(false)),
            (Some(false), needs(20.0, false), Some(true)),
            (Some(false), needs(0.1, true), Some(true)),
            (Some(true), needs(20.0, true), None),
            (None, needs(20.0, true), None),
        ] {
            let found = buffer_findings(&facts(window_scaling), needs);
            assert_eq!(found.first().map(|finding| finding.good), is_good, "{found:?}");
        }
        let found = &buffer_findings(&facts(Some(false)), needs(20.0, true))[0];
        assert_eq!(found.command.as_deref(), Some("sudo sysctl -w net.ipv4.tcp_window_scaling=1"));
        // 2 x 64 KiB in 20 ms.
        assert!(found.advice.as_ref().is_some_and(|words| words.contains("52.4 Mbit/s")), "{found:?}");
    }

    /// Whatever a stranger tells, there is a finding, and no number of his sizes this host's memory.
    #[test]
    fn any_number_of_a_stranger_is_taken() {
        let most = Some([u64::MAX; 3]);
        let facts =
            HostSettings { receive_buffer: most, send_buffer: Some([0; 3]), ..HostSettings::default() };
        for round_trip_s in [0.0, 1e-9, 1.0, 1e9, f64::MAX] {
            let needs = |is_measured| BufferNeeds {
                round_trip_s,
                connections: u32::MAX,
                is_ten_gigabit: true,
                is_measured,
            };
            let found = buffer_findings(&facts, needs(false));
            assert!(found.len() == 2 && found.iter().all(|finding| finding.good), "{found:?}");
            let send = &buffer_findings(&facts, needs(true))[1];
            let most: Option<u64> = send.command.as_deref().and_then(|command| {
                command.trim_end_matches('\'').rsplit(' ').next().and_then(|word| word.parse().ok())
            });
            assert!(send.good || most.is_some_and(|most| most <= 256 << 20), "{send:?}");
            assert_eq!(most == Some(256 << 20), round_trip_s >= 1.0, "{send:?}");
        }
        let great = HostSettings { receive_buffer: Some([4096, 131_072, 256 << 20]), ..facts };
        let needs =
            BufferNeeds { round_trip_s: 60.0, connections: 1, is_ten_gigabit: true, is_measured: true };
        let found = buffer_findings(&great, needs);
        assert!(
            found[0].good && found[0].value.contains("no greater one"),
            "never to a smaller one: {found:?}"
        );
    }
}
