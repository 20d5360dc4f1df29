//! A machine's profile: what each component costs and allows here, from the isolated studies.
//!
//! Made in minutes, kept as a file, and used to predict copies before they are made. Must not know: command lines, how
//! a study is run or a cost fitted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::cost::{CpuBy, FitPoint, Predictions, cpu_ns, fit_cost};
use crate::judge::stats::median;
use crate::probe::host::HostFacts;
use crate::rig::files::replace;
use crate::row::{DisturbedRows, Row, undisturbed_rows};
use crate::session::quiet::QuietDisk;
use crate::{RunArguments, run};

mod against;
mod chain;
mod messages;

pub use against::{AgainstSize, ProfileCheck};
pub use chain::ChainForecast;
pub use messages::profile_text;

/// Version of the form.
pub const VERSION: u32 = 2;

/// The request sizes: those of the whole copies that are predicted.
const SIZES: &str = "32KiB,64KiB,128KiB,256KiB,512KiB,1MiB,2MiB,4MiB";
/// What `quick` takes: to see that all works, not to measure.
const QUICK_SIZES: &str = "64KiB,256KiB,1MiB";
const REPEATS: u32 = 3;

/// An isolated study, the component that it measures, and the factor that is held.
struct Isolated {
    study: &'static str,
    component: &'static str,
    held: (&'static str, &'static str),
}

const STUDIES: [Isolated; 5] = [
    Isolated { study: "cpu", component: "pump", held: ("engine", "inline") },
    Isolated { study: "network", component: "network", held: ("fill", "cold") },
    Isolated { study: "disk-source", component: "disk_source", held: ("depth", "2") },
    Isolated { study: "disk-sink", component: "disk_sink", held: ("depth", "2") },
    Isolated { study: TWO_PROGRAMS, component: "disk_both", held: ("command", "both") },
];

/// The study whose runs are two programs at once.
const TWO_PROGRAMS: &str = "disk-both";

/// A profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of the form.
    pub v: u32,
    /// When it was complete.
    pub time: String,
    /// Version of the program.
    pub version: String,
    /// Whose it is.
    pub machine: Machine,
    /// By which measure CPU time is counted, in all components: by the process in older profiles.
    #[serde(default)]
    pub cpu_by: CpuBy,
    /// What each component does.
    pub components: Vec<Component>,
}

/// What a profile is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the host.
    pub host: String,
    /// Model of its processors.
    pub cpu_model: String,
    /// How many the program may use.
    pub cpus: u32,
    /// Version of the kernel.
    pub kernel: String,
    /// Kind of file system of the folder.
    pub file_system: String,
    /// The disk below it, if it has one.
    pub disk: Option<String>,
}

/// A component alone; an end contains the pump that moved its bytes, the network two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Its name.
    pub component: String,
    /// CPU time for a byte, in nanoseconds, with its 95 % interval.
    pub cb_ns_per_byte: f64,
    /// Lower end.
    pub cb_ns_per_byte_low: f64,
    /// Upper end.
    pub cb_ns_per_byte_high: f64,
    /// CPU time for a request, in microseconds, with its 95 % interval.
    pub cr_us_per_request: f64,
    /// Lower end.
    pub cr_us_per_request_low: f64,
    /// Upper end.
    pub cr_us_per_request_high: f64,
    /// Where predictions between measured sizes come from.
    #[serde(default)]
    pub predictions: Predictions,
    /// Where the line does not fit, in words.
    pub warning: Option<String>,
    /// What was measured at each request size, the smallest first.
    pub sizes: Vec<Size>,
}

/// A component at a request size: medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Bytes of a request.
    pub request_size_bytes: u64,
    /// Number of runs.
    pub n: u32,
    /// CPU time for a byte.
    pub ns_per_byte: f64,
    /// Bandwidth.
    pub bytes_per_second: f64,
}

/// The arguments of a profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileArguments {
    /// The folder on the device that is measured; the current one by default.
    pub folder: Option<PathBuf>,
    /// The file; `profile.json` in the state folder by default. Its rows stand beside it.
    pub out: PathBuf,
    /// Few sizes, few bytes.
    pub quick: bool,
    /// Runs of each size.
    pub repeats: Option<u32>,
    /// Disturbed runs count, too.
    pub keep_disturbed: bool,
    /// The measure of CPU time; the one that rows are judged by by default.
    pub cpu: Option<CpuBy>,
    /// The program that commands start; this one's own file by default.
    pub pump: Option<PathBuf>,
    /// Ends it soon, once true.
    pub stop: Arc<AtomicBool>,
}

