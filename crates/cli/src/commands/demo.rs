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
    Fill, Host, Job, Operation, Options, Place, Problem, Remote, RemoteCopy, Report, ServeOptions, Server,
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
    let status = match temporary_folder(arguments.path.as_deref()) {
        Ok(folder) => perform(arguments.path.as_deref(), &folder, &runner),
        Err((path, error)) => {
            let errno = error.raw_os_error().unwrap_or_default();
            output.refusal(&Problem::system(Operation::MakeTemporaryFolder, &path, errno))
        }
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
                datapump::Event::File { .. } => {}
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
    let options = Options { verify: true, target_is_name: true, ..Options::default() };
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
    let served = ServeOptions { once: true, ..ServeOptions::of(Place::Path(folder.path.clone())) };
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
            RemoteCopy {
                sources: vec![source],
                target,
                compares: false,
                options,
                way_in: WayIn::Ticket(ticket),
                connections: None,
                peer_timeout: None,
                retry_for: None,
                memory_bytes: None,
                tells_files: true,
                stop,
                watch,
            }
            .run_reported(&|event| runner.output.event(event))
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

/// Beside the file, else in $TMPDIR, else in the current folder: /tmp is often memory, which tells nothing of disks.
fn temporary_folder(path: Option<&Path>) -> Result<Temporary, (PathBuf, io::Error)> {
    let in_folder = |folder: PathBuf| Temporary::new(&folder).map_err(|error| (folder, error));
    let Some(path) = path else {
        let chosen = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
        let first = in_folder(chosen.map_or_else(|| PathBuf::from("."), PathBuf::from));
        return first.or_else(|failed| in_folder(std::env::temp_dir()).map_err(|_| failed));
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    in_folder(parent.unwrap_or(Path::new(".")).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temporary_folder_lies_beside_the_file_and_goes() {
        let beside = tempfile::tempdir().expect("a folder");
        let folder = temporary_folder(Some(&beside.path().join("file"))).expect("a temporary folder");
        assert_eq!(folder.path.parent(), Some(beside.path()));
        let path = folder.path.clone();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }
}
