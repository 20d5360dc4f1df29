//! Windows, rounds and shares of TCP (RFC 3649; Hughes-Jones): the reference tables and what the slides say.
//!
//! Must not know: which statements there are.

use std::path::Path;

use anyhow::Context;

use super::{CheckFound, GoldenCheck, apart};
use crate::judge::cost::input::InputError;
use crate::judge::cost::table::{CsvRow, CsvTable};
use crate::study::builtin;
use crate::study::{Changes, Study};
use datapump_netlab::congestion::{self, Stack};

const MBIT: f64 = 125e3;

/// The statements about windows.
pub const CHECKS: [GoldenCheck; 9] = [
    ("S59", "windows at each loss rate", 1e-6, "relative", response),
    ("S59", "HighSpeed's steps: window, gain, part lost", 1e-6, "relative", highspeed),
    ("M12", "what a window gains and loses", 1e-9, "relative", stacks),
    ("S61", "Reno's recovery, and that of three stacks", 1e-6, "relative", recovery),
    ("S62", "rates that buffers allow", 1e-6, "relative", buffers),
    ("S63", "rounds of an answer in slow start", 0.0, "rounds", rounds),
    ("S64", "Jain's index", 1e-6, "relative", fairness),
    ("E33", "our study shares the same paths, in as many regions", 0.0, "paths or regions off", shared_paths),
    ("S66", "4.5 s besides turn 825 and 875 into 670 and 701", 0.3, "percent", applications),
];

/// The worst of all columns of all rows; each row gives what was computed, and its column.
fn worst_of<const N: usize>(
    table: &CsvTable,
    computed: impl Fn(&CsvRow<'_>) -> Result<[(f64, &'static str); N], InputError>,
) -> anyhow::Result<f64> {
    let mut worst = 0.0_f64;
    for row in table.rows() {
        for (got, column) in computed(&row)? {
            worst = worst.max(apart(got, row.number(column)?));
        }
    }
    Ok(worst)
}

/// Windows at a loss rate, by the closed forms.
fn response(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("ref_response_function.csv"))?;
    let worst = worst_of(&table, |row| {
        let loss = row.above_zero("loss_probability")?;
        let of = |stack| congestion::response_segments(stack, loss, 1.0);
        Ok([
            (of(Stack::Reno), "reno_window_segments"),
            (1.2 / loss.sqrt(), "reno_rfc3649_window_segments"),
            (of(Stack::HighSpeed), "highspeed_window_segments"),
            (0.08 / loss, "scalable_window_segments"),
            (of(Stack::Scalable), "scalable_time_mean_window_segments"),
        ])
    })?;
    Ok((worst, format!("{} loss rates", table.rows().count())))
}

/// Reno loses half, and gains a segment a round trip: half of its window is back after as many. Scalable gains a hundredth
/// of its window.
fn stacks(folder: &Path) -> CheckFound {
    const FULL_SEGMENTS: f64 = 1000.0;
    let table = CsvTable::read(&folder.join("tcp_stack_parameters.csv"))?;
    let (mut worst, mut words) = (0.0_f64, Vec::new());
    for stack in [Stack::Reno, Stack::Scalable] {
        let row = table.row_with(&[("stack", stack.as_str())])?;
        let (after, rounds) = congestion::recovery_rounds(stack, FULL_SEGMENTS).context("no rounds")?;
        worst = worst.max(apart(1.0 - after / FULL_SEGMENTS, row.above_zero("decrease_b")?));
        let gain = row.above_zero("increase_a")?;
        let expected = match stack {
            Stack::Reno => (FULL_SEGMENTS - after) / gain,
            _ => ((FULL_SEGMENTS / after).ln() / (1.0 + gain).ln()).ceil(),
        };
        worst = worst.max(apart(f64::from(rounds), expected));
        words.push(format!("{} {rounds} rounds", stack.as_str()));
    }
    Ok((worst, words.join(", ")))
}