/// Makes a profile: runs the isolated studies, fits them, writes the file. One that was stopped goes on with the rows
/// that are there. Disturbed runs are left out unless they are kept.
///
/// Errors: those of the studies; runs that failed; a file that cannot be written.
pub fn make(arguments: &ProfileArguments) -> anyhow::Result<(Profile, DisturbedRows)> {
    let rows = arguments.out.with_extension("rows.jsonl");
    refuse_other(&arguments.out)?;
    if let Some(folder) = arguments.out.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("make the folder {}", folder.display()))?;
    }
    // A profile that is complete is made anew from its first row.
    if arguments.out.exists() && rows.exists() {
        std::fs::remove_file(&rows).with_context(|| format!("remove {}", rows.display()))?;
        std::fs::remove_file(&arguments.out)
            .with_context(|| format!("remove {}", arguments.out.display()))?;
    }
    for isolated in &STUDIES {
        run(study_arguments(arguments, isolated, &rows))?;
    }
    let (rows, disturbed) = undisturbed_rows(&rows, arguments.keep_disturbed)?;
    let folder = arguments.folder.as_deref().unwrap_or(Path::new("."));
    let profile = of_rows(&rows, folder, arguments.cpu)
        .map_err(|error| anyhow::anyhow!(disturbed.behind(&format!("{error:#}"))))?;
    let text = serde_json::to_string_pretty(&profile)? + "\n";
    replace(&arguments.out, text.as_bytes(), KIND, &is_profile)?;
    Ok((profile, disturbed))
}

const KIND: &str = "profile";

fn is_profile(bytes: &[u8]) -> bool {
    // Also one of another version, which is to be made anew.
    serde_json::from_slice::<serde_json::Value>(bytes).is_ok_and(|it| it.get("components").is_some())
}

/// Before minutes of measuring.
fn refuse_other(out: &Path) -> anyhow::Result<()> {
    if out.is_dir() {
        bail!("{} is a folder; name a file", out.display());
    }
    if out.is_file() && !std::fs::read(out).is_ok_and(|bytes| is_profile(&bytes)) {
        bail!("{} is there and is no {KIND}; name another file, or remove it first", out.display())
    } else {
        Ok(())
    }
}

fn study_arguments(arguments: &ProfileArguments, isolated: &Isolated, rows: &Path) -> RunArguments {
    let sizes = if arguments.quick { QUICK_SIZES } else { SIZES };
    let set = |name: &str, levels: &str| (name.to_string(), levels.split(',').map(String::from).collect());
    RunArguments {
        study: isolated.study.into(),
        set: vec![set(isolated.held.0, isolated.held.1), set("request_size", sizes)],
        repeats: Some(arguments.repeats.unwrap_or(REPEATS)),
        folder: arguments.folder.clone(),
        out: Some(rows.into()),
        pump: arguments.pump.clone(),
        stop: Arc::clone(&arguments.stop),
        ..RunArguments::default()
    }
}

fn of_rows(rows: &[Row], folder: &Path, cpu: Option<CpuBy>) -> anyhow::Result<Profile> {
    // As in a fit of these rows; without any measure no component has a fit.
    let cpu_by = cpu.or_else(|| CpuBy::of_rows(rows)).unwrap_or_default();
    let components = STUDIES.iter().map(|Isolated { study, component, held: (factor, level) }| {
        // A profile that was stopped by another version may have held it elsewhere.
        let is_held = |row: &Row| row.asked.get(*factor).is_none_or(|it| it.to_string() == *level);
        let own: Vec<&Row> = rows.iter().filter(|row| row.study == *study && is_held(row)).collect();
        if let Some(failed) = own.iter().find(|row| !row.is_completed()) {
            let why = failed.message.as_deref().unwrap_or(&failed.outcome);
            bail!("a run of the study {study} failed: {why}; mend that, remove its row and go on");
        }
        of_component(component, &own, cpu_by)
    });
    Ok(Profile {
        v: VERSION,
        time: jiff::Timestamp::now().round(jiff::Unit::Second)?.to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        machine: Machine::with_folder(folder),
        cpu_by,
        components: components.collect::<anyhow::Result<_>>()?,
    })
}

fn of_component(component: &str, rows: &[&Row], by: CpuBy) -> anyhow::Result<Component> {
    let sizes = by_size(rows)?;
    let points: Vec<FitPoint> = sizes
        .iter()
        .flat_map(|(&size, rows)| rows.iter().map(move |row| (size, row)))
        .filter_map(|(size, row)| {
            let ns_per_byte = ns_per_byte(row, by)?;
            Some(FitPoint { request_size_bytes: size as f64, ns_per_byte, run_bytes: None })
        })
        .collect();
    let fit =
        fit_cost(&points).map_err(|few| anyhow::anyhow!("{component}, by CPU time {}: {few}", by.words()))?;
    let (cb, cr) = (fit.cb_ns_per_byte, fit.cr_us_per_request);
    Ok(Component {
        component: component.into(),
        cb_ns_per_byte: cb.value,
        cb_ns_per_byte_low: cb.low,
        cb_ns_per_byte_high: cb.high,
        cr_us_per_request: cr.value,
        cr_us_per_request_low: cr.low,
        cr_us_per_request_high: cr.high,
        predictions: fit.predictions,
        warning: fit.warning,
        sizes: sizes.iter().map(|(&size, rows)| of_size(size, rows, by)).collect(),
    })
}

