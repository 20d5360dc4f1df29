//! `pump hash`: prints what `b3sum` prints, of files and of all files in folders, or checks what it printed.
//!
//! Must not know: how a hash is taken.

mod check;

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stdout};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use datapump::{Class, Event, Job, Operation, Place, PlaceError, Problem, Report, Status};
use datapump_files::disk::FileKind;
use datapump_files::disk::names::{find_folder, list_path};

use crate::args::HashArguments;
use crate::output::Output;
use crate::output::path_words::path_words;
use crate::output::progress::shown;
use crate::run::{Runner, Sum};

/// Hashes each file in turn. Gives the exit status.
pub fn hash(arguments: &HashArguments) -> i32 {
    let output = Output::new(&arguments.output);
    let sources: Result<Vec<_>, _> = arguments.files.iter().map(|word| place(arguments, word)).collect();
    let status = match sources {
        _ if arguments.check => checked(arguments, &output),
        Err(error) => output.usage(error.to_string()),
        Ok(sources) => perform(arguments, &sources, &output),
    };
    output.status(status)
}

/// Other hosts are not read here, so that a file with a colon in its name is that file.
fn place(arguments: &HashArguments, word: &OsString) -> Result<Place, PlaceError> {
    if word == "-" {
        return Ok(Place::Stream);
    }
    let path = in_folder(arguments, word);
    match Place::parse(path.as_os_str()) {
        Ok(Place::Remote(_)) | Err(_) if path.symlink_metadata().is_ok() => Ok(Place::Path(path)),
        parsed => parsed,
    }
}

fn perform(arguments: &HashArguments, sources: &[Place], output: &Output) -> i32 {
    output.start("hash", sources, None);
    let runner = Runner::new(output, shown(&arguments.output));
    let mut sum = Sum::default();
    for (source, name) in sources.iter().zip(&arguments.files) {
        match source.local_path().filter(|path| find_folder(path).is_ok()) {
            Some(folder) => hash_folder(&runner, arguments, folder, &mut sum),
            None => print(&runner, arguments, source, name, &mut sum),
        }
        if runner.stopped() {
            break;
        }
    }
    ended(arguments, &sum.report(runner.stopped()), output)
}

/// The results are on standard output; a report for people beside them is for those who ask.
fn ended(arguments: &HashArguments, report: &Report, output: &Output) -> i32 {
    if output.json || output.verbose || arguments.output.stats {
        output.report(report);
    } else {
        output.interruption(report);
    }
    report.exit_status
}

fn print(runner: &Runner<'_>, arguments: &HashArguments, source: &Place, name: &OsStr, sum: &mut Sum) {
    let report = hash_one(runner, arguments, source);
    if let (false, Some(root)) = (runner.output.json, &report.blake3) {
        runner.output.bytes(&line(name, root, stdout().is_terminal()));
    }
    sum.add(report);
}

/// All regular files in a folder, in the order of their names. Links are not followed.
fn hash_folder(runner: &Runner<'_>, arguments: &HashArguments, folder: &Path, sum: &mut Sum) {
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        if runner.stopped() {
            return;
        }
        let entries = match sorted(&path) {
            Ok(entries) => entries,
            Err(problem) => {
                runner.output.problem(&problem);
                sum.add(Report { exit_status: Status::Partial as i32, ..Report::default() });
                continue;
            }
        };
        for (below, _) in entries.iter().filter(|(_, kind)| *kind == FileKind::Regular) {
            let name = arguments.directory.as_ref().and_then(|folder| below.strip_prefix(folder).ok());
            let name = name.unwrap_or(below).as_os_str();
            print(runner, arguments, &Place::Path(below.clone()), name, sum);
            if runner.stopped() {
                return;
            }
        }
        // The last one is taken first.
        open.extend(
            entries.into_iter().rev().filter(|(_, kind)| *kind == FileKind::Folder).map(|(below, _)| below),
        );
    }
}

