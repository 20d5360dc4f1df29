//! Runs a study: in its order, one run at a time, a row appended after each; goes on where an earlier run stopped.
//!
//! Must not know: what is computed from rows, how a run is performed.

pub(crate) mod finished;
pub(crate) mod moment;
pub(crate) mod notice;
pub(crate) mod other;
pub(crate) mod programs;
pub(crate) mod progress;
pub(crate) mod quiet;
pub mod reproduce;
pub(crate) mod rerun;
pub(crate) mod room;
mod row_bytes;
pub(crate) mod stop;

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::RunArguments;
use crate::perform::{CommandLine, Measured, Reported, quoted, run_job};
use crate::probe::host::{HostFacts, load};
use crate::probe::identity;
use crate::probe::soaker::Coverage;
use crate::probe::soaker::spin::FixedSpin;
use crate::probe::tcp_series::TcpSeries;
use crate::report::bill::{HostMeters, coverage};
use crate::rig::{Prepared, Rig, Targets};
use crate::row::{COMPLETED, Row, RowFile, VERSION};
use crate::session::finished::delete;
use crate::session::moment::Moment;
use crate::session::notice::tell;
use crate::session::other::run_by;
use crate::session::programs::Programs;
use crate::session::progress::StudyProgress;
use crate::session::row_bytes::row_bytes;
use crate::study::{COMMAND, Cell, Check, Level, Probe, READERS, Run, Study, Template, fill};

/// What one run of a study needs.
#[derive(Debug)]
pub struct StudySession<'study> {
    study: &'study Study,
    cells: Vec<Cell>,
    absent: Vec<String>,
    /// The rows of this study and seed that its file has.
    done: Vec<Row>,
    /// The study, until a row of its file holds it.
    text: Option<String>,
    rows: RowFile,
    rig: Rig,
    host: HostFacts,
    meters: HostMeters,
    spin: FixedSpin,
    tcp: Option<TcpSeries>,
    programs: Programs,
    /// The files of runs by other programs.
    scratch: Targets,
    session: String,
    stop: Arc<AtomicBool>,
}