fn by_size<'rows>(rows: &[&'rows Row]) -> anyhow::Result<BTreeMap<u64, Vec<&'rows Row>>> {
    let mut sizes: BTreeMap<u64, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let size = row.request_bytes().map_err(|why| anyhow::anyhow!("a row of {}: {why}", row.study))?;
        sizes.entry(size).or_default().push(row);
    }
    Ok(sizes)
}

fn of_size(request_size_bytes: u64, rows: &[&Row], by: CpuBy) -> Size {
    let of = |figure: &dyn Fn(&Row) -> Option<f64>| {
        let values: Vec<f64> = rows.iter().filter_map(|row| figure(row)).collect();
        median(&values).unwrap_or(0.0)
    };
    Size {
        request_size_bytes,
        n: rows.len() as u32,
        ns_per_byte: of(&|row| ns_per_byte(row, by)),
        bytes_per_second: of(&|row| Some(bytes_per_second(row))),
    }
}

fn ns_per_byte(row: &Row, by: CpuBy) -> Option<f64> {
    Some(cpu_ns(row, by)? / row.bytes.max(1) as f64)
}

/// Until all was moved, and synced where it is: what a command takes to start is not part of a bandwidth. The report in
/// a row is of one program.
fn bytes_per_second(row: &Row) -> f64 {
    let told = row.synced_ns.or(row.last_done_ns).filter(|_| row.study != TWO_PROGRAMS);
    let ns = told.unwrap_or(row.elapsed_ns);
    row.bytes as f64 * 1e9 / ns.max(1) as f64
}

impl Machine {
    /// This one, with the disk below a folder.
    pub fn with_folder(folder: &Path) -> Machine {
        let host = HostFacts::read(folder);
        Machine {
            host: host.name,
            cpu_model: host.cpu_model,
            cpus: host.cpus,
            kernel: host.kernel,
            file_system: host.file_system,
            disk: QuietDisk::containing(folder).ok().and_then(|disk| disk.name()),
        }
    }

    /// What differs between two, in words; none if nothing does.
    fn difference(&self, other: &Machine) -> Option<String> {
        let pairs = [
            ("host", &self.host, &other.host),
            ("processor", &self.cpu_model, &other.cpu_model),
            ("kernel", &self.kernel, &other.kernel),
        ];
        let words = pairs.iter().find(|(_, one, other)| one != other);
        match words {
            Some((what, one, other)) => Some(format!("its {what} is {one}, and this one's is {other}")),
            None if self.cpus != other.cpus => {
                Some(format!("it has {} processors, and this one {}", self.cpus, other.cpus))
            }
            None => None,
        }
    }
}

impl Profile {
    /// Reads one. That of another machine is refused, unless `from_other` says that it is meant.
    ///
    /// Errors: what the system says, another form, another machine.
    pub fn read(path: &Path, from_other: bool) -> anyhow::Result<Profile> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("read {}; `pump lab profile` makes it", path.display()))?;
        let version = serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|it| it["v"].as_u64());
        if version.is_some_and(|version| version != u64::from(VERSION)) {
            bail!("{}: a profile of another version of this program; make it anew", path.display());
        }
        let profile: Profile = serde_json::from_str(&text)
            .with_context(|| format!("{} is no profile; `pump lab profile` makes one", path.display()))?;
        profile.check().map_err(|wrong| anyhow::anyhow!("{}: {wrong}; make it anew", path.display()))?;
        match profile.machine.difference(&Machine::with_folder(Path::new("."))) {
            Some(difference) if !from_other => bail!(
                "{} is the profile of another machine: {difference}; make one here, or say --other-machine",
                path.display()
            ),
            _ => Ok(profile),
        }
    }

    /// What no measurement gives.
    fn check(&self) -> Result<(), String> {
        for (at, component) in self.components.iter().enumerate() {
            let name = &component.component;
            if self.components[..at].iter().any(|other| other.component == *name) {
                return Err(format!("the component '{name}' is there twice"));
            }
            let is_speed = |size: &Size| size.bytes_per_second > 0.0 && size.bytes_per_second.is_finite();
            if let Some(size) = component.sizes.iter().find(|size| !is_speed(size)) {
                let speed = size.bytes_per_second;
                return Err(format!("the component '{name}' has a bandwidth of {speed}, which is none"));
            }
        }
        Ok(())
    }

    /// Where it is kept unless told.
    pub fn default_path() -> Option<PathBuf> {
        Some(crate::state_folder(&|name| std::env::var_os(name))?.join("profile.json"))
    }

    fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.component == name)
    }
}

#[cfg(test)]
mod tests;
