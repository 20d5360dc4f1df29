//! Statement S67: a stripe over k devices is as fast as k times the slowest, until another part is slower; and the
//! published rates. The product itself on simulated devices, each member on one of its own.

use crate::golden::{relative, table};
use datapump::simulation::{Device, Faults, SimClock, SimDisk, Simulation};
use datapump::{Event, Fill, Job, Options, Place, Platform, Report};
use std::ffi::OsStr;

const MEMBER_BYTES_PER_S: u64 = 40_000_000;
const CHUNK: u64 = 64 << 10;
/// So many chunks on each member: what begins and ends a run is less than a per cent.
const CHUNKS_EACH: u64 = 120;

/// Bytes per second of a stripe over members of these rates, as source or as target, beside another device.
fn rate(members: &[u64], other_bytes_per_s: u64, writes: bool) -> f64 {
    let disk = SimDisk::new();
    let names: Vec<String> = (0..members.len()).map(|number| format!("m{number}")).collect();
    disk.put(b"s.toml", format!("chunk = \"64KiB\"\nmembers = {names:?}\n").as_bytes());
    for (name, &bytes_per_s) in names.iter().zip(members) {
        disk.put(name.as_bytes(), &vec![7; (CHUNKS_EACH * CHUNK) as usize]);
        disk.put_on(name.as_bytes(), Device { latency_ps: 500_000_000, bytes_per_s, synchronous: false });
    }
    let bytes = CHUNKS_EACH * CHUNK * members.len() as u64;
    let (clock, idle) = (SimClock::virtual_time(), Device::default());
    let other = Device { bytes_per_s: other_bytes_per_s, ..idle };
    let platform = Platform::simulated(Simulation {
        disk,
        clock: clock.clone(),
        source: if writes { other } else { idle },
        sink: if writes { idle } else { other },
        faults: Faults::default(),
        seed: 1,
    });
    let stripe = Place::parse(OsStr::new("stripe:s.toml")).expect("a place");
    let null = |bytes| Place::Null { bytes, fill: Fill::Zero };
    let job =
        if writes { Job::copy(vec![null(Some(bytes))], stripe) } else { Job::copy(vec![stripe], null(None)) };
    let told = std::sync::Mutex::new(Vec::new());
    let events = |event| {
        if let Event::Problem(problem) = event {
            told.lock().expect("no panic").push(problem);
        }
    };
    let report: Report = job.options(Options::default()).platform(platform).run_reported(&events);
    assert_eq!((report.exit_status, report.bytes), (0, bytes), "{told:?}");
    bytes as f64 / (clock.now_ps() as f64 / 1e12)
}

#[test]
fn s67_the_rate_is_that_of_the_slowest_member_times_their_number() {
    let slow = MEMBER_BYTES_PER_S * 3 / 4;
    for writes in [false, true] {
        for count in 1..=6 {
            let members = vec![MEMBER_BYTES_PER_S; count];
            let expected = (count as u64 * MEMBER_BYTES_PER_S) as f64;
            let found = rate(&members, 0, writes);
            assert!(
                relative(found, expected) < 0.05,
                "{count} members, writes {writes}: {found} of {expected}"
            );
            // One member a quarter slower: all wait for it.
            let mut members = members;
            members[count / 2] = slow;
            let (expected, found) = ((count as u64 * slow) as f64, rate(&members, 0, writes));
            assert!(
                relative(found, expected) < 0.05,
                "{count}, one slow, writes {writes}: {found} of {expected}"
            );
        }
    }
}

#[test]
fn s67_where_another_part_is_the_slowest_a_slow_member_changes_nothing() {
    let other = 100_000_000;
    for writes in [false, true] {
        for slow in [MEMBER_BYTES_PER_S, MEMBER_BYTES_PER_S * 3 / 4] {
            let found =
                rate(&[MEMBER_BYTES_PER_S, slow, MEMBER_BYTES_PER_S, MEMBER_BYTES_PER_S], other, writes);
            assert!(relative(found, other as f64) < 0.05, "writes {writes}, {slow}: {found} of {other}");
        }
    }
}

/// "Disks" of the slides 37 to 49: six disks of 75 MB/s could give 3600 Mbit/s and gave 1500 and 1725.
#[test]
fn s67_the_published_rates() {
    let disks = table("disk_parameters.csv");
    let value = |quantity: &str| {
        let row = disks.iter().find(|row| row.text("quantity") == quantity);
        row.unwrap_or_else(|| panic!("no {quantity}")).number("value")
    };
    let rates = table("raid_rates.csv");
    let measured = rates.iter().find(|row| row.text("slide") == "49").expect("slide 49");
    let ceiling_mbit_s = measured.number("disks") * value("disk_to_buffer_rate") * 8.0;
    assert_eq!(ceiling_mbit_s, 3600.0);
    assert_eq!((measured.number("read_mbit_per_s"), measured.number("write_mbit_per_s")), (1500.0, 1725.0));
    assert!(measured.number("write_mbit_per_s") < ceiling_mbit_s, "another part was slower than the disks");
    // So a member slower by 25 % changes nothing: 6 x 56.25 MB/s are still more.
    let slowest = value("disk_to_buffer_rate") * (1.0 - value("slow_drive_deficit") / 100.0);
    assert!(measured.number("disks") * slowest * 8.0 > measured.number("write_mbit_per_s"));
    let zone_percent = (1.0 - value("inner_zone_rate") / value("outer_zone_rate")) * 100.0;
    assert!((zone_percent - 39.7).abs() < 0.05 && (zone_percent - value("zone_effect")).abs() < 0.5);
    let yearly_percent = 24.0 * 365.0 / value("mtbf") * 100.0;
    assert!((yearly_percent - 2.19).abs() < 0.005, "{yearly_percent}");
}
