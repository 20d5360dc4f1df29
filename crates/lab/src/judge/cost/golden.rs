//! The published tables, recomputed: each statement of the science reference that fits and predictions must reproduce,
//! with its tolerance.
//!
//! Must not know: how statements are shown.

mod access;
mod disks;
mod frames;
mod readers;
mod requests;
mod text;
mod windows;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use datapump::simulation::model;
use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::chain::PartsFile;
use crate::judge::cost::fit::{CostFit, FitPoint, fit_published};
use crate::judge::cost::parts::{CostPart, bottlenecks, predict, sum, without_pump};
use crate::judge::cost::pipeline::PipelineTable;
use crate::judge::cost::relative_error_percent;
use crate::judge::cost::table::{CsvRow, CsvTable};

/// The measured tables of "Performance of the 1-1 Data Pump", tables 1 to 6.
const TABLES: [&str; 6] = [
    "datapump_table1_disk_source.csv",
    "datapump_table2_disk_sink.csv",
    "datapump_table3_network_sender.csv",
    "datapump_table4_network_receiver.csv",
    "datapump_table5_local_copy.csv",
    "datapump_table6_network_copy_sender.csv",
];
/// The parts of each of them.
const CHAINS: [&[&str]; 6] = [
    &["disk_source", "pump"],
    &["disk_sink", "pump"],
    &["network_sink", "pump"],
    &["network_source", "pump"],
    &["disk_source", "pump", "disk_sink"],
    &["disk_source", "pump", "network_sink"],
];
const RECEIVER: &[&str] = &["network_source", "pump", "disk_sink"];
const COMPONENTS: &str = "datapump_table8_components.csv";
/// Table and request size of the one misprint: 6.4 for 6.34.
const MISPRINT: (usize, u64) = (5, 32_768);
/// Table and request size of printed errors that come from values before they were rounded.
const UNROUNDED: [(usize, u64); 3] = [(3, 32_768), (4, 131_072), (5, 262_144)];

/// The simulator counts whole picoseconds: 3e-8 of a short run.
const ROUNDING: f64 = 1e-6;

/// A statement and how it came out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Statement {
    /// Its number.
    pub statement: &'static str,
    /// What it says.
    pub title: &'static str,
    /// Whether the worst error is within the tolerance.
    pub passed: bool,
    /// The worst error; null if there is none because a table cannot be used.
    pub worst_error: Option<f64>,
    /// The tolerance.
    pub tolerance: f64,
    /// The unit of both.
    pub unit: &'static str,
    /// What a reader should know besides.
    pub detail: String,
}

/// What a check found: the worst error, and words.
type CheckFound = anyhow::Result<(f64, String)>;