/// The table of RFC 3649, with nothing left out.
fn highspeed(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("ref_hstcp_table.csv"))?;
    let steps = congestion::highspeed_table();
    let (mut worst, mut rows) = (0.0_f64, 0);
    for (row, step) in table.rows().zip(&steps) {
        for (got, column) in [
            (step.window_segments as f64, "window_segments"),
            (step.increase as f64, "a_segments_per_rtt"),
            (step.increase_exact, "a_formula_segments_per_rtt"),
            (step.decrease, "b_formula_fraction"),
            (step.decrease_256 as f64, "b_times_256"),
        ] {
            worst = worst.max(apart(got, row.number(column)?));
        }
        rows += 1;
    }
    let is_whole = rows == steps.len() && rows == table.rows().count();
    Ok((if is_whole { worst } else { f64::INFINITY }, format!("{rows} steps")))
}

fn recovery(folder: &Path) -> CheckFound {
    let reno = |row: &CsvRow<'_>, rate: &str, segment_bytes: f64, is_delayed| -> Result<f64, InputError> {
        let (rate, rtt_s) = (row.above_zero(rate)? * MBIT, row.above_zero("rtt_ms")? / 1e3);
        Ok(congestion::reno_recovery_s(rate, rtt_s, segment_bytes, is_delayed))
    };
    let table = CsvTable::read(&folder.join("ref_reno_recovery.csv"))?;
    let mut worst = worst_of(&table, |row| {
        let segment_bytes = row.above_zero("segment_bytes")?;
        let of = |is_delayed| reno(row, "rate_mbit_per_s", segment_bytes, is_delayed);
        Ok([(of(false)?, "recovery_s"), (of(true)?, "recovery_delayed_ack_s")])
    })?;
    let slides = CsvTable::read(&folder.join("tcp_recovery.csv"))?;
    worst = worst.max(worst_of(&slides, |row| {
        let of = |is_delayed| reno(row, "assumed_rate_mbit_per_s", 1500.0, is_delayed);
        Ok([(of(false)?, "reno_recovery_s"), (of(true)?, "reno_recovery_delayed_ack_s")])
    })?);
    let (stacks, rows) = recovery_of_stacks(folder)?;
    Ok((worst.max(stacks), format!("{} of Reno, {rows} of three stacks", table.rows().count())))
}

fn recovery_of_stacks(folder: &Path) -> anyhow::Result<(f64, usize)> {
    let table = CsvTable::read(&folder.join("ref_stack_recovery.csv"))?;
    let worst = worst_of(&table, |row| {
        let (rate, rtt_s) = (row.above_zero("rate_mbit_per_s")? * MBIT, row.above_zero("rtt_ms")? / 1e3);
        let stack = row.text("stack")?.parse::<Stack>().map_err(|error| row.wrong(error))?;
        let full = rate * rtt_s / 1500.0;
        let (after, rounds) = congestion::recovery_rounds(stack, full)
            .ok_or_else(|| row.wrong(format!("{} is not stepped by the round trip", stack.as_str())))?;
        Ok([
            (full, "full_window_segments"),
            (after, "window_after_loss_segments"),
            (f64::from(rounds), "recovery_round_trips"),
            (f64::from(rounds) * rtt_s, "recovery_s"),
        ])
    })?;
    Ok((worst, table.rows().count()))
}

fn buffers(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("ref_bdp.csv"))?;
    let mut worst = worst_of(&table, |row| {
        let (link, rtt_s) = (row.above_zero("link_mbit_per_s")? * MBIT, row.above_zero("rtt_ms")? / 1e3);
        let buffer = row.above_zero("buffer_bytes")?;
        let rate = congestion::limited_by_buffer_bytes_per_s(link, rtt_s, buffer) / MBIT;
        Ok([(rate, "rate_limit_mbit_per_s")])
    })?;
    // The grid's buffers are what the path holds.
    for row in table.rows().filter(|row| row.text("case") == Ok("grid")) {
        let (link, rtt_s) = (row.above_zero("link_mbit_per_s")? * MBIT, row.above_zero("rtt_ms")? / 1e3);
        worst = worst.max(apart(congestion::buffer_needed_bytes(link, rtt_s), row.number("buffer_bytes")?));
    }
    let farm = CsvTable::read(&folder.join("remote_farm.csv"))?;
    let open = farm.row_with(&[("case", "window_kept_open")])?;
    let rate = open.above_zero("achievable_mbit_per_s")? * MBIT;
    let window = congestion::buffer_needed_bytes(rate, open.above_zero("rtt_ms")? / 1e3);
    worst = worst.max(apart(window, 300e3));
    Ok((worst, format!("{} buffers; 120 Mbit/s at 20 ms need {window:.0} bytes", table.rows().count())))
}

