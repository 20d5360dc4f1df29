//! A study: factors and their levels, a template of the run, what is prepared and checked, and how often.
//!
//! A study is a TOML file. This module reads one into a checked [`Study`]; an error names the file, the key and what
//! to write instead. Must not know: how a run is prepared, performed or measured.

pub(crate) mod builtin;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod cells;
mod check;
mod distance;
mod level;
pub(crate) mod results;
mod stop;
mod template;
mod text;
mod tree;
mod written;

pub use cells::{Cell, Run};
pub use distance::{PathKind, PathTemplate, RelayTemplate};
pub use level::Level;
pub use results::figures::{ChartKind, FigureFit, FigureValue, LogAxes, PublishedLine, StudyFigure};
pub use results::{Better, OneOfMany, StudyResult};
pub use stop::{StopFigure, StopRule};
pub use template::{FilledJob, JobTemplate, fill};
pub use tree::{TreeShape, TreeTemplate};

/// Names that a factor may have.
pub const FACTORS: [&str; 55] = [
    "command",
    "size",
    "request_size",
    "depth",
    "source_depth",
    "sink_depth",
    "lanes",
    "connections",
    "engine",
    "operation",
    "caching",
    "interface",
    "pattern",
    "touch",
    READERS,
    "files",
    "levels",
    "extra",
    "replaced",
    "stage",
    "stack",
    "rtt",
    "rate",
    "loss",
    "queue",
    "buffer",
    "duration",
    MTU,
    "answer_size",
    "idle",
    "idle_reset",
    "frame_size",
    "spacing",
    "file",
    "path",
    "batch",
    "offload",
    "sync",
    "growth",
    "fill",
    "wait",
    SOAKER,
    CONTROL,
    "bill",
    "point",
    "assemble",
    "crossings",
    "debug_pump",
    "position",
    "read_ahead",
    "scheduler",
    "file_system",
    "members",
    "chunk",
    BINARY,
];

/// The factor whose levels are command lines.
pub const COMMAND: &str = "command";

/// The factor that says how many readers a run starts together.
pub const READERS: &str = "readers";

/// The factor that says how large the packets are of the traffic beside a run.
pub const MTU: &str = "mtu";

/// The factor that says which CPUs the soaker has during a run, and its levels.
pub const SOAKER: &str = "soaker";
/// What [`SOAKER`] may be.
pub const SOAKER_LEVELS: [&str; 3] = ["off", "on", "half"];

/// The factor that changes nothing: its levels are equal runs.
pub const CONTROL: &str = "control";

/// The factor of a comparison of two programs, and its levels. Studies do not name it.
pub const BINARY: &str = "binary";
/// What [`BINARY`] may be.
pub const BINARY_LEVELS: [&str; 2] = ["a", "b"];

/// Something that is varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Its name, one of [`FACTORS`].
    pub name: String,
    /// What it takes, in the order of the file.
    pub levels: Vec<Level>,
}

/// What a run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// A job of the library, in this process.
    Job(Box<JobTemplate>),
    /// A command line by the level of the factor `command`, run by `sh -c`.
    Command(BTreeMap<String, String>),
}

/// A step before a run. It is not timed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum StudyStep {
    /// Makes `{source}`: a file of this size, of seeded random bytes; once for all runs that name the size.
    MakeSource {
        /// A size such as `4GiB`, or a factor in braces.
        size: Level,
    },
    /// Makes `{source}`: a tree of files of seeded random bytes; once for all runs that ask for the same.
    MakeTree(TreeTemplate),
    /// Takes a folder that is there already as `{source}`. It is only read.
    UseTree {
        /// The folder, or a factor in braces.
        path: Level,
    },
    /// Gives `{target}` a name that was not used before; what stands there after the run is deleted.
    NewTarget {},
    /// Gives `{host}`, a folder with what servers on loopback need, and `{port}`, a free port for one of them.
    NewHost {},
    /// Gives `{relay_port}`: a relay in front of `{port}` that delays each direction by half of a round-trip time.
    NewRelay(RelayTemplate),
    /// Gives `{host}/path.sh`: the two ends of a path between network namespaces, or of loopback.
    NewPath(PathTemplate),
    /// Runs a command line by `sh -c`, as in `[command.levels]`, and must succeed.
    Run {
        /// The command line.
        command: String,
    },
    /// Takes the source out of the page cache; with a tree, everything.
    ColdSource {},
    /// Reads the source into the page cache.
    WarmSource {},
    /// Reads what a step has put at the target into the page cache.
    WarmTarget {},
    /// Waits until the disk has nothing in flight and discarded nothing for a second.
    WaitQuiet {},
}