impl<'study> StudySession<'study> {
    /// Opens the file of rows and checks the folder, its room and the programs; nothing is run yet. A warning names the
    /// studies whose rows are in the file and that are not in `beside`.
    pub fn open(
        study: &'study Study,
        out: &Path,
        arguments: &RunArguments,
        programs: Programs,
        beside: &[&str],
    ) -> anyhow::Result<StudySession<'study>> {
        let folder = arguments.folder.clone().unwrap_or_else(|| PathBuf::from("."));
        let mut rig = Rig::new(&folder, study.seed, Arc::clone(&arguments.stop))?;
        let absent: Vec<String> = study.requires.iter().filter(|name| !is_installed(name)).cloned().collect();
        let cells = study.cells();
        if !study.prepare.is_empty() {
            tell(&rig.check_room(study, &cells)?);
        }
        let (rows, before) = RowFile::open(out)?;
        warn_of_others(out, &before, &[beside, &[study.name.as_str()]].concat());
        let own = before.into_iter().filter(|row| row.study == study.name && row.seed == study.seed);
        let done: Vec<Row> = own.collect();
        programs.check_builds(&done, out)?;
        let text = study.to_text()?;
        let last = done.iter().rev().find_map(|row| row.study_text.as_deref());
        let text = Some(text).filter(|text| last != Some(text));
        let (host, meters) = (HostFacts::read(rig.folder()), HostMeters::find());
        let wants_tcp = study.probes.contains(&Probe::Tcp);
        let tcp = wants_tcp.then(|| TcpSeries::beside(out)).transpose()?;
        let stop = Arc::clone(&arguments.stop);
        let (scratch, session) = (Targets::new(&std::env::temp_dir()), identity::session());
        Ok(StudySession {
            study,
            cells,
            absent,
            done,
            text,
            rows,
            rig,
            host,
            meters,
            spin: FixedSpin::calibrated(),
            tcp,
            programs,
            scratch,
            session,
            stop,
        })
    }

    /// Performs all runs that have no row yet.
    pub fn run(mut self) -> anyhow::Result<()> {
        let left = self.left();
        self.announce(&left);
        if left.is_empty() {
            return Ok(());
        }
        // Another program that runs a job waits for the lock itself.
        let _alone = (!self.is_of_others()).then(|| alone(&self.stop));
        let mut progress = StudyProgress::new(left.len(), self.study.stop.is_some());
        for (index, run) in left.iter().enumerate() {
            if self.begins_round(&left, index) && self.is_enough(run.repeat.unwrap_or(0)) {
                break;
            }
            self.rig.go_on()?;
            progress.begin();
            let mut row = self.row(run)?;
            if run.repeat.is_some() {
                row.study_text = self.text.take();
                self.rows.append(&row)?;
                self.done.push(row.clone());
            }
            let cells: Vec<usize> = left[index + 1..].iter().map(|run| run.cell).collect();
            progress.end(run, &row, &cells);
        }
        self.tell_end();
        Ok(())
    }

    fn begins_round(&self, left: &[Run], index: usize) -> bool {
        index == 0 || left[index - 1].repeat != left[index].repeat
    }

    /// Whether the study's own rule holds after so many rounds.
    fn is_enough(&self, rounds: u32) -> bool {
        let Some(rule) = &self.study.stop else { return false };
        let cells: Vec<_> =
            self.cells.iter().filter(|cell| self.is_possible(cell)).map(|cell| &cell.levels).collect();
        stop::is_enough(rule, &cells, &self.done, rounds)
    }

    fn tell_end(&self) {
        let Some(rule) = &self.study.stop else { return };
        let (name, percent) = (&self.study.name, rule.narrower_than * 100.0);
        match (rule.at_least..=rule.at_most).find(|&rounds| self.is_enough(rounds)) {
            Some(rounds) => {
                tell(&format!("{name}: {rounds} rounds: every interval is narrower than {percent} %"));
            }
            None => tell(&format!(
                "{name}: {} rounds, the most, and not every interval is narrower than {percent} %",
                rule.at_most
            )),
        }
    }

    /// The runs without a row, and warm-ups for the cells that have such runs.
    fn left(&self) -> Vec<Run> {
        let done: BTreeSet<_> = self.done.iter().map(|row| (&row.asked, row.repeat)).collect();
        let has_row = |run: &Run, repeat| done.contains(&(&self.cells[run.cell].levels, repeat));
        let rounds = (0..self.study.repeats).find(|&rounds| self.is_enough(rounds));
        let runs: Vec<Run> = self.study.runs(&self.cells);
        let runs: Vec<Run> = runs
            .into_iter()
            .filter(|run| self.is_possible(&self.cells[run.cell]))
            .filter(|run| run.repeat.zip(rounds).is_none_or(|(repeat, rounds)| repeat < rounds))
            .collect();
        let due = |run: &Run| run.repeat.is_some_and(|repeat| !has_row(run, repeat));
        let open: BTreeSet<usize> = runs.iter().filter(|run| due(run)).map(|run| run.cell).collect();
        let needed = |run: &Run| if run.repeat.is_some() { due(run) } else { open.contains(&run.cell) };
        runs.into_iter().filter(needed).collect()
    }

    /// Whether this host has what the cell needs.
    fn is_possible(&self, cell: &Cell) -> bool {
        !self.lacks_program(cell) && !lacks_cpus(cell)
    }

    /// Whether a program that is not there stands in the cell's command line.
    fn lacks_program(&self, cell: &Cell) -> bool {
        let line = command_line(self.study, cell);
        line.is_some_and(|line| self.absent.iter().any(|program| names(line, program)))
    }

    fn announce(&self, left: &[Run]) {
        let counted = left.iter().filter(|run| run.repeat.is_some()).count();
        let name = &self.study.name;
        tell(&format!("{name}: {}", self.study.title));
        for program in &self.absent {
            tell(&format!("{name}: {program} is not installed: a report without it counts for nothing"));
        }
        if self.cells.iter().any(lacks_cpus) {
            tell(&format!(
                "{name}: this program may use one CPU, which has no half: soaker=half is left out"
            ));
        }
        let warmups = left.len() - counted;
        let there = self.done.len();
        tell(&format!("{name}: {counted} runs and {warmups} warm-ups to do, {there} rows are there already"));
        let failed = self.done.iter().filter(|row| !row.is_completed()).count();
        if failed > 0 {
            tell(&format!(
                "{name}: {failed} of the rows are of runs that failed, and these are not run again: take their lines \
                 out, or give another file with --out"
            ));
        }
    }

    /// Whether jobs are run by other programs.
    fn is_of_others(&self) -> bool {
        let is_job = matches!(self.study.template, Template::Job(_));
        is_job && self.programs.all().iter().any(|program| program.is_other)
    }

    /// Prepares, performs, checks and clears up one run.
    fn row(&mut self, run: &Run) -> anyhow::Result<Row> {
        let cell = self.cells[run.cell].clone();
        let prepared = self.prepare(&cell)?;
        let began = began(&cell);
        let pace_before_ns = Some(self.spin.pace_ns());
        let mut row = if self.is_of_others() {
            self.row_by_other(&cell, &prepared)?
        } else {
            self.row_by_this(run, &cell, &prepared)?
        };
        (row.pace_before_ns, row.pace_after_ns) = (pace_before_ns, Some(self.spin.pace_ns()));
        self.rig.go_on()?;
        let row = self.checked(row, &cell, &prepared, began);
        self.rig.delete_target();
        self.rig.go_on()?;
        Ok(self.signed(row, run, &cell, &prepared))
    }

    /// What another program tells of a run of its own.
    fn row_by_other(&mut self, cell: &Cell, prepared: &Prepared) -> anyhow::Result<Row> {
        let program = &self.programs.program_of(cell).path;
        let one = self.study.of_one_run(cell, &|name| value(name, cell, prepared, program));
        let one = one.map_err(|(key, wrong)| anyhow::anyhow!("job.{key}: {wrong}"))?;
        let folder = self.scratch.next("run")?;
        let row = run_by(program, &one, &folder, &self.stop);
        delete(&folder);
        row
    }

    fn row_by_this(&mut self, run: &Run, cell: &Cell, prepared: &Prepared) -> anyhow::Result<Row> {
        let load = load(); // before the soaker adds to it
        let sampling = match &self.tcp {
            Some(series) => series.start(self.study, run)?,
            None => None,
        };
        let running = self.meters.begin(coverage(&cell.levels))?;
        let time = format!("{:.3}", jiff::Timestamp::now());
        let mut measured = self.perform(cell, prepared)?;
        self.rig.end_path().into_iter().for_each(|path| measured.add_path(path));
        let readers = std::mem::take(&mut measured.readers);
        let bill = running.end();
        let host = prepared.host.as_ref().map(|(folder, _)| folder.as_path());
        let tcp = sampling.map(|sampling| sampling.finish(host)).transpose()?.flatten();
        let mut row = Row { time, load, tcp, ..row_of(prepared, measured) };
        if cell.levels.contains_key(READERS) {
            row = row.with_readers(readers);
        }
        let in_process = matches!(self.study.template, Template::Job(_));
        Ok(bill.put_into(row, in_process).with_cpu_per_request())
    }

    fn prepare(&mut self, cell: &Cell) -> anyhow::Result<Prepared> {
        let (program, stop) = (&self.programs.program_of(cell).path, &self.stop);
        let run = |command: &str, prepared: &Prepared| {
            let line = filled_line(command, cell, prepared, program)?;
            match CommandLine(line.clone()).run(stop)?.problem {
                None => Ok(()),
                Some((_, words)) => Err(anyhow::anyhow!("the step run, {line}: {words}")),
            }
        };
        self.rig.prepare(self.study, cell, &run)
    }

    fn perform(&self, cell: &Cell, prepared: &Prepared) -> anyhow::Result<Measured> {
        let program = &self.programs.program_of(cell).path;
        match (&self.study.template, command_line(self.study, cell)) {
            (Template::Job(job), _) => {
                let filled = job.filled(&|name| value(name, cell, prepared, program));
                let mut filled = filled.map_err(|(key, wrong)| anyhow::anyhow!("job.{key}: {wrong}"))?;
                filled.options.reporting.latencies = self.study.probes.contains(&Probe::Latency);
                run_job(filled, Arc::clone(&self.stop))
            }
            (Template::Command(_), line) => {
                let line = filled_line(line.unwrap_or_default(), cell, prepared, program)?;
                CommandLine(line).run(&self.stop)
            }
        }
    }

    /// The first check that does not hold is the run's problem.
    fn checked(&self, mut row: Row, cell: &Cell, prepared: &Prepared, began: Moment) -> Row {
        for check in &cell.check {
            if !row.is_completed() {
                break;
            }
            let held = match check {
                Check::SameContent => self.rig.compare(prepared, false),
                Check::SameTree => self.rig.compare(prepared, true),
                Check::NothingWritten => match began.earliest() {
                    Ok(earliest) => self.rig.unwritten(prepared, earliest),
                    Err(words) => Err(("io", words)),
                },
            };
            if let Err((class, words)) = held {
                (row.outcome, row.message) = (class.into(), Some(words));
            }
        }
        row
    }

    /// What every run of the study and its cell has in common.
    fn signed(&self, row: Row, run: &Run, cell: &Cell, prepared: &Prepared) -> Row {
        let host = self.host.clone();
        Row {
            v: VERSION,
            study: self.study.name.clone(),
            asked: cell.levels.clone(),
            repeat: run.repeat.unwrap_or(0),
            order: run.order.unwrap_or(0),
            seed: self.study.seed,
            host: host.name,
            cpu_model: host.cpu_model,
            cpu_mhz: host.cpu_mhz,
            cpus: host.cpus,
            clock_source: host.clock_source,
            kernel: host.kernel,
            file_system: host.file_system,
            machine_id: host.machine_id,
            session: self.session.clone(),
            build: self.programs.program_of(cell).build.clone(),
            cache_state: prepared.cache_state.name().into(),
            quiet: prepared.quiet,
            baselines: self.study.baselines.clone(),
            absent: self.absent.clone(),
            study_text: None,
            ..row
        }
    }
}

