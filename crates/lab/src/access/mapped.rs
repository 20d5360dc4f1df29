//! A pass over a mapping: pages are touched, and nothing is called.
//!
//! Must not know: how a page that does not come is noticed (`datapump_engine::os`).

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::Ordering;
use std::time::Instant;

use datapump::{AskedAndGot, Class, Cpu, Operation, Problem, Report, Status, Sync};
use datapump_engine::os::linux::{
    MappedAdvice, MappedCause, MappedFault, MappedFile, MappedFor, process_cpu_ns,
};

use super::choice::AccessUse;
use super::{AccessPlan, Passed, failed};

/// Pages between two looks at whether the pass is to end.
const LOOK_PAGES: usize = 4096;

/// What the touches gave.
#[derive(Debug, Default)]
struct MappedDone {
    sum: u64,
    touched_ns: u64,
    synced_ns: Option<u64>,
    interrupted: bool,
}

/// Makes the pass. The order is computed before it begins.
pub fn pass(plan: &AccessPlan<'_>, advice: MappedAdvice) -> Passed {
    let pages = plan.order.pages();
    let (start, before) = (Instant::now(), process_cpu_ns());
    let done = map(plan, advice).and_then(|mapped| touch(plan, mapped, &pages, start));
    let (elapsed_ns, after) = (start.elapsed().as_nanos() as u64, process_cpu_ns());
    let cpu = Cpu { user_ns: after.0 - before.0, system_ns: after.1 - before.1 };
    let (done, problems) = match done {
        Ok(done) => (done, Vec::new()),
        Err(problem) => (MappedDone::default(), vec![problem]),
    };
    let status = match problems.first().map(|problem| problem.class) {
        None if done.interrupted => Status::Interrupted,
        None => Status::Done,
        Some(Class::Changed) => Status::Changed,
        Some(_) => Status::Failed,
    };
    let moved = if status == Status::Done { plan.passed_bytes } else { 0 };
    let got = AskedAndGot { asked: "mmap".into(), got: "mmap".into(), why: String::new() };
    let report = Report {
        version: env!("CARGO_PKG_VERSION").into(),
        exit_status: status as i32,
        bytes: moved,
        bytes_moved: moved,
        files: u64::from(status == Status::Done),
        problems: problems
            .iter()
            .map(|problem| (problem.class.name().to_string(), 1))
            .collect::<BTreeMap<_, _>>(),
        elapsed_ns,
        first_done_ns: done.touched_ns,
        last_done_ns: done.touched_ns,
        synced_ns: done.synced_ns,
        requests: pages.len() as u64,
        engine: got,
        request_bytes: plan.arguments.page_bytes as u32,
        lanes: 1,
        lanes_cpu_ns: cpu.total_ns(),
        cpu,
        ..Report::default()
    };
    Passed { report, sum: done.sum, problems }
}

fn map(plan: &AccessPlan<'_>, advice: MappedAdvice) -> Result<MappedFile, Problem> {
    let path = plan.path();
    let writes = plan.arguments.operation == AccessUse::Write;
    let file = File::options().read(true).write(writes).open(path);
    let file = file.map_err(|error| failed(Operation::Open, path, &error))?;
    let purpose = if writes { MappedFor::Writing } else { MappedFor::Reading };
    MappedFile::new(file, plan.bytes, purpose, advice)
        .map_err(|errno| Problem::system(Operation::Map, path, errno.0))
}

/// Touches all pages, syncs if that was asked, and takes the mapping away.
fn touch(
    plan: &AccessPlan<'_>,
    mut mapped: MappedFile,
    pages: &[u64],
    start: Instant,
) -> Result<MappedDone, Problem> {
    let mut done = MappedDone::default();
    for some in pages.chunks(LOOK_PAGES) {
        if plan.arguments.stop.load(Ordering::Relaxed) {
            return Ok(MappedDone { interrupted: true, ..done });
        }
        let touched = match plan.arguments.operation {
            AccessUse::Read => sum(plan, &mapped, some),
            AccessUse::Write => fill(plan, &mut mapped, some),
        };
        done.sum = done.sum.wrapping_add(touched.map_err(|fault| told(plan, fault))?);
    }
    mapped.check_length().map_err(|fault| told(plan, fault))?;
    let now_ns = || start.elapsed().as_nanos() as u64;
    done.touched_ns = now_ns();
    if plan.arguments.operation == AccessUse::Write && plan.arguments.sync != Sync::None {
        mapped.sync().map_err(|fault| told(plan, fault))?;
        done.synced_ns = Some(now_ns());
    }
    Ok(done)
}