impl StudyStep {
    /// Whether `{source}` stands for something after it.
    pub fn gives_source(&self) -> bool {
        matches!(self, StudyStep::MakeSource { .. } | StudyStep::MakeTree(_) | StudyStep::UseTree { .. })
    }

    /// Whether that is a tree.
    pub fn gives_tree(&self) -> bool {
        matches!(self, StudyStep::MakeTree(_) | StudyStep::UseTree { .. })
    }
}

/// What must hold after a run besides exit status 0. None of it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The target has the source's content; of a tree, names, kinds, sizes and links, and the content of a sample.
    SameContent,
    /// `SameContent` for a tree, and each mode and time of modification.
    SameTree,
    /// Nothing at the target was written by the run.
    NothingWritten,
}

/// An additional measurement, which would change what is measured without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Each cell is run without the soaker, for its time, and with it, for its CPU time: the factor `soaker`.
    Soaker,
    /// How long each request takes, as a histogram: of jobs.
    Latency,
    /// What TCP says of the connections of a command, as a time series beside the rows.
    Tcp,
}

/// The order of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Every round visits all cells once, in an order shuffled by the seed.
    #[default]
    Interleaved,
}

/// What differs for some cells.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// The cells whose factors have one of these levels.
    #[serde(rename = "where")]
    pub cells: BTreeMap<String, Vec<Level>>,
    /// They are not run.
    #[serde(default)]
    pub skip: bool,
    /// They are run as often as this.
    pub repeats: Option<u32>,
    /// They are checked like this.
    pub check: Option<Vec<Check>>,
}

/// A study that was read and found in order.
#[derive(Clone, Debug)]
pub struct Study {
    /// Where it was read from, for messages.
    pub file: String,
    /// Its name, also that of its file of rows.
    pub name: String,
    /// One line: what it measures.
    pub title: String,
    /// Why, and how to read the result.
    pub purpose: String,
    /// About how long a run takes, with what is prepared for it: of rows that were kept. It is no part of what is measured.
    pub run_takes: Option<Duration>,
    /// The factors that are varied.
    pub factors: Vec<Factor>,
    /// What a run does.
    pub template: Template,
    /// The additional measurements.
    pub probes: Vec<Probe>,
    /// The steps before each run, in this order.
    pub prepare: Vec<StudyStep>,
    /// What must hold after each run.
    pub check: Vec<Check>,
    /// Rounds whose rows are kept; with a stop rule, the most.
    pub repeats: u32,
    /// When there are enough of them; `None` runs all.
    pub stop: Option<StopRule>,
    /// Rounds before them that leave no row.
    pub warmup: u32,
    /// Decides the order and the bytes of the source.
    pub seed: u64,
    /// The order of the runs.
    pub order: Order,
    /// What the others are compared with: levels of some factors.
    pub baselines: Vec<BTreeMap<String, Level>>,
    /// What it is about; empty for the usual results of a copy.
    pub results: Vec<StudyResult>,
    /// Its figures; empty for a chart of each result against each factor that is numeric.
    pub figures: Vec<StudyFigure>,
    /// Programs without which the report counts for nothing.
    pub requires: Vec<String>,
    /// The cells that are run: those with one of these combinations; none stands for all.
    pub chosen: Vec<BTreeMap<String, Vec<Level>>>,
    /// What differs for some cells.
    pub exceptions: Vec<Exception>,
}