fn sorted(folder: &Path) -> Result<Vec<(PathBuf, FileKind)>, Problem> {
    let listed = list_path(folder).map_err(|errno| Problem::system(Operation::List, folder, errno.0))?;
    let mut entries: Vec<_> = listed.into_iter().map(|(name, kind)| (folder.join(name), kind)).collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}

/// `--check`: a line for each file, as b3sum has it. Status 1 if one does not match, or cannot be read.
fn checked(arguments: &HashArguments, output: &Output) -> i32 {
    if output.json {
        return output.usage("--check prints lines as b3sum does; drop --json");
    }
    let runner = Runner::new(output, shown(&arguments.output));
    let (mut sum, mut wrong, mut unread, mut all) = (Sum::default(), 0_u64, 0_u64, 0_u64);
    let mut unchecked = 0_u64;
    for list in &arguments.files {
        let expected = match check::read(list) {
            Ok(expected) => expected,
            Err(problem) => return output.refusal(&problem),
        };
        if expected.is_empty() {
            let words = "names no file: nothing was checked";
            output.problem(&Problem::new(Class::Io, Operation::Read, Path::new(list), words));
            unchecked += 1;
        }
        for check::Expected { name, hash } in expected {
            let report = hash_one(&runner, arguments, &Place::Path(in_folder(arguments, &name)));
            if runner.stopped() {
                output.interruption(&Report { exit_status: Status::Interrupted as i32, ..Report::default() });
                return Status::Interrupted as i32;
            }
            let is_right = report.blake3.as_ref() == Some(&hash);
            all += 1;
            unread += u64::from(report.blake3.is_none());
            wrong += u64::from(!is_right && report.blake3.is_some());
            sum.add(report);
            if !is_right || !output.quiet {
                let words = if is_right { "OK" } else { "FAILED" };
                output.result(&format!("{}: {words}", path_words(Path::new(&name))));
            }
        }
    }
    if wrong + unread > 0 {
        output.line(&format!("pump: of {all} files {wrong} do not match, and {unread} could not be read"));
    }
    ended(arguments, &sum.report(false), output);
    if wrong + unread + unchecked > 0 { Status::Failed as i32 } else { Status::Done as i32 }
}

fn in_folder(arguments: &HashArguments, name: &OsString) -> PathBuf {
    arguments.directory.as_ref().map_or_else(|| name.into(), |folder| folder.join(name))
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
/// Other bytes stand as they are, also where they are no UTF-8 (b3sum replaces them, and then does not find the file).
/// On a terminal control characters are escaped as well, where b3sum would let them through.
fn line(name: &OsStr, root: &str, terminal: bool) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(name.len());
    for &byte in name.as_bytes() {
        match byte {
            b'\\' => escaped.extend(b"\\\\"),
            b'\n' => escaped.extend(b"\\n"),
            byte => escaped.push(byte),
        }
    }
    let mark = if escaped == name.as_bytes() { "" } else { "\\" };
    let escaped = if terminal { crate::output::name(&escaped).into_bytes() } else { escaped };
    [mark.as_bytes(), root.as_bytes(), b"  ", &escaped, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_b3sum() {
        for (name, expected) in [
            (&b"plain"[..], &b"00  plain\n"[..]),
            (b"-", b"00  -\n"),
            (b"two words", b"00  two words\n"),
            (b"new\nline", b"\\00  new\\nline\n"),
            (b"back\\slash", b"\\00  back\\\\slash\n"),
            (b"bad\xff", b"00  bad\xff\n"),
            (b"esc\x1b[1m", b"00  esc\x1b[1m\n"),
        ] {
            assert_eq!(line(OsStr::from_bytes(name), "00", false), expected);
        }
        assert_eq!(line(OsStr::new("esc\x1b[1m"), "00", true), b"00  esc\\u{1b}[1m\n");
    }
}