/// What was measured.
fn row_of(prepared: &Prepared, measured: Measured) -> Row {
    let reported = measured.report.as_ref();
    let report = reported.map(|reported| &reported.report);
    let requests = report.map(|report| report.requests);
    let bytes = row_bytes(prepared.source.as_ref().map(|_| prepared.source_bytes), report);
    let mut achieved = reported.map(Reported::achieved).unwrap_or_default();
    achieved.extend(measured.achieved);
    let (outcome, message) = match measured.problem {
        None => (COMPLETED.to_string(), None),
        Some((class, words)) => (class, Some(words)),
    };
    Row {
        achieved,
        outcome,
        message,
        bytes,
        requests,
        partial_returns: report.map(|report| report.partial_returns),
        mean_part_bytes: reported.and_then(Reported::mean_part_bytes),
        elapsed_ns: measured.elapsed_ns,
        first_done_ns: report.map(|report| report.first_done_ns),
        last_done_ns: report.map(|report| report.last_done_ns),
        synced_ns: report.and_then(|report| report.synced_ns),
        user_ns: measured.user_ns,
        system_ns: measured.system_ns,
        waits_ns: reported.map(Reported::waits_ns),
        latency_ns: report.and_then(|report| serde_json::to_value(report.latency_ns.as_ref()?).ok()),
        explained: reported.and_then(|reported| reported.explained.clone()),
        report: report.cloned().map(Box::new),
        version: env!("CARGO_PKG_VERSION").into(),
        command: measured.command,
        voluntary_switches: Some(measured.switches.voluntary),
        involuntary_switches: Some(measured.switches.involuntary),
        max_rss_bytes: measured.max_rss_bytes,
        // Not measured here, or set by the caller.
        ..Row::default()
    }
}