/// A statement: number, title, tolerance, unit, check.
type GoldenCheck = (&'static str, &'static str, f64, &'static str, fn(&Path) -> CheckFound);

const CHECKS: [GoldenCheck; 19] = [
    ("S25", "Cb + Cr/RS gives every printed prediction", 1.0, "half of the last digit", printed_predictions),
    ("S25", "printed relative errors", 1.0, "percentage points", printed_errors),
    ("S26", "least squares of each table, a negative Cr included", 1e-6, "relative", linear_fits),
    ("S27", "parts are the isolated ends less the pump", 1e-9, "ns/byte or us", components),
    (
        "S30",
        "parts of table 8 predict the local copy to 27.7 %",
        0.05,
        "percentage points",
        local_copy_by_table_8,
    ),
    ("S30", "fitted parts predict the local copy to 5.7 %", 0.05, "percentage points", local_copy_by_fits),
    ("S32", "parts predict the network copy's sender to 7.6 %", 0.05, "percentage points", network_copy),
    ("M4", "the slowest component is the bandwidth", 1e-9, "relative", scenarios),
    (
        "S35",
        "dense stream, dense blocks, sparse: 68, 84, 96 MB/s",
        0.0,
        "pairs out of order",
        access::read_order,
    ),
    (
        "S37",
        "dense writes: 79 % of the host's rate, which is 55 %",
        0.5,
        "percentage points",
        access::write_shares,
    ),
    ("S39", "bandwidths are 10 MB over the latency", 1e-6, "relative", readers::rates),
    ("S39", "max(R1, n D) fits every stage", 4.31, "percent", readers::fits),
    ("S41", "a window moves R1 and the knee, not D", 1.0, "half of the last digit", readers::window),
    ("S43", "an optimised build within the spread", 1.3, "standard deviations", readers::optimised_build),
    ("S46", "20 us and 16 us/KiB give all costs", 1e-6, "relative", requests::costs),
    ("S67", "zones, failures, and six disks above their rate", 0.05, "percent", disks::parameters),
    ("S69", "drops of a disk beside a network", 0.05, "percentage points", requests::drops),
    (
        "S6",
        "the loop in simulated time, closed form, both bounds and bottleneck",
        1e-6,
        "relative",
        pipelines,
    ),
    ("S7", "the smallest depth with full bandwidth", 1e-6, "relative", depths),
];

/// Recomputes all statements from the tables of a folder.
pub fn check_golden(folder: &Path) -> Vec<Statement> {
    let all = CHECKS.iter().chain(&text::CHECKS).chain(&frames::CHECKS).chain(&windows::CHECKS);
    all.map(|check| statement(check, folder)).collect()
}

fn statement(&(statement, title, tolerance, unit, check): &GoldenCheck, folder: &Path) -> Statement {
    let (worst_error, detail) = match check(folder) {
        Ok((worst, detail)) => (worst.is_finite().then_some(worst), detail),
        Err(error) => (None, datapump::shown(format!("{error:#}").as_bytes())),
    };
    // A whole half digit is a prediction on the edge of rounding.
    let passed = worst_error.is_some_and(|worst| worst <= tolerance * (1.0 + 1e-9));
    Statement { statement, title, passed, worst_error, tolerance, unit, detail }
}

/// One row of tables 1 to 6.
struct GoldenCell {
    /// Number of the table.
    table: usize,
    request_size_bytes: u64,
    observed: f64,
    printed: f64,
    /// Half of the last printed digit of the prediction.
    printed_half: f64,
    error_percent: f64,
}

fn cells(folder: &Path) -> anyhow::Result<Vec<GoldenCell>> {
    let mut cells = Vec::new();
    for (index, name) in TABLES.iter().enumerate() {
        for row in CsvTable::read(&folder.join(name))?.rows() {
            cells.push(GoldenCell {
                table: index + 1,
                request_size_bytes: row.whole("request_size_bytes", 1, 1 << 40)?,
                observed: row.number("observed_ns_per_byte")?,
                printed: row.number("predicted_ns_per_byte")?,
                printed_half: half_digit(row.text("predicted_ns_per_byte")?),
                error_percent: row.number("relative_error_percent")?,
            });
        }
    }
    Ok(cells)
}

/// Half of the last printed digit.
fn half_digit(text: &str) -> f64 {
    let places = text.split_once('.').map_or(0, |(_, places)| places.len() as i32);
    0.5 * 10_f64.powi(-places)
}

/// The parameters that a table's caption states, and those that its predictions are made with.
struct Parameters {
    caption: CostPart,
    effective: CostPart,
}

fn parameters(folder: &Path) -> anyhow::Result<Vec<Parameters>> {
    let table = CsvTable::read(&folder.join("datapump_model_parameters.csv"))?;
    let part = |row: &CsvRow<'_>, kind: &str| -> anyhow::Result<CostPart> {
        Ok(CostPart {
            component: row.text("scenario")?.into(),
            cb_ns_per_byte: row.number(&format!("{kind}_cb_ns_per_byte"))?,
            cr_us_per_request: row.number(&format!("{kind}_cr_us_per_request"))?,
        })
    };
    let both = |row: CsvRow<'_>| -> anyhow::Result<(u64, Parameters)> {
        let parameters = Parameters { caption: part(&row, "caption")?, effective: part(&row, "effective")? };
        Ok((row.whole("table", 1, 6)?, parameters))
    };
    let mut found: BTreeMap<u64, Parameters> = table.rows().map(both).collect::<anyhow::Result<_>>()?;
    let of_table = |table| found.remove(&table).with_context(|| format!("no parameters of table {table}"));
    (1..=6).map(of_table).collect()
}

fn printed_predictions(folder: &Path) -> CheckFound {
    let parameters = parameters(folder)?;
    let (mut worst, mut misprint) = (0.0_f64, None);
    let cells = cells(folder)?;
    for cell in &cells {
        let got = predict(&parameters[cell.table - 1].effective, cell.request_size_bytes as f64);
        let off = (got - cell.printed).abs() / cell.printed_half;
        if (cell.table, cell.request_size_bytes) == MISPRINT {
            misprint = Some((got, cell.printed));
        } else {
            worst = worst.max(off);
        }
    }
    let (got, printed) = misprint.context("no row of 32 KiB in table 5")?;
    // The one cell that departs must depart as it is known to.
    worst = worst.max((got - 6.34).abs() / 0.005);
    Ok((worst, format!("{} cells; table 5 at 32 KiB prints {printed} for {got:.2}", cells.len())))
}