/// Rounds are whole: the worst is how many are too many or too few.
fn rounds(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("ref_slow_start.csv"))?;
    let (mut worst, mut later) = (0.0_f64, 0);
    for row in table.rows() {
        let bytes = row.whole("response_bytes", 1, 1 << 40)?;
        for (column, initial_window, is_delayed) in [
            ("rounds_iw10_doubling", 10, false),
            ("rounds_iw10_delayed_ack", 10, true),
            ("rounds_iw2_delayed_ack", 2, true),
            ("rounds_iw1_delayed_ack", 1, true),
        ] {
            let got = congestion::slow_start_rounds(bytes, initial_window, is_delayed);
            worst = worst.max((got as f64 - row.number(column)?).abs());
            if let (2, Some(stated)) = (initial_window, row.optional("deck_later_event_round_trips")?) {
                worst = worst.max((got as f64 - stated).abs());
                later = got;
            }
        }
    }
    Ok((
        worst,
        format!(
            "{} answers; the slide's {later} rounds are window 2 with delayed ACKs",
            table.rows().count()
        ),
    ))
}

fn fairness(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("ref_jain.csv"))?;
    let mut worst = 0.0_f64;
    for row in table.rows() {
        let rates = [1, 2, 3, 4].map(|flow| row.number(&format!("rate{flow}_mbit_per_s")));
        let rates = rates.into_iter().collect::<Result<Vec<f64>, InputError>>()?;
        let got = congestion::jain_index(&rates).unwrap_or(f64::NAN);
        let is_equal = rates.iter().all(|rate| *rate == rates[0]);
        let is_in_range = got > 0.0 && got <= 1.0 && (got == 1.0) == is_equal;
        worst = worst.max(if is_in_range { apart(got, row.number("jain_index")?) } else { f64::INFINITY });
    }
    Ok((worst, format!("{} shares", table.rows().count())))
}

/// The study scales down time and rate, and keeps round trips and regions.
fn shared_paths(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("tcp_sharing.csv"))?;
    let study = builtin::find("tcp-sharing").context("no such study")?;
    let paths = Study::parse(study.name, study.text, &Changes::default())?;
    let paths: Vec<String> = paths.levels("rtt").iter().map(ToString::to_string).collect();
    let (mut off, mut rows) = (0, 0);
    for row in table.rows() {
        let has_path = paths.contains(&format!("{}ms", row.number("rtt_ms")?));
        let has_regions = study.text.contains(&format!("--periods {}", row.number("regions")?));
        off += u32::from(!has_path) + u32::from(!has_regions);
        rows += 1;
    }
    off += u32::from(rows != paths.len());
    Ok((f64::from(off), format!("round trips of {}", paths.join(", "))))
}

/// Applications beside the probe; and one with an overhead beside one without.
fn applications(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("tcp_apps_rates.csv"))?;
    let mut bounded = true;
    for row in table.rows().filter(|row| row.text("status") == Ok("stated")) {
        let (stack, path) = (row.text("stack")?, row.text("path")?);
        let probe = table.row_with(&[("application", "iperf"), ("stack", stack), ("path", path)])?;
        let (least, most) = (row.above_zero("rate_min_mbit_per_s")?, row.above_zero("rate_max_mbit_per_s")?);
        bounded &= least <= most && most <= probe.above_zero("rate_max_mbit_per_s")?;
    }
    let transfers = CsvTable::read(&folder.join("tcp_disk_transfers.csv"))?;
    let (mut worst, mut told) = (0.0_f64, Vec::new());
    for stack in ["standard", "scalable"] {
        let of = |application| transfers.row_with(&[("application", application), ("stack", stack)]);
        let (without, with) = (of("bbftp")?, of("bbcp")?);
        let rate = without.above_zero("rate_mbit_per_s")?;
        let bytes = without.above_zero("file_bytes")?;
        let got = congestion::with_overhead_bytes_per_s(bytes, rate * MBIT, 4.5) / MBIT;
        worst = worst.max(100.0 * apart(got, with.above_zero("rate_mbit_per_s")?));
        told.push(format!("{rate} becomes {got:.1} Mbit/s"));
    }
    Ok((if bounded { worst } else { f64::INFINITY }, told.join(", ")))
}