fn command_line<'study>(study: &'study Study, cell: &Cell) -> Option<&'study str> {
    match &study.template {
        Template::Command(lines) => lines.get(&cell.levels.get(COMMAND)?.to_string()).map(String::as_str),
        Template::Job(_) => None,
    }
}

fn filled_line(line: &str, cell: &Cell, prepared: &Prepared, pump: &Path) -> anyhow::Result<String> {
    let word = |name: &str| match name {
        "port" => prepared.host.as_ref().map(|(_, port)| port.to_string()),
        "relay_port" => prepared.relay_port.map(|port| port.to_string()),
        _ => path_of(name, prepared, pump).map(|path| quoted(&path)),
    };
    let level = |name: &str| cell.levels.get(name).map(Level::to_string);
    let filled = fill(line, &|name| word(name).or_else(|| level(name)));
    filled.map_err(|name| anyhow::anyhow!("{{{name}}} has no value"))
}

/// What a name in the braces of a job stands for.
fn value(name: &str, cell: &Cell, prepared: &Prepared, pump: &Path) -> Option<String> {
    let word = path_of(name, prepared, pump).map(|path| path.to_string_lossy().into_owned());
    word.or_else(|| cell.levels.get(name).map(Level::to_string))
}

fn path_of(name: &str, prepared: &Prepared, pump: &Path) -> Option<PathBuf> {
    match name {
        "source" => prepared.source.clone(),
        "target" => prepared.target.clone(),
        "host" => prepared.host.as_ref().map(|(folder, _)| folder.clone()),
        "pump" => Some(pump.into()),
        _ => None,
    }
}

