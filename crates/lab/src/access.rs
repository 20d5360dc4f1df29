//! One pass through a file by one interface: calls that copy, a mapping, or requests past the page cache; in some
//! order, using one word of each page or more.
//!
//! Calls and requests are a job of the library (law 1): its pieces are the pages, in the order of the pass, and a hook
//! touches what they hold. The mapping is the engine's. All touch by the same instructions, so that what differs is
//! the interface.
//!
//! Must not know: command lines, studies, how blocks are moved.

mod choice;
mod hook;
mod mapped;
mod messages;
mod moved;
mod order;
mod part;
#[cfg(test)]
mod tests;
mod touch;

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump::units::with_commas;
use datapump::{Class, Operation, Problem, Report, Status, Sync};
use datapump_engine::sim::Random;
use schemars::JsonSchema;
use serde::Serialize;

pub use choice::{AccessInterface, AccessPattern, AccessUse};
pub use part::AccessPart;
pub use touch::Touch;

use order::AccessOrder;

/// The smallest page: a mapping has no smaller ones, and a direct request seldom.
pub const PAGE_BYTES_MIN: u64 = 4 << 10;
/// The largest page: more is no page, and slots of that size times the depth are memory.
pub const PAGE_BYTES_MAX: u64 = 1 << 20;
/// The most pages of a pass: the order of so many takes 256 MiB.
const PAGES_MAX: u64 = 16 << 20;

/// What [`access`] is asked.
#[derive(Clone, Debug)]
pub struct AccessArguments {
    /// The file. A pass that writes changes its content.
    pub file: PathBuf,
    /// How it is read or written.
    pub interface: AccessInterface,
    /// In which order.
    pub pattern: AccessPattern,
    /// How much of each page is used.
    pub touch: Touch,
    /// Reading or writing.
    pub operation: AccessUse,
    /// Bytes of a page: a power of two.
    pub page_bytes: u64,
    /// Which part of the file is passed through.
    pub part: AccessPart,
    /// The pass ends after so many pages.
    pub pages_max: u64,
    /// Whether it is kept how long each request takes.
    pub latencies: bool,
    /// Requests under way, where there is a ring.
    pub depth: u32,
    /// Whether what was written is on stable storage before the pass is over.
    pub sync: Sync,
    /// Decides the random order, and what is written.
    pub seed: u64,
    /// Once it is true, the pass ends soon.
    pub stop: Arc<AtomicBool>,
}

/// Page faults of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PageFaults {
    /// The page was in memory.
    pub minor: u64,
    /// It had to be read.
    pub major: u64,
}

/// What a pass did and cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Accessed {
    /// The file; what is not UTF-8 is replaced.
    pub file: String,
    /// How.
    pub interface: AccessInterface,
    /// In which order.
    pub pattern: AccessPattern,
    /// Reading or writing.
    pub operation: AccessUse,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Bytes that were used of each page.
    pub touched_bytes: u64,
    /// Pages of the pass.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
    /// The part of the file that was in the page cache before; null if the system does not tell.
    pub cached_before: Option<f64>,
    /// Wall time, with the sync if there was one.
    pub elapsed_ns: u64,
    /// Bytes of the pages over that.
    pub bytes_per_second: f64,
    /// CPU time of the process in user mode for each page.
    pub user_ns_per_page: f64,
    /// CPU time of the process in the kernel for each page.
    pub system_ns_per_page: f64,
    /// All of it for each byte of the pages.
    pub cpu_ns_per_byte: f64,
    /// Page faults.
    pub page_faults: PageFaults,
    /// The sum of the words that were read, whatever the order: that of another interface is the same.
    pub sum: u64,
    /// The report of the pass.
    #[serde(skip)]
    pub report: Report,
    /// What went wrong.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// What a pass came to, whichever interface it had.
#[derive(Debug, Default)]
struct Passed {
    report: Report,
    sum: u64,
    problems: Vec<Problem>,
}

/// The pass as it is performed: checked, with its order.
#[derive(Debug)]
struct AccessPlan<'run> {
    arguments: &'run AccessArguments,
    /// Bytes of the file.
    bytes: u64,
    /// Bytes of the pages of the pass.
    passed_bytes: u64,
    touched_bytes: u64,
    order: AccessOrder,
}

/// Makes one pass.
///
/// Errors: what cannot be meant so, and a file that is none; nothing was written then. What fails on the way is among
/// the problems of what it gives.
pub fn access(arguments: &AccessArguments) -> Result<Accessed, Problem> {
    let plan = AccessPlan::new(arguments)?;
    let file =
        fs::File::open(&arguments.file).map_err(|error| failed(Operation::Open, plan.path(), &error))?;
    let cached_before = datapump_engine::os::linux::cached_fraction(&file, plan.bytes);
    drop(file);
    let before = page_faults();
    let mut passed = match arguments.interface.advice(arguments.pattern) {
        Some(advice) => mapped::pass(&plan, advice),
        None => moved::pass(&plan),
    };
    let after = page_faults();
    if passed.report.exit_status == Status::Done as i32 {
        passed.report.bytes = plan.passed_bytes;
        // None is copied.
        passed.report.files = 0;
    }
    let faults = PageFaults { minor: after.minor - before.minor, major: after.major - before.major };
    Ok(plan.told(passed, cached_before, faults))
}

