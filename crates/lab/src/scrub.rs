//! Looks for silent corruption: files of sectors that say where they belong are written, later read back and judged.
//!
//! Both are moves of the library like any other (law 1): a null source whose blocks are made here, written where the
//! files stand so that a write that is lost leaves an older generation; and a source whose blocks are judged here
//! instead of hashed. Content and judgements are decided without I/O: `sector`, `layout`, `faults`.
//!
//! Must not know: command lines, how blocks are moved.

mod faults;
mod folder;
mod hook;
mod layout;
mod messages;
mod sector;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datapump::units::bytes_words;
use datapump::{Class, CpuStage, Event, Fill, Job, Operation, Options, Place, Problem, Report, Status};
use schemars::JsonSchema;
use serde::Serialize;

pub use faults::{ScrubFault, ScrubFaultKind, ScrubOrigin};

use faults::FileRuns;
use folder::{FirstLook, ScrubFolder};
use hook::ScrubHook;
use layout::{FILES, ScrubLayout};
use sector::{SECTOR_BYTES, SectorForm};

use crate::session::notice::tell;

/// A file that takes longer is told when it is done, so that somebody who waits sees how far it is.
const TELL_AFTER_NS: u64 = 5_000_000_000;

/// What [`scrub`] is asked.
#[derive(Clone, Debug, Default)]
pub struct ScrubArguments {
    /// The folder of the files, which holds nothing else.
    pub folder: PathBuf,
    /// Bytes of all files together: a multiple of 512, at least 4096.
    pub size_bytes: u64,
    /// Decides the content and the seals.
    pub seed: u64,
    /// Write the files, in a new generation, instead of reading them.
    pub write: bool,
    /// Once it is true, the scrub ends soon, with an error.
    pub stop: Arc<AtomicBool>,
}

/// What a scrub did and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Scrubbed {
    /// The folder; what is not UTF-8 is replaced.
    pub folder: String,
    /// The files were written; else they were read and judged.
    pub written: bool,
    /// The seed.
    pub seed: u64,
    /// How many files.
    pub files: u32,
    /// Bytes of all of them, as they should be.
    pub size_bytes: u64,
    /// Bytes of a sector.
    pub sector_bytes: u64,
    /// The newest generation: it is written, or was found; 0 if no sector was whole.
    pub generation: u64,
    /// The faults, by file and offset.
    pub faults: Vec<ScrubFault>,
    /// Bytes that were written or read.
    pub bytes: u64,
    /// Wall time of that.
    pub elapsed_ns: u64,
    /// CPU time of making sectors, or of judging them, for each byte: the stage `hash` of the bill. Null if there was
    /// no byte.
    pub hash_ns_per_byte: Option<f64>,
    /// CPU time of all of it for each byte.
    pub cpu_ns_per_byte: Option<f64>,
    /// Bytes that stayed in the page cache, which was told to let them go before they were read; null where that is
    /// not known, or nothing was read.
    pub cached_bytes: Option<u64>,
    /// Whether the last file was read or written past the page cache, and why.
    pub direct: String,
    /// What else is to be known, in words.
    pub notes: Vec<String>,
    /// What went wrong while files were read; what was not read is among the faults.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// Writes the files, or reads and judges them.
///
/// Errors: a size that cannot be had, a folder that holds other things, no room, nothing to read, a write that failed,
/// an interrupt. Files that are wrong or cannot be read are faults and no errors.
pub fn scrub(arguments: &ScrubArguments) -> Result<Scrubbed, Problem> {
    let layout =
        ScrubLayout::new(arguments.size_bytes).map_err(|words| Problem::usage(format!("--size: {words}")))?;
    if arguments.write && !arguments.folder.exists() {
        std::fs::create_dir(&arguments.folder).map_err(|error| {
            Problem::system(Operation::Make, &arguments.folder, error.raw_os_error().unwrap_or(5))
        })?;
    }
    let folder = ScrubFolder::open(&arguments.folder, layout)?;
    let scrub = Scrub { arguments, layout, folder, form: SectorForm::new(arguments.seed) };
    if arguments.write { scrub.write() } else { scrub.read() }
}

struct Scrub<'run> {
    arguments: &'run ScrubArguments,
    layout: ScrubLayout,
    folder: ScrubFolder,
    form: SectorForm,
}

/// What the files cost together.
#[derive(Debug, Default)]
struct ScrubCost {
    hash_s: f64,
    all_s: f64,
}

