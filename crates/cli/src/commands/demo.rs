//! `pump demo`: copies real data with verification, says what limited it, and leaves nothing behind.
//!
//! Must not know: how a copy is made.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::units::bytes_words;
use datapump::{
    Class, Event, Fill, Host, Job, Operation, Options, Place, Problem, Remote, Report, ServeOptions, Server,
    Status, WayIn,
};

use crate::args::DemoArguments;
use crate::output::Output;
use crate::output::path_words::path_words;
use crate::output::progress::shown;
use crate::run::Runner;

/// Large enough to take a while, small enough for any disk.
const SAMPLE_BYTES: u64 = 256 << 20;
/// Demos that may run in one folder at a time.
const FOLDERS_MAX: u32 = 16;

/// Makes a sample or takes a file, copies it, verifies it, removes the copy. Gives the exit status.
pub fn demo(arguments: &DemoArguments) -> i32 {
    let output = Output::new(&arguments.output);
    let runner = Runner::new(&output, shown(&arguments.output));
    let status = match temporary_folder(arguments.path.as_deref(), &output) {
        Ok(folder) => perform(arguments.path.as_deref(), &folder, &runner),
        Err(problem) => output.refusal(&problem),
    };
    output.status(status)
}

fn perform(path: Option<&Path>, folder: &Temporary, runner: &Runner<'_>) -> i32 {
    let output = runner.output;
    let source = match path {
        Some(path) => path.to_path_buf(),
        None => {
            let sample = folder.path.join("sample");
            say(
                output,
                &format!("Making {} of noise in {}.", bytes_words(SAMPLE_BYTES), path_words(&folder.path)),
            );
            let report = runner.run_with(sample_job(&sample), &|event| match event {
                Event::File { .. } => {}
                event => output.event(event),
            });
            if report.exit_status != Status::Done as i32 {
                return end(output, &report);
            }
            sample
        }
    };
    let target = folder.path.join("copy");
    say(
        output,
        &format!(
            "Sending {} over TLS on loopback to {}, and reading it back.",
            path_words(&source),
            path_words(&target)
        ),
    );
    let (source, target) = (Place::Path(source), Place::Path(target));
    output.start("demo", std::slice::from_ref(&source), Some(&target));
    let options = Options::default().with(|it| {
        it.durability.verify = true;
        it.place.target_is_name = true;
    });
    let report = through_tls(runner, folder, source, options);
    let removed = folder.remove();
    if report.exit_status == Status::Done as i32 {
        praise(output, &report);
    }
    if let Err(error) = removed {
        let errno = error.raw_os_error().unwrap_or_default();
        let problem = Problem::system(Operation::Remove, &folder.path, errno);
        output.problem(&problem);
        return end(output, &Report { exit_status: Status::Failed as i32, ..report });
    }
    end(output, &report)
}

/// Disk, TLS on loopback, disk: the receiver is in this process.
fn through_tls(runner: &Runner<'_>, folder: &Temporary, source: Place, options: Options) -> Report {
    let end = Arc::new(AtomicBool::new(false));
    let served = ServeOptions { once: true, ..ServeOptions::for_place(Place::Path(folder.path.clone())) };
    let server = match Server::bind(served, Arc::clone(&end)) {
        Ok(server) => server,
        Err(problem) => {
            runner.output.problem(&problem);
            return Report { exit_status: Status::Failed as i32, ..Report::default() };
        }
    };
    let (ticket, host) = (server.ticket().clone(), Host::Served(server.address().to_string()));
    let target = Place::Remote(Remote { host, path: "copy".into() });
    std::thread::scope(|scope| {
        scope.spawn(|| server.run());
        let report = runner.watched(|watch, stop| {
            let job = Job::copy(vec![source], target).options(options).stop(stop).watch(watch);
            job.way_in(WayIn::Ticket(ticket)).run_reported(&|event| runner.output.event(event))
        });
        end.store(true, Ordering::Relaxed);
        report
    })
}

/// The sample comes from the same loop as every copy.
fn sample_job(sample: &Path) -> Job {
    let noise = Place::Null { bytes: Some(SAMPLE_BYTES), fill: Fill::Noise };
    Job::copy(vec![noise], Place::Path(sample.to_path_buf()))
}

fn end(output: &Output, report: &Report) -> i32 {
    if output.json {
        output.report(report);
    }
    report.exit_status
}

/// What people see of a demo that went well: its result.
fn praise(output: &Output, report: &Report) {
    if output.verbose && !output.json {
        output.report(report);
    }
    say(output, &report.summary());
    report.bottleneck().into_iter().chain(report.longest_wait()).for_each(|line| say(output, &line));
    say(output, "Read back and compared: the same. All temporary files are removed.");
}

fn say(output: &Output, line: &str) {
    if !output.json && !output.quiet {
        output.result(line);
    }
}

