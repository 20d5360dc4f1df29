//! A machine's profile: what each component costs and allows here, from the parts of the study `parts-and-whole`.
//!
//! Made once, kept as a file, and used to predict copies before they are made. Must not know: command lines, how a
//! study is run or a cost fitted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::cost::{CpuBy, Predictions};
use crate::probe::host::HostFacts;
use crate::rig::files::replace;
use crate::row::{DisturbedRows, Row, undisturbed_rows};
use crate::session::quiet::QuietDisk;
use crate::study::COMMAND;
use crate::{RunArguments, run};

mod against;
mod chain;
mod components;
mod judged;
mod messages;

pub use against::{AgainstSize, ProfileCheck};
pub use chain::ChainForecast;
pub use judged::{CopyFigure, JudgedCopies, JudgedFigure};
pub use messages::profile_text;

/// Version of the form.
pub const VERSION: u32 = 3;

/// The request sizes: those of the whole copies that are predicted.
const SIZES: &str = "32KiB,64KiB,128KiB,256KiB,512KiB,1MiB,2MiB,4MiB";
/// What `quick` takes: to see that all works, not to measure.
const QUICK_SIZES: &str = "64KiB,256KiB,1MiB";
/// Bytes of a run, and what `quick` takes.
const RUN_SIZE: &str = "1GiB";
const QUICK_RUN_SIZE: &str = "128MiB";
const REPEATS: u32 = 10;

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
    /// CPU time of a wake-up, in microseconds, from a source with one and with four requests in flight. Null if unknown.
    pub wakeup_us: Option<f64>,
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

/// A component alone; an end contains the pump that moved its bytes, the network two. The CPU time of `sender` and
/// `receiver` is that of one side.
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
    /// Factors of the mean between which the CPU time of nine of ten next runs lies; null below three runs.
    pub ns_per_byte_next: Option<[f64; 2]>,
    /// Such factors for the bandwidth.
    pub bytes_per_second_next: Option<[f64; 2]>,
    /// Voluntary context switches per request: a wake-up follows each. Null if unknown.
    pub waits_per_request: Option<f64>,
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
    run(study_arguments(arguments, &rows))?;
    let (rows, disturbed) = undisturbed_rows(&rows, arguments.keep_disturbed)?;
    let folder = arguments.folder.as_deref().unwrap_or(Path::new("."));
    let profile = of_rows(&rows, folder, arguments.cpu)
        .map_err(|error| anyhow::anyhow!(disturbed.appended_to(&format!("{error:#}"))))?;
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

fn study_arguments(arguments: &ProfileArguments, rows: &Path) -> RunArguments {
    let (sizes, run_size) = if arguments.quick { (QUICK_SIZES, QUICK_RUN_SIZE) } else { (SIZES, RUN_SIZE) };
    let set = |name: &str, levels: &str| (name.to_string(), levels.split(',').map(String::from).collect());
    let commands: Vec<&str> = components::commands().collect();
    RunArguments {
        study: components::STUDY.into(),
        set: vec![set(COMMAND, &commands.join(",")), set("size", run_size), set("request_size", sizes)],
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
    Ok(Profile {
        v: VERSION,
        time: jiff::Timestamp::now().round(jiff::Unit::Second)?.to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        machine: Machine::with_folder(folder),
        cpu_by,
        wakeup_us: components::wakeup_us(rows, cpu_by)?,
        components: components::of_rows(rows, cpu_by)?,
    })
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