fn sum(plan: &AccessPlan<'_>, mapped: &MappedFile, pages: &[u64]) -> Result<u64, MappedFault> {
    let touch = |page: &u64| {
        let (at, bytes) = plan.touched(*page);
        mapped.sum(at, bytes)
    };
    pages.iter().try_fold(0_u64, |sum, page| Ok(sum.wrapping_add(touch(page)?)))
}

fn fill(plan: &AccessPlan<'_>, mapped: &mut MappedFile, pages: &[u64]) -> Result<u64, MappedFault> {
    let value = plan.value();
    pages.iter().try_for_each(|page| {
        let (at, bytes) = plan.touched(*page);
        mapped.fill(at, bytes, value)
    })?;
    Ok(0)
}

/// What a page that did not come means.
fn told(plan: &AccessPlan<'_>, fault: MappedFault) -> Problem {
    let (path, operation) = match plan.arguments.operation {
        AccessUse::Read => (plan.path(), Operation::Read),
        AccessUse::Write => (plan.path(), Operation::Write),
    };
    let problem = match fault.cause {
        MappedCause::System(errno) => Problem::system(Operation::Sync, path, errno.0),
        MappedCause::Cut(bytes) => {
            let words = format!(
                "the file was cut to {bytes} bytes while it was mapped ({} before); run the pass again when nothing \
                 changes it",
                plan.bytes
            );
            Problem::new(Class::Changed, operation, path, words)
        }
        MappedCause::NotBroughtIn => {
            let words = "the page could not be brought in: the device failed, or there was no room for a hole of the \
                         file; the kernel's log says which";
            Problem::new(Class::Io, operation, path, words)
        }
    };
    problem.at(fault.at)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::choice::{AccessInterface, AccessPattern};
    use super::super::touch::Touch;
    use super::super::{AccessArguments, AccessPart, AccessPlan};
    use super::*;

    #[test]
    fn a_file_that_is_cut_while_it_is_mapped_is_a_problem_with_path_and_offset() {
        let folder = tempfile::tempdir().expect("room");
        let file = folder.path().join("file");
        for operation in [AccessUse::Read, AccessUse::Write] {
            for (left, at) in
                [(5 * 4096, 5 * 4096), (0, 0), (3 * 4096 + 10, 4 * 4096), (7 * 4096 + 1, 7 * 4096 + 1)]
            {
                std::fs::write(&file, vec![7; 8 * 4096]).expect("room");
                let arguments = AccessArguments {
                    file: file.clone(),
                    interface: AccessInterface::Mmap,
                    pattern: AccessPattern::Sequential,
                    touch: Touch::Word,
                    operation,
                    page_bytes: 4096,
                    part: AccessPart::WHOLE,
                    pages_max: u64::MAX,
                    latencies: false,
                    depth: 1,
                    sync: Sync::None,
                    seed: 1,
                    stop: Arc::default(),
                };
                let plan = AccessPlan::new(&arguments).expect("a file");
                let mapped = map(&plan, MappedAdvice::None).expect("it is mapped");
                File::options()
                    .write(true)
                    .open(&file)
                    .and_then(|file| file.set_len(left))
                    .expect("it is cut");
                let problem =
                    touch(&plan, mapped, &plan.order.pages(), Instant::now()).expect_err("it was cut");
                let row = format!("{operation:?} {left}: {problem}");
                assert_eq!((problem.class, problem.offset), (Class::Changed, Some(at)), "{row}");
                let words = format!(
                    "file' at byte {at}: the file was cut to {left} bytes while it was mapped (32768 "
                );
                assert!(problem.to_string().contains(&words), "{row}");
            }
        }
    }
}