impl Scrub<'_> {
    fn empty_result(&self, generation: u64) -> Scrubbed {
        Scrubbed {
            folder: self.arguments.folder.to_string_lossy().into_owned(),
            written: self.arguments.write,
            seed: self.arguments.seed,
            files: FILES,
            size_bytes: self.layout.bytes(),
            sector_bytes: SECTOR_BYTES as u64,
            generation,
            ..Scrubbed::default()
        }
    }

    /// Writes each file where it stands; status 0 of the library means that it is on stable storage.
    fn write(&self) -> Result<Scrubbed, Problem> {
        self.folder.refuse_others()?;
        self.folder.check_room()?;
        let FirstLook { newest, .. } = self.folder.look(&self.form)?;
        let (mut done, mut spent) = (self.empty_result(newest + 1), ScrubCost::default());
        for file in self.layout.files() {
            let length = self.layout.file_bytes(file);
            let hook = Arc::new(ScrubHook::new(&self.form, file, length, done.generation));
            let source = Place::Null { bytes: Some(length), fill: Fill::Overwritten };
            let job = Job::copy(vec![source], Place::Path(self.folder.file(file))).hook(hook);
            let (report, mut problems) = self.perform(file, job);
            spent.add(&report, &mut done);
            if report.exit_status != Status::Done as i32 {
                problems.truncate(1);
                return Err(problems.pop().unwrap_or_else(|| self.unfinished(&report)));
            }
        }
        Ok(spent.told(done))
    }

    /// Reads each file and judges all of it: what is older than the newest sector is known only in the end.
    fn read(&self) -> Result<Scrubbed, Problem> {
        let look = self.folder.look(&self.form)?;
        if look.files == 0 {
            let words = "holds no files of a scrub; --write makes them";
            return Err(Problem::new(Class::Missing, Operation::Scrub, &self.arguments.folder, words));
        }
        let (mut done, mut spent) = (self.empty_result(0), ScrubCost::default());
        let mut found = Vec::new();
        done.cached_bytes = Some(0);
        for file in self.layout.files() {
            let length = self.folder.length(file)?;
            let runs = match length {
                Some(length) if length > 0 => {
                    self.read_file(file, length, look.newest, &mut done, &mut spent)?
                }
                _ => FileRuns::default(),
            };
            found.push((file, length, runs));
        }
        done.generation = found.iter().map(|(_, _, runs)| runs.newest()).max().unwrap_or(0);
        for (file, length, runs) in &found {
            let lengths = (self.layout.file_bytes(*file), *length);
            done.faults.extend(runs.faults(&self.form, *file, done.generation, lengths));
        }
        done.notes = messages::notes(&done, self.folder.others()?.len());
        Ok(spent.told(done))
    }

    fn read_file(
        &self,
        file: u32,
        length: u64,
        newest: u64,
        done: &mut Scrubbed,
        spent: &mut ScrubCost,
    ) -> Result<FileRuns, Problem> {
        let cooled = self.folder.cool(file, length).map_err(|problem| done.problems.push(problem));
        let stays = cooled.unwrap_or(None);
        done.cached_bytes = done.cached_bytes.zip(stays).map(|(sum, stays)| sum + stays);
        let hook = Arc::new(ScrubHook::new(&self.form, file, self.layout.file_bytes(file), newest));
        let job = Job::hash(Place::Path(self.folder.file(file))).hook(Arc::clone(&hook) as _);
        let (report, problems) = self.perform(file, job);
        spent.add(&report, done);
        if report.exit_status == Status::Interrupted as i32 || self.arguments.stop.load(Ordering::Relaxed) {
            return Err(self.unfinished(&report));
        }
        done.problems.extend(problems);
        Ok(hook.found())
    }

    fn perform(&self, file: u32, job: Job) -> (Report, Vec<Problem>) {
        let options = Options::default().with(|it| {
            it.durability.inplace = self.arguments.write;
            it.place.target_is_name = true;
            it.reporting.bill = true;
        });
        let problems = Mutex::new(Vec::new());
        let report = job.options(options).stop(Arc::clone(&self.arguments.stop)).run_reported(&|event| {
            if let Event::Problem(problem) = event {
                problems.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
            }
        });
        if report.elapsed_ns > TELL_AFTER_NS {
            let (name, seconds) = (layout::file_name(file), report.elapsed_ns as f64 / 1e9);
            tell(&format!("{name} of {FILES}: {} in {seconds:.1} s", bytes_words(report.bytes)));
        }
        (report, problems.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn unfinished(&self, report: &Report) -> Problem {
        let words = match (report.exit_status == Status::Interrupted as i32, self.arguments.write) {
            (true, true) => "interrupted: the files hold two generations; give --write again".to_string(),
            (true, false) => "interrupted: the files were not judged".to_string(),
            (false, _) => format!("the job ended with status {}", report.exit_status),
        };
        Problem::new(Class::Io, Operation::Scrub, &self.arguments.folder, words)
    }
}

impl ScrubCost {
    fn add(&mut self, report: &Report, done: &mut Scrubbed) {
        let stages = report.bill.iter().flat_map(|bill| &bill.stages);
        self.hash_s += stages.filter(|it| it.stage == CpuStage::Hash).map(|it| it.cpu_seconds).sum::<f64>();
        self.all_s += report.bill.as_ref().map_or(0.0, |bill| bill.cpu_seconds_total);
        done.bytes += report.bytes;
        done.elapsed_ns += report.elapsed_ns;
        done.direct = format!("{} ({})", report.direct.got, report.direct.why);
    }

    fn told(&self, done: Scrubbed) -> Scrubbed {
        let per_byte = |seconds: f64| (done.bytes > 0).then(|| seconds * 1e9 / done.bytes as f64);
        Scrubbed { hash_ns_per_byte: per_byte(self.hash_s), cpu_ns_per_byte: per_byte(self.all_s), ..done }
    }
}