impl<'run> AccessPlan<'run> {
    fn new(arguments: &'run AccessArguments) -> Result<AccessPlan<'run>, Problem> {
        let page_bytes = arguments.page_bytes;
        if !page_bytes.is_power_of_two() || !(PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes) {
            let page = with_commas(page_bytes);
            let words =
                format!("--page must be a power of two from 4KiB to 1MiB, not {page} bytes; give 8KiB");
            return Err(Problem::usage(words));
        }
        let touched_bytes = arguments.touch.bytes(page_bytes);
        let bytes = length(&arguments.file)?;
        let pages = bytes.div_ceil(page_bytes);
        if pages > PAGES_MAX {
            let words = format!("has {pages} pages, and a pass at most {PAGES_MAX}; give a larger --page");
            return Err(refused(&arguments.file)(words));
        }
        let range = arguments.part.range(pages).map_err(refused(&arguments.file))?;
        if arguments.latencies && arguments.interface.advice(arguments.pattern).is_some() {
            let words = "a mapping has no requests: leave out --latencies, or take --interface ring";
            return Err(Problem::usage(words));
        }
        let AccessArguments { pattern, seed, pages_max, .. } = *arguments;
        let order =
            AccessOrder { pattern, first: range.start, pages: range.end - range.start, pages_max, seed };
        if arguments.interface == AccessInterface::MmapPopulate && order.count() < pages {
            let words = "mmap-populate brings in the whole file: leave out --part and --pages, or take mmap";
            return Err(Problem::usage(words));
        }
        let passed_bytes = order.bytes(page_bytes, bytes);
        Ok(AccessPlan { arguments, bytes, passed_bytes, touched_bytes, order })
    }

    fn path(&self) -> &Path {
        &self.arguments.file
    }

    /// The bytes of a page that are used: in the last page of the file perhaps fewer.
    fn touched(&self, page: u64) -> (u64, u64) {
        let at = page * self.arguments.page_bytes;
        (at, self.touched_bytes.min(self.bytes - at))
    }

    /// The value to write into words.
    fn value(&self) -> u64 {
        value(self.arguments.seed)
    }

    fn is_full_page(&self) -> bool {
        self.touched_bytes == self.arguments.page_bytes
    }

    fn told(&self, passed: Passed, cached_before: Option<f64>, page_faults: PageFaults) -> Accessed {
        let Passed { report, sum, problems } = passed;
        let AccessArguments { interface, pattern, operation, page_bytes, .. } = *self.arguments;
        let (pages, cpu) = (self.order.count(), report.cpu);
        let per_page = |ns: u64| ns as f64 / pages as f64;
        Accessed {
            file: self.path().to_string_lossy().into_owned(),
            interface,
            pattern,
            operation,
            page_bytes,
            touched_bytes: self.touched_bytes,
            pages,
            bytes: report.bytes,
            cached_before,
            elapsed_ns: report.elapsed_ns,
            bytes_per_second: report.bytes_per_second(),
            user_ns_per_page: per_page(cpu.user_ns),
            system_ns_per_page: per_page(cpu.system_ns),
            cpu_ns_per_byte: cpu.total_ns() as f64 / self.passed_bytes as f64,
            page_faults,
            sum,
            report,
            problems,
        }
    }
}

/// Differs in all bytes from what a file holds by chance.
fn value(seed: u64) -> u64 {
    Random::seeded(seed, "access value").next_u64()
}

/// The length of a regular file that is not empty.
fn length(path: &Path) -> Result<u64, Problem> {
    let meta = fs::metadata(path).map_err(|error| failed(Operation::Open, path, &error))?;
    let kind = meta.file_type();
    let words = if kind.is_dir() {
        "is a folder; name a regular file"
    } else if kind.is_block_device() || kind.is_char_device() {
        "is a device, and a pass is made through a regular file; make one on the disk in question"
    } else if !kind.is_file() {
        "is no regular file; name one"
    } else if meta.len() == 0 {
        "is empty: there is no page to touch; name a file with content"
    } else {
        return Ok(meta.len());
    };
    Err(refused(path)(words.into()))
}

/// The file is not what is meant.
fn refused(path: &Path) -> impl FnOnce(String) -> Problem {
    move |words| Problem::new(Class::Usage, Operation::Access, path, words)
}

fn failed(operation: Operation, path: &Path, error: &std::io::Error) -> Problem {
    match error.raw_os_error() {
        Some(errno) => Problem::system(operation, path, errno),
        None => Problem::new(Class::Io, operation, path, error.to_string()),
    }
}

/// Page faults of this process until now: proc_pid_stat(5), fields 10 and 12. Zero where it cannot be read.
fn page_faults() -> PageFaults {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold anything, and ends with the last bracket; field 3 comes behind it.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse().ok()).unwrap_or(0);
    PageFaults { minor: number(10), major: number(12) }
}