fn printed_errors(folder: &Path) -> CheckFound {
    let parameters = parameters(folder)?;
    let mut worst = 0.0_f64;
    for cell in cells(folder)? {
        let exact = predict(&parameters[cell.table - 1].effective, cell.request_size_bytes as f64);
        let of = |predicted| relative_error_percent(cell.observed, predicted).map_or(f64::INFINITY, f64::abs);
        let off =
            [cell.printed, exact].map(|predicted| (of(predicted) - cell.error_percent).abs()).into_iter();
        if !UNROUNDED.contains(&(cell.table, cell.request_size_bytes)) {
            worst = worst.max(off.fold(f64::INFINITY, f64::min));
        }
    }
    Ok((worst, "three cells left out, printed from values before rounding".into()))
}

/// The points that table `number` observed.
fn observed(cells: &[GoldenCell], number: usize) -> Vec<FitPoint> {
    let cells = cells.iter().filter(|cell| cell.table == number);
    cells
        .map(|cell| FitPoint {
            request_size_bytes: cell.request_size_bytes as f64,
            ns_per_byte: cell.observed,
            run_bytes: None,
        })
        .collect()
}

fn fit_of(cells: &[GoldenCell], number: usize) -> anyhow::Result<CostFit> {
    fit_published(&observed(cells, number)).with_context(|| format!("table {number}"))
}

