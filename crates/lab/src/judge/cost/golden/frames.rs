//! Frames of UDP through buses and links of 2003 (Hughes-Jones): latency by the parts of a path, rates on the wire, and
//! what fewer interrupts and larger frames gain.
//!
//! Must not know: which statements there are.

use std::path::Path;

use anyhow::Context;

use super::{CheckFound, GoldenCheck, apart};
use crate::judge::cost::table::CsvTable;
use crate::judge::frames::{spacing_min_s, user_rate_bytes_per_s, wire_bytes};

const MBIT: f64 = 125e3;

/// The statements about frames.
pub const CHECKS: [GoldenCheck; 6] = [
    ("S50", "latency's slope: the sum of buses and link", 1.0, "half of the last digit", latency_slopes),
    ("S52", "rates of frames on the wire", 1e-6, "relative", line_rates),
    ("E25", "rates without loss are those of the wire", 0.01, "us", rates_without_loss),
    ("E27", "how long buses are busy", 0.5, "percentage points", bus_occupancy),
    ("S56", "spread of rates by interrupts, and TCP's ceiling", 0.2, "percent", coalescence),
    ("S57", "larger frames by line and CPU", 0.1, "percentage points", larger_frames),
];

/// A frame crosses the sender's bus, the link and the receiver's bus.
fn latency_slopes(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("udp_latency.csv"))?;
    let (mut worst, mut told) = (0.0_f64, Vec::new());
    for (row, stated) in table.rows().zip([1.23, 1.96]) {
        let parts = ["pci_send_us_per_byte", "link_us_per_byte", "pci_receive_us_per_byte"];
        let sum = parts.iter().map(|part| row.above_zero(part)).sum::<Result<f64, _>>()?;
        let expected = row.above_zero("expected_slope_us_per_byte")?;
        let measured = row.above_zero("measured_slope_us_per_byte")? / expected;
        worst = worst.max((sum - expected).abs() / 0.00005).max((measured - stated).abs() / 0.005);
        told.push(format!("{measured:.2} times {expected} us a byte"));
    }
    Ok((worst, told.join(", ")))
}

fn line_rates(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("ref_udp_line_rate.csv"))?;
    let mut worst = 0.0_f64;
    for row in table.rows() {
        let (link, payload) =
            (row.above_zero("link_mbit_per_s")? * MBIT, row.whole("udp_payload_bytes", 1, 1 << 16)?);
        for (got, column) in [
            (wire_bytes(payload) as f64, "wire_bytes_per_frame"),
            (spacing_min_s(payload, link) * 1e6, "minimum_spacing_us"),
            (user_rate_bytes_per_s(payload, link, 0.0) / MBIT, "max_user_rate_mbit_per_s"),
        ] {
            worst = worst.max(apart(got, row.number(column)?));
        }
    }
    // What a slide gives as a rate is that of the wire.
    let spacing_us = spacing_min_s(1472, 720.0 * MBIT) * 1e6;
    worst = worst.max(if (spacing_us - 17.09).abs() <= 0.005 { 0.0 } else { f64::INFINITY });
    Ok((worst, format!("{} frames; 720 Mbit/s are {spacing_us:.2} us", table.rows().count())))
}

/// The fastest is above what payload alone can be, and 584 Mbit/s are frames 21.07 us apart, where the slide has no loss from
/// 18 us on.
fn rates_without_loss(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("udp_throughput.csv"))?;
    let rates = table.rows().map(|row| row.above_zero("max_throughput_mbit_per_s"));
    let fastest = rates.collect::<Result<Vec<f64>, _>>()?.into_iter().fold(0.0, f64::max);
    let ceiling = user_rate_bytes_per_s(1472, 1000.0 * MBIT, 0.0) / MBIT;
    let first = table.rows().next().context("no rows")?;
    let spacing_us = spacing_min_s(1472, first.above_zero("max_throughput_mbit_per_s")? * MBIT) * 1e6;
    let is_of_the_wire = fastest > ceiling && fastest <= 1000.0;
    let detail = format!("{fastest} Mbit/s, payload at most {ceiling:.1}; frames {spacing_us:.2} us apart");
    Ok((if is_of_the_wire { (spacing_us - 21.07).abs() } else { f64::INFINITY }, detail))
}

/// One slide counts both buses. The other counts the sender's alone, and prints 82 for 84.5 %.
fn bus_occupancy(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("pci_bus.csv"))?;
    let slide = |number| table.row_with(&[("slide", number)]);
    let (both, one) = (slide("19")?, slide("25")?);
    let [send, receive, spacing] =
        ["send_bus_busy_us", "receive_bus_busy_us", "spacing_us"].map(|column| both.above_zero(column));
    let of_both = 100.0 * (send? + receive?) / spacing?;
    let of_one = 100.0 * one.above_zero("send_bus_busy_us")? / one.above_zero("spacing_us")?;
    let is_known_to_depart = (of_one - 84.5).abs() <= 0.1;
    let worst = (of_both - both.above_zero("bus_occupancy_percent")?).abs();
    let detail = format!("{of_both:.1} % of both; {of_one:.1} % of one, printed as 82");
    Ok((if is_known_to_depart { worst } else { f64::INFINITY }, detail))
}

/// Half of the range of rates; 940 Mbit/s are what TCP leaves of a gigabit.
fn coalescence(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("interrupt_coalescence.csv"))?;
    let half = |delay| -> anyhow::Result<(f64, f64)> {
        let row = table.row_with(&[("rx_delay", delay)])?;
        let [least, most] =
            ["throughput_min_mbit_per_s", "throughput_max_mbit_per_s"].map(|it| row.above_zero(it));
        Ok(((most? - least?) / 2.0, row.above_zero("throughput_spread_mbit_per_s")?))
    };
    let (none, some) = (half("0")?, half("20")?);
    let ceiling = 1448.0 / wire_bytes(1472) as f64 * 1000.0;
    let is_stated = none == (80.0, 50.0) && some == (1.5, 1.5);
    let worst = 100.0 * apart(940.0, ceiling);
    let detail =
        format!("half ranges {} (stated 50) and {}; a ceiling of {ceiling:.1} Mbit/s", none.0, some.0);
    Ok((if is_stated { worst } else { f64::INFINITY }, detail))
}

/// The ceiling grows with the frame; a rate that the CPU limits grows as the payload.
fn larger_frames(folder: &Path) -> CheckFound {
    let ten = CsvTable::read(&folder.join("ten_gig_udp.csv"))?;
    let row = ten.row_with(&[("host", "HP dual Itanium 1.0 GHz")])?;
    let share = 100.0 * row.above_zero("throughput_gbit_per_s")? / row.above_zero("expected_gbit_per_s")?;
    let ceilings = [1472, 8972, 16_080].map(|payload| user_rate_bytes_per_s(payload, 1000.0 * MBIT, 0.0));
    // So slow a CPU that no frame is limited by the line.
    let [small, large] = [1472, 8972].map(|payload| user_rate_bytes_per_s(payload, 1000.0 * MBIT, 1e-3));
    let grows = ceilings.windows(2).all(|two| two[0] < two[1]);
    let is_payload = (large / small / 6.1 - 1.0).abs() <= 0.05;
    let detail =
        format!("{share:.1} % of what was expected; the CPU's rate grows {:.2} times", large / small);
    Ok((if grows && is_payload { (share - 81.4).abs() } else { f64::INFINITY }, detail))
}
