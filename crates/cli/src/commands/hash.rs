//! `pump hash`: prints what `b3sum` prints.
//!
//! Must not know: how a hash is taken.

use std::ffi::OsStr;
use std::io::{IsTerminal, stdout};

use datapump::{Event, Job, Place, Report, Status};

use crate::args::HashArguments;
use crate::output::Output;
use crate::output::json;
use crate::output::progress::shown;
use crate::run::{Runner, Sum, places};

/// Hashes each file in turn. Gives the exit status.
pub fn hash(arguments: &HashArguments) -> i32 {
    let output = Output::new(&arguments.output);
    let status = match places(&arguments.files) {
        Ok(sources) => perform(arguments, &sources, &output),
        Err(error) => output.usage(error.to_string()),
    };
    output.status(status)
}

fn perform(arguments: &HashArguments, sources: &[Place], output: &Output) -> i32 {
    if output.json {
        output.result(&json::start("hash", sources, None));
    }
    let runner = Runner::new(output, shown(&arguments.output));
    let mut sum = Sum::default();
    for (source, name) in sources.iter().zip(&arguments.files) {
        let report = hash_one(&runner, arguments, source);
        if let (false, Some(root)) = (output.json, &report.blake3) {
            output.result(&line(name, root, stdout().is_terminal()));
        }
        let interrupted = report.exit_status == Status::Interrupted as i32;
        sum.add(report);
        if interrupted || runner.stopped() {
            break;
        }
    }
    let report = sum.report(runner.stopped());
    // The results are on standard output; a report for people beside them is for those who ask.
    if output.json || output.verbose {
        output.report(&report);
    } else {
        output.interruption(&report);
    }
    report.exit_status
}

fn hash_one(runner: &Runner<'_>, arguments: &HashArguments, source: &Place) -> Report {
    let job = Job::hash(source.clone()).options(arguments.tuning.options());
    runner.run_with(job, &|event| match event {
        // Without JSON the result's own line tells of the file.
        Event::File { .. } if !runner.output.json => {}
        event => runner.output.event(event),
    })
}

/// A line as b3sum prints it: the hash, two spaces, the name; escaped names begin with a backslash before the hash.
/// On a terminal other control characters are escaped as well, where b3sum would let them through.
fn line(name: &OsStr, root: &str, terminal: bool) -> String {
    let name = name.to_string_lossy();
    let escaped = name.replace('\\', "\\\\").replace('\n', "\\n");
    let mark = if escaped == name { "" } else { "\\" };
    let escaped = if terminal { crate::output::name(escaped.as_bytes()) } else { escaped };
    format!("{mark}{root}  {escaped}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn lines_are_those_of_b3sum() {
        for (name, expected) in [
            (&b"plain"[..], "00  plain"),
            (b"-", "00  -"),
            (b"two words", "00  two words"),
            (b"new\nline", "\\00  new\\nline"),
            (b"back\\slash", "\\00  back\\\\slash"),
            (b"bad\xff", "00  bad\u{fffd}"),
            (b"esc\x1b[1m", "00  esc\x1b[1m"),
        ] {
            assert_eq!(line(OsStr::from_bytes(name), "00", false), expected);
        }
        assert_eq!(line(OsStr::new("esc\x1b[1m"), "00", true), "00  esc\\u{1b}[1m");
    }
}
