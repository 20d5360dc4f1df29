//! The bandwidth of memory: all processors copy areas that no cache holds (Copy of STREAM, McCalpin 1995).
//!
//! What a rate is measured against: no copy is faster than memory for the times its bytes cross it. A
//! byte that is copied crosses memory twice, read and written. Must not know: what crosses memory in a transfer.

use std::fs;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use datapump::units::{rate_words, with_commas};
use datapump::{Class, Cpu, Operation, Problem, Report, Status};
use datapump_engine::os::linux::{cpus, process_cpu_ns};
use schemars::JsonSchema;
use serde::Serialize;

/// A copied byte is read once and written once.
pub const CROSSINGS_OF_A_COPY: f64 = 2.0;
/// An area of so many times the last cache: what is left in it from the pass before is a small part.
const TIMES_THE_CACHE: u64 = 4;
const AREA_BYTES_MIN: u64 = 256 << 20;
const PAGE_BYTES: usize = 4096;

/// What [`copy_memory`] is asked.
#[derive(Clone, Copy, Debug)]
pub struct MemoryArguments<'run> {
    /// Bytes that are copied in a pass by all threads; the areas take twice as much. By default what no cache holds.
    pub area_bytes: Option<u64>,
    /// Threads; by default one for each processor.
    pub threads: Option<u32>,
    /// How often the areas are copied.
    pub passes: u32,
    /// Once it is true, the copy ends behind its pass.
    pub stop: &'run AtomicBool,
}

/// What the copy came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MemoryCopied {
    /// Bytes that were copied in a pass.
    pub area_bytes: u64,
    /// Bytes of the largest cache of a processor; null if the system does not tell.
    pub cache_bytes: Option<u64>,
    /// Threads.
    pub threads: u32,
    /// How often the areas were copied.
    pub passes: u32,
    /// Bytes that were copied.
    pub bytes: u64,
    /// Wall time of the slowest thread.
    pub elapsed_ns: u64,
    /// Bytes that were copied over that.
    pub copied_bytes_per_second: f64,
    /// Bytes that were read from memory or written to it over that: twice as many.
    pub memory_bytes_per_second: f64,
    /// The figures as a report.
    #[serde(skip)]
    pub report: Report,
}

/// Copies.
///
/// Errors: areas that a cache holds, or that no memory is there for.
pub fn copy_memory(arguments: &MemoryArguments<'_>) -> Result<MemoryCopied, Problem> {
    let cache_bytes = cache_bytes();
    let least = cache_bytes.unwrap_or(0) * TIMES_THE_CACHE;
    let area_bytes = arguments.area_bytes.unwrap_or(least.max(AREA_BYTES_MIN));
    if area_bytes < least {
        let [area, cache] = [area_bytes, cache_bytes.unwrap_or(0)].map(with_commas);
        return Err(Problem::usage(format!(
            "a copy of {area} bytes stays in the processor's cache of {cache} bytes; give --size={least}B or more"
        )));
    }
    let threads = arguments.threads.unwrap_or_else(cpus).max(1);
    let of_thread = (area_bytes / u64::from(threads)) as usize;
    let mut areas = Vec::new();
    for _ in 0..threads {
        areas.push([area(of_thread, 1)?, area(of_thread, 2)?]);
    }
    let before = process_cpu_ns();
    let (elapsed_ns, passes) = timed(&mut areas, arguments);
    let after = process_cpu_ns();
    let bytes = of_thread as u64 * u64::from(threads) * passes;
    let cpu = Cpu { user_ns: after.0 - before.0, system_ns: after.1 - before.1 };
    let interrupted = arguments.stop.load(Ordering::Relaxed);
    let status = if interrupted { Status::Interrupted } else { Status::Done };
    let version = env!("CARGO_PKG_VERSION").into();
    let report = Report {
        version,
        exit_status: status as i32,
        bytes,
        bytes_moved: bytes,
        elapsed_ns,
        cpu,
        ..Report::default()
    };
    let copied_bytes_per_second = bytes as f64 * 1e9 / elapsed_ns.max(1) as f64;
    Ok(MemoryCopied {
        area_bytes,
        cache_bytes,
        threads,
        passes: passes as u32,
        bytes,
        elapsed_ns,
        copied_bytes_per_second,
        memory_bytes_per_second: copied_bytes_per_second * CROSSINGS_OF_A_COPY,
        report,
    })
}