/// What replaces parts of a study.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Levels of factors.
    pub set: Vec<(String, Vec<String>)>,
    /// Number of rounds, for all cells.
    pub repeats: Option<u32>,
    /// The study's own small form.
    pub quick: bool,
    /// All cells, not only those that the study has chosen.
    pub full: bool,
    /// The seed.
    pub seed: Option<u64>,
    /// With the soaker, also where the study has none.
    pub soaker: bool,
}

/// An error in a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyError {
    /// The file.
    pub file: String,
    /// The key, such as `factors.depth`; empty when the file is no TOML.
    pub key: String,
    /// The error and what to write instead.
    pub message: String,
}

impl fmt::Display for StudyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => write!(out, "study {}: {}", self.file, self.message),
            key => write!(out, "study {}: {key}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for StudyError {}

impl Study {
    /// Reads a study; `file` is its name for messages.
    pub fn parse(file: &str, text: &str, changes: &Changes) -> Result<Study, StudyError> {
        let study = written::read(file, text, changes)?;
        check::check(&study)?;
        Ok(study)
    }

    /// The levels of a factor; none if it is not varied.
    pub fn levels(&self, factor: &str) -> &[Level] {
        self.factors.iter().find(|known| known.name == factor).map_or(&[], |known| &known.levels)
    }

    /// This study of two programs: each cell twice, one right behind the other.
    #[must_use]
    pub fn of_two_programs(mut self) -> Study {
        // The last factor changes fastest.
        self.factors.push(Factor { name: BINARY.into(), levels: BINARY_LEVELS.map(Level::from).to_vec() });
        self
    }

    /// This study with each cell run so often at least.
    #[must_use]
    pub fn repeated_at_least(mut self, least: u32) -> Study {
        let own = self.exceptions.iter_mut().filter_map(|exception| exception.repeats.as_mut());
        own.chain([&mut self.repeats]).for_each(|repeats| *repeats = least.max(*repeats));
        self
    }

    /// The study of one run of a cell, with nothing to prepare and all names in braces filled in.
    ///
    /// Errors: the key of the job and what is wrong with its value.
    pub fn of_one_run(
        &self,
        cell: &Cell,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Study, (&'static str, String)> {
        let Template::Job(job) = &self.template else { return Err(("job", "there is none".into())) };
        let soaker = cell.levels.get(SOAKER).cloned();
        let factors = soaker.into_iter().map(|level| Factor { name: SOAKER.into(), levels: vec![level] });
        let probes = self.probes.iter().copied().filter(|probe| *probe == Probe::Latency);
        Ok(Study {
            template: Template::Job(Box::new(job.with(value)?)),
            factors: factors.collect(),
            probes: probes.collect(),
            prepare: Vec::new(),
            check: Vec::new(),
            baselines: Vec::new(),
            requires: Vec::new(),
            chosen: Vec::new(),
            exceptions: Vec::new(),
            repeats: 1,
            warmup: 0,
            stop: None,
            ..self.clone()
        })
    }

    /// Its results: those that it declares, else the usual ones.
    pub(crate) fn all_results(&self) -> Vec<StudyResult> {
        if self.results.is_empty() { results::usual() } else { self.results.clone() }
    }

    /// A result by its name: also a usual one that the study does not declare.
    pub(crate) fn result(&self, name: &str) -> Option<StudyResult> {
        let usual = results::usual();
        self.results.iter().chain(&usual).find(|result| result.name == name).cloned()
    }

    /// The study as it is, without the factor of a comparison.
    fn own_factors(&self) -> impl Iterator<Item = &Factor> {
        self.factors.iter().filter(|factor| factor.name != BINARY)
    }

    fn error(&self, key: impl Into<String>, message: impl Into<String>) -> StudyError {
        StudyError { file: self.file.clone(), key: key.into(), message: message.into() }
    }
}

#[cfg(test)]
mod tests;