/// A folder that is removed with all that is in it.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn new(parent: &Path) -> io::Result<Temporary> {
        let process = std::process::id();
        let names = (0..FOLDERS_MAX).map(|number| parent.join(format!(".pump-demo-{process}-{number}")));
        for path in names {
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Temporary { path }),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn remove(&self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a failure: what went wrong was told, and a demo's leftovers have nobody who needs to hear of them.
        let _ = self.remove();
    }
}

/// A folder that may take the demo's files, what is free in it, and why it is none.
struct DemoFolder {
    path: PathBuf,
    free: io::Result<u64>,
}

impl DemoFolder {
    fn at(path: PathBuf) -> DemoFolder {
        // A file system without blocks of its own does not say what is free.
        let free = rustix::fs::statvfs(&path).map(|found| match found.f_blocks {
            0 => u64::MAX,
            _ => found.f_bavail.saturating_mul(found.f_frsize),
        });
        DemoFolder { path, free: free.map_err(io::Error::from) }
    }

    /// Why it does not take so many bytes.
    fn lack(&self, bytes: u64) -> Option<String> {
        match &self.free {
            Ok(free) if *free >= bytes => None,
            Ok(free) => Some(format!("{} free", bytes_words(*free))),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The first folder that has room and can be written, with what the ones before it lack; or what all of them lack.
fn first_with_room(
    folders: impl Iterator<Item = DemoFolder>,
    bytes: u64,
    make: impl Fn(&Path) -> io::Result<Temporary>,
) -> (Option<Temporary>, Vec<String>) {
    let mut lacks = Vec::new();
    for folder in folders {
        let made =
            folder.lack(bytes).map_or_else(|| make(&folder.path).map_err(|error| error.to_string()), Err);
        match made {
            Ok(made) => return (Some(made), lacks),
            Err(lack) => lacks.push(format!("'{}' ({lack})", path_words(&folder.path))),
        }
    }
    (None, lacks)
}

/// Beside the file, else in $TMPDIR, else in the current folder: /tmp is often memory, which says nothing of disks. One
/// that cannot be written or has no room is passed over with a line.
fn temporary_folder(path: Option<&Path>, output: &Output) -> Result<Temporary, Problem> {
    let bytes = match path {
        Some(path) => std::fs::metadata(path).map_or(0, |meta| meta.len()),
        None => 2 * SAMPLE_BYTES,
    };
    let beside = path.map(|path| path.parent().filter(|parent| !parent.as_os_str().is_empty()));
    let beside = beside.map(|parent| parent.unwrap_or(Path::new(".")).to_path_buf());
    let chosen = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let usual = [".", "/var/tmp", "/tmp"].map(PathBuf::from);
    let folders: Vec<_> = beside.into_iter().chain(chosen).chain(usual).collect();
    let preferred = folders[0].clone();
    let (found, lacks) = first_with_room(folders.into_iter().map(DemoFolder::at), bytes, Temporary::new);
    match found {
        Some(folder) => {
            if !lacks.is_empty() {
                let words = format!("no demo in {}: {} are needed", lacks.join(", "), bytes_words(bytes));
                output.event(Event::Notice(words));
            }
            Ok(folder)
        }
        None => {
            let (lacks, bytes) = (lacks.join(", "), bytes_words(bytes));
            let words = format!("no folder takes {bytes}: {lacks}; set TMPDIR to one that does");
            Err(Problem::new(Class::NoSpace, Operation::MakeTemporaryFolder, &preferred, words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temporary_folder_lies_beside_the_file_and_goes() {
        let beside = tempfile::tempdir().expect("a folder");
        let output = Output::default();
        let folder =
            temporary_folder(Some(&beside.path().join("file")), &output).expect("a temporary folder");
        assert_eq!(folder.path.parent(), Some(beside.path()));
        let path = folder.path.clone();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn the_first_folder_with_room_is_taken_and_what_the_others_lack_is_said() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str, free: io::Result<u64>| DemoFolder { path: home.path().join(name), free };
        for name in ["small", "locked", "good", "better"] {
            std::fs::create_dir(home.path().join(name)).expect("room");
        }
        let make = |path: &Path| {
            if path.ends_with("locked") {
                Err(io::ErrorKind::PermissionDenied.into())
            } else {
                Temporary::new(path)
            }
        };
        let folders = || {
            let missing = Err(io::ErrorKind::NotFound.into());
            [at("missing", missing), at("small", Ok(10 << 20)), at("locked", Ok(1 << 30))].into_iter()
        };
        let all = folders().chain([at("good", Ok(1 << 30)), at("better", Ok(1 << 40))]);
        let (found, lacks) = first_with_room(all, 512 << 20, make);
        assert_eq!(found.expect("a good one").path.parent(), Some(&*home.path().join("good")));
        for (lack, part) in lacks.iter().zip(["missing' (", "small' (10.0 MiB free)", "locked' (permission"])
        {
            assert!(lack.contains(part), "{lack}");
        }
        let (found, lacks) = first_with_room(folders(), 512 << 20, make);
        assert!(found.is_none() && lacks.len() == 3, "{lacks:?}");
    }
}