/// The time of the slowest thread, and how many passes all made.
fn timed(areas: &mut [[Vec<u8>; 2]], arguments: &MemoryArguments<'_>) -> (u64, u64) {
    let begin = Barrier::new(areas.len());
    let copy = |[from, to]: &mut [Vec<u8>; 2]| {
        begin.wait();
        let start = Instant::now();
        let mut passes = 0;
        while passes < u64::from(arguments.passes) && !arguments.stop.load(Ordering::Relaxed) {
            to.copy_from_slice(black_box(from));
            black_box(&mut *to);
            passes += 1;
        }
        (start.elapsed().as_nanos() as u64, passes)
    };
    let done: Vec<(u64, u64)> = thread::scope(|scope| {
        let threads: Vec<_> = areas.iter_mut().map(|area| scope.spawn(|| copy(area))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let slowest = done.iter().map(|(elapsed_ns, _)| *elapsed_ns).max().unwrap_or(0);
    (slowest, done.iter().map(|(_, passes)| *passes).min().unwrap_or(0))
}

/// An area whose pages are there: what comes first of the kernel's is no part of the copy.
fn area(bytes: usize, value: u8) -> Result<Vec<u8>, Problem> {
    let mut area = Vec::new();
    area.try_reserve_exact(bytes).map_err(|_| {
        let words =
            format!("there is no memory for {} bytes; give a smaller --size", with_commas(bytes as u64));
        Problem::of(Class::Io, Operation::Allocate, words)
    })?;
    area.resize(bytes, 0);
    // One byte of each page: what is zero everywhere may be one page for all.
    area.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = value);
    Ok(area)
}

/// The largest cache of the first processor, as the system tells.
fn cache_bytes() -> Option<u64> {
    let folder = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let size = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("size")).ok()?;
        let kibibytes: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
        Some(kibibytes << 10)
    };
    folder.flatten().filter_map(size).max()
}

impl std::fmt::Display for MemoryCopied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [copied, memory] = [self.copied_bytes_per_second, self.memory_bytes_per_second].map(rate_words);
        let (threads, area) = (self.threads, with_commas(self.area_bytes));
        writeln!(
            f,
            "copied {copied} by {threads} threads, {area} bytes {} times: memory gives {memory}",
            self.passes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static GOING: AtomicBool = AtomicBool::new(false);

    fn arguments(stop: &AtomicBool) -> MemoryArguments<'_> {
        MemoryArguments {
            area_bytes: Some(cache_bytes().unwrap_or(1 << 20) * 4),
            threads: Some(2),
            passes: 2,
            stop,
        }
    }

    #[test]
    fn every_byte_of_each_pass_is_counted() {
        let done = copy_memory(&arguments(&GOING)).expect("there is memory");
        assert_eq!(done.bytes, done.area_bytes * 2);
        assert_eq!(done.report.bytes, done.bytes);
        assert_eq!(done.memory_bytes_per_second, done.copied_bytes_per_second * 2.0);
        assert!(done.to_string().contains("by 2 threads"), "{done}");
    }

    #[test]
    fn what_a_cache_holds_is_no_measure_of_memory() {
        let Some(cache) = cache_bytes() else { return eprintln!("not tested: the system tells of no cache") };
        let small = MemoryArguments { area_bytes: Some(cache), ..arguments(&GOING) };
        let problem = copy_memory(&small).expect_err("a cache holds it");
        assert!(problem.to_string().contains("--size="), "{problem}");
    }

    #[test]
    fn who_is_stopped_says_so() {
        let stop = AtomicBool::new(true);
        let done = copy_memory(&arguments(&stop)).expect("there is memory");
        assert_eq!((done.bytes, done.report.exit_status), (0, Status::Interrupted as i32));
    }
}