/// The moment from which on nothing may be written, if that is checked.
fn began(cell: &Cell) -> Moment {
    if cell.check.contains(&Check::NothingWritten) {
        Moment::after_all_that_was_written()
    } else {
        Moment::now()
    }
}

/// Whether the program stands in the line as a word of its own.
pub fn names(line: &str, program: &str) -> bool {
    let in_names = |letter: char| letter.is_alphanumeric() || "_-.+".contains(letter);
    line.split(|letter| !in_names(letter)).any(|word| word == program)
}

/// Whether the shell will find a program of this name.
fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| {
        let found = rustix::fs::access(folder.join(program), rustix::fs::Access::EXEC_OK);
        found.is_ok() && folder.join(program).is_file()
    })
}

/// Rows of several studies in one file may be a mistake.
fn warn_of_others(out: &Path, rows: &[Row], studies: &[&str]) {
    let names: BTreeSet<&str> = rows.iter().map(|row| row.study.as_str()).collect();
    let others: Vec<&str> = names.into_iter().filter(|name| !studies.contains(name)).collect();
    if !others.is_empty() {
        let file = datapump::shown(out.as_os_str().as_encoded_bytes());
        let names = datapump::shown(others.join(", ").as_bytes());
        tell(&format!(
            "warning: {file} has rows of another study ({names}); name another file with --out to keep them apart"
        ));
    }
}

/// Two studies at once would measure each other: the second waits. Without a folder for the lock nobody waits.
fn alone(stop: &AtomicBool) -> Option<File> {
    let path = std::env::temp_dir().join("pump-lab.lock");
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let lock = made.or_else(|_| File::open(&path)).ok()?;
    let mut told = false;
    while let Err(TryLockError::WouldBlock) = lock.try_lock() {
        if !told {
            tell("another study is running on this machine; this one waits for its end");
            told = true;
        }
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Some(lock)
}

/// Whether half of the CPUs are to be soaked where there is one.
fn lacks_cpus(cell: &Cell) -> bool {
    coverage(&cell.levels) == Some(Coverage::Half) && !Coverage::Half.is_possible()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_words_of_a_line() {
        for (line, program, found) in [
            ("cp {source} {target}", "cp", true),
            ("{pump} copy a b", "cp", false),
            ("a|mbuffer -q", "mbuffer", true),
            ("dd-direct x", "dd", false),
            ("x && sync {target}", "sync", true),
        ] {
            assert_eq!(names(line, program), found, "{program} in {line}");
        }
        assert!(is_installed("sh") && !is_installed("no-such-program-anywhere"));
    }
}