/// How far two numbers are apart, relative to the expected one; endlessly if one of them is none.
fn apart(got: f64, expected: f64) -> f64 {
    let apart = (got - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
    if apart.is_nan() { f64::INFINITY } else { apart }
}

fn linear_fits(folder: &Path) -> CheckFound {
    let cells = cells(folder)?;
    let mut worst = 0.0_f64;
    let mut negative = Vec::new();
    let table = CsvTable::read(&folder.join("ref_linear_fit.csv"))?;
    for row in table.rows() {
        let number = row.whole("table", 1, 6)? as usize;
        let fit = fit_of(&cells, number)?;
        let cr = fit.cr_us_per_request.value;
        for (got, column) in [
            (fit.cb_ns_per_byte.value, "cb_ns_per_byte"),
            (cr, "cr_us_per_request"),
            (fit.points as f64, "points"),
            (fit.worst_relative_error_percent.unwrap_or(f64::NAN), "worst_relative_error_percent"),
        ] {
            worst = worst.max(apart(got, row.number(column)?));
        }
        if cr < 0.0 {
            negative.push(format!("Cr of table {number} is {cr:.1} us"));
        }
    }
    Ok((worst, negative.join(", ")))
}

fn names(chain: &[&str]) -> Vec<String> {
    chain.iter().map(|name| name.to_string()).collect()
}

/// How far two parts are apart, in their own units.
fn parts_apart(one: &CostPart, other: &CostPart) -> f64 {
    let cb = (one.cb_ns_per_byte - other.cb_ns_per_byte).abs();
    cb.max((one.cr_us_per_request - other.cr_us_per_request).abs())
}

fn components(folder: &Path) -> CheckFound {
    let (parameters, parts) = (parameters(folder)?, PartsFile::read(&folder.join(COMPONENTS))?);
    let pump = parts.part("pump")?;
    let mut worst = 0.0_f64;
    for (chain, Parameters { caption, .. }) in CHAINS.iter().zip(&parameters) {
        worst = worst.max(parts_apart(&parts.chain(&names(chain))?, caption));
        if let [end, "pump"] = chain {
            worst = worst.max(parts_apart(&without_pump(end, caption, pump), parts.part(end)?));
        }
    }
    Ok((worst, "four ends, and the sums of both copies".into()))
}

/// The worst relative error of a prediction of a table, in percent, and the least one with its sign.
fn errors_of(cells: &[GoldenCell], number: usize, chain: &CostPart) -> anyhow::Result<(f64, f64)> {
    let error = |point: FitPoint| {
        let error = relative_error_percent(point.ns_per_byte, predict(chain, point.request_size_bytes));
        error.context("a cost that is not above 0")
    };
    let errors = observed(cells, number).into_iter().map(error).collect::<anyhow::Result<Vec<f64>>>()?;
    let worst = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
    Ok((worst, errors.into_iter().fold(f64::INFINITY, f64::min)))
}

fn local_copy_by_table_8(folder: &Path) -> CheckFound {
    let chain = PartsFile::read(&folder.join(COMPONENTS))?.chain(&names(CHAINS[4]))?;
    let (worst, _) = errors_of(&cells(folder)?, 5, &chain)?;
    Ok(((worst - 27.7).abs(), format!("worst relative error {worst:.2} %")))
}

fn local_copy_by_fits(folder: &Path) -> CheckFound {
    let cells = cells(folder)?;
    let parts = PartsFile::read(&folder.join(COMPONENTS))?;
    let (source, sink) = (fit_of(&cells, 1)?.part("disk_source"), fit_of(&cells, 2)?.part("disk_sink"));
    // Both ends were measured with a pump, and the copy has one.
    let chain = sum("local_copy", [&source, &without_pump("disk_sink", &sink, parts.part("pump")?)]);
    let (worst, _) = errors_of(&cells, 5, &chain)?;
    Ok(((worst - 5.7).abs(), format!("worst relative error {worst:.2} %")))
}

fn network_copy(folder: &Path) -> CheckFound {
    let parts = PartsFile::read(&folder.join(COMPONENTS))?;
    let (worst, least) = errors_of(&cells(folder)?, 6, &parts.chain(&names(CHAINS[5]))?)?;
    let receiver = parts.predict(&names(RECEIVER), &[65_536])?.remove(0).ns_per_byte;
    let off = if least >= 0.0 { (worst - 7.6).abs() } else { f64::INFINITY };
    let detail = format!(
        "worst relative error {worst:.2} %, least {least:+.2} % (never below the prediction); the receiver at 64 KiB: \
         {receiver:.2} ns/byte"
    );
    Ok((off, detail))
}

fn scenarios(folder: &Path) -> CheckFound {
    let (mut worst, mut checked) = (0.0_f64, 0);
    for row in CsvTable::read(&folder.join("datapump_scenarios.csv"))?.rows() {
        let columns = ["source_bandwidth_mb_per_s", "network_line_rate_mb_per_s", "sink_bandwidth_mb_per_s"];
        let rates = columns.iter().map(|&column| Ok((column, row.optional(column)?)));
        let rates: Vec<(&str, Option<f64>)> = rates.collect::<anyhow::Result<_>>()?;
        let rates: Vec<(&str, f64)> = rates.iter().filter_map(|&(name, rate)| Some((name, rate?))).collect();
        let &(_, slowest) = bottlenecks(rates).first().context("a scenario without any bandwidth")?;
        if let Some(predicted) = row.optional("predicted_bandwidth_mb_per_s")? {
            (worst, checked) = (worst.max(apart(slowest, predicted)), checked + 1);
        }
    }
    Ok((worst, format!("{checked} scenarios")))
}

fn pipelines(folder: &Path) -> CheckFound {
    let table = PipelineTable::read(&folder.join("ref_pipeline.csv"))?;
    let got = table.run()?;
    let (mut worst, mut misnamed, mut beyond) = (0.0_f64, 0, 0);
    for ((row, got), [low_s, high_s]) in table.table().rows().zip(&got).zip(table.bounds_s()) {
        let expected = row.number("elapsed_exact_s")?;
        worst = worst.max(apart(got.elapsed_s, expected)).max(apart(got.elapsed_closed_form_s, expected));
        worst = worst.max(apart(got.requests as f64, row.number("requests")?));
        worst = worst.max(apart(low_s, row.number("elapsed_lower_bound_s")?));
        worst = worst.max(apart(high_s, row.number("elapsed_fill_steady_drain_s")?));
        misnamed += u32::from(got.bottleneck != row.text("bottleneck")?);
        let is_within =
            got.elapsed_s >= low_s * (1.0 - ROUNDING) && got.elapsed_s <= high_s * (1.0 + ROUNDING);
        beyond += u32::from(!is_within);
    }
    let worst = if misnamed + beyond == 0 { worst } else { f64::INFINITY };
    let words = format!("{} rows, {misnamed} with another bottleneck, {beyond} beyond a bound", got.len());
    Ok((worst, words))
}

fn depths(folder: &Path) -> CheckFound {
    let (mut worst, mut rows) = (0.0_f64, 0);
    for row in CsvTable::read(&folder.join("ref_depth.csv"))?.rows() {
        let (rate, latency_s) =
            (row.above_zero("bandwidth_mb_per_s")? * 1e6, row.number("latency_us")? * 1e-6);
        let request_bytes = row.whole("request_size_bytes", 1, 1 << 40)?;
        let depth = model::depth_needed(rate, latency_s, request_bytes);
        worst = worst.max(apart(f64::from(depth), row.number("depth_needed")?));
        let sink = model::ModelDevice { latency_s: 0.0, bytes_per_s: f64::INFINITY, depth: 1 };
        for (depth, column) in [
            (1, "throughput_depth1_mb_per_s"),
            (depth, "throughput_at_depth_mb_per_s"),
            (depth - 1, "throughput_one_below_mb_per_s"),
        ] {
            if let (true, Some(expected)) = (depth > 0, row.optional(column)?) {
                let source = model::ModelDevice { latency_s, bytes_per_s: rate, depth };
                let cycle_s = model::cycle_time_s(source, sink, request_bytes).0;
                worst = worst.max(apart(request_bytes as f64 / cycle_s / 1e6, expected));
            }
        }
        rows += 1;
    }
    Ok((worst, format!("{rows} rows")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::cost::tests::golden;

    #[test]
    fn the_published_tables_are_reproduced() {
        let failed: Vec<Statement> =
            check_golden(&golden("")).into_iter().filter(|statement| !statement.passed).collect();
        let names: Vec<&str> = failed.iter().map(|statement| statement.statement).collect();
        assert!(failed.is_empty(), "{names:?}: {failed:#?}");
    }

    #[test]
    fn a_changed_or_missing_table_fails_its_statements() {
        let folder = tempfile::tempdir().expect("a folder");
        for entry in golden("").read_dir().expect("the tables") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("room");
        }
        let failed = || -> Vec<&str> {
            let statements = check_golden(folder.path()).into_iter();
            statements.filter(|statement| !statement.passed).map(|statement| statement.statement).collect()
        };
        let change = |name: &str, from: &str, to: &str| {
            let path = folder.path().join(name);
            let text = std::fs::read_to_string(&path).expect("readable");
            assert!(text.contains(from), "{name} has no {from}");
            std::fs::write(&path, text.replacen(from, to, 1)).expect("writable");
        };
        assert_eq!(failed(), [""; 0]);
        change("legion_1file_latency.csv", "34.4,", "38.4,");
        assert_eq!(failed(), ["S39", "S39", "S43"]);
        change("ref_depth.csv", "12.5,0,4096,1,", "12.5,0,4096,2,");
        change("datapump_table6_network_copy_sender.csv", "22.3,", "21.9,");
        assert_eq!(failed(), ["S26", "S32", "S39", "S39", "S43", "S7"]);
        change("gms_trapeze.csv", "read,mmb,dense,miata,84", "read,mmb,dense,miata,64");
        change("gms_trapeze.csv", "write,mmb,dense,alcor,46", "write,mmb,dense,alcor,45");
        change("legion_1file_latency.csv", "sliding_window,1,2.58,", "sliding_window,1,2.68,");
        change("nt4_costs.csv", "2048,20,16,52,", "2048,20,16,53,");
        change("disk_network_interaction.csv", "1218,", "1228,");
        change("disk_parameters.csv", "inner_zone_rate,35,", "inner_zone_rate,36,");
        let all = ["S26", "S32", "S35", "S37", "S39", "S39", "S41", "S43", "S46", "S67", "S69", "S7"];
        assert_eq!(failed(), all);
        for (name, from, to, statement) in [
            ("datapump_scalars.csv", "cpu_bandwidth_limit,25", "cpu_bandwidth_limit,26", "M4"),
            ("datapump_bandwidth_steps.csv", "131072,3,", "131072,9,", "E2"),
            ("datapump_experiments.csv", ",,20,3,", ",,21,3,", "E11"),
            ("udp_throughput.csv", ",584,", ",574,", "E25"),
            ("pci_bus.csv", ",9.3,", ",9.1,", "E27"),
            ("tcp_stack_parameters.csv", "0.125", "0.25", "M12"),
            ("tcp_sharing.csv", ",80,", ",90,", "E33"),
            ("udp_latency.csv", "0.0286", "0.0296", "S50"),
            ("ref_udp_line_rate.csv", "957.087126", "958.087126", "S52"),
            ("interrupt_coalescence.csv", "937", "936", "S56"),
            ("ten_gig_udp.csv", "5.7,7", "5.6,7", "S57"),
            ("ref_hstcp_table.csv", "118,2,", "119,2,", "S59"),
            ("ref_stack_recovery.csv", ",834,", ",835,", "S61"),
            ("ref_bdp.csv", "26.2144", "26.3144", "S62"),
            ("ref_slow_start.csv", "691,7,", "691,8,", "S63"),
            ("ref_jain.csv", "0.942307692", "0.952307692", "S64"),
            ("tcp_disk_transfers.csv", ",670,", ",660,", "S66"),
        ] {
            assert!(!failed().contains(&statement), "{statement}");
            change(name, from, to);
            assert!(failed().contains(&statement), "{statement}");
        }
        std::fs::remove_file(folder.path().join("ref_pipeline.csv")).expect("removable");
        assert!(failed().contains(&"S6"));
    }
}
