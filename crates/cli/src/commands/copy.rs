//! `pump copy` and `pump mirror`.
//!
//! Must not know: how a copy is made.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use datapump::{Event, Job, Place, Selection, Status};

use crate::args::{CopyArguments, MirrorArguments, relative};
use crate::commands::trace::Trace;
use crate::commands::tune::tuned;
use crate::output::Output;
use crate::output::path_words::path_words;
use crate::output::progress::shown;
use crate::run::remote;
use crate::run::{Runner, named_files, source_places, target_place};

/// Copies, or says what would be copied. Gives the exit status.
pub fn copy(arguments: &CopyArguments) -> i32 {
    command("copy", arguments)
}

/// `pump mirror`: a copy of one folder that becomes the same as it.
pub fn mirror(MirrorArguments(arguments): &MirrorArguments) -> i32 {
    command("mirror", arguments)
}

fn command(name: &str, arguments: &CopyArguments) -> i32 {
    let mut output = Output::new(&arguments.output);
    (output.itemize, output.dry_run) = (arguments.tree.itemize_changes, arguments.dry_run);
    if let Ok((sources, _)) = arguments.operands.split() {
        output.sources = sources.iter().map(|word| path_words(word.as_ref())).collect();
    }
    if let Err(problem) = output.open_files(&arguments.trace, &files(arguments)) {
        return output.refusal(&problem);
    }
    let status = match read_places(arguments) {
        Ok(places) => perform(name, arguments, places, &output),
        Err(message) => output.usage(message),
    };
    output.status(status)
}

/// The files that are read and written, as far as the command names them: nothing else is written over these.
fn files(arguments: &CopyArguments) -> Vec<PathBuf> {
    let mut files = named_files(arguments.operands.places.iter().chain(arguments.operands.folder()));
    if let Ok((sources, target)) = arguments.operands.split() {
        let names = sources.iter().filter_map(|source| Place::parse(source).ok()?.name_in_folder());
        files.extend(names.map(|name| Path::new(target).join(name)));
    }
    let patterns = &arguments.tree.patterns;
    files.extend(patterns.exclude_from.iter().chain(&patterns.include_from).cloned());
    files.extend(patterns.files_from.iter().chain(&arguments.host.reach.ticket_file).cloned());
    files
}

/// Places of a copy: sources and target.
struct NamedPlaces {
    sources: Vec<Place>,
    target: Place,
    /// The names that are copied of the one source where each keeps its path.
    names: Option<Vec<u8>>,
}

fn read_places(arguments: &CopyArguments) -> Result<NamedPlaces, String> {
    let (sources, target) = arguments.operands.split()?;
    let sources = source_places(sources).map_err(|error| error.to_string())?;
    let target = target_place(target).map_err(|error| error.to_string())?;
    if arguments.output.json && target == Place::Stream && !arguments.dry_run {
        return Err("--json and the target '-' both want standard output; \
                    leave --json out or name a file"
            .into());
    }
    if arguments.tree.typed.itemize_changes && sources.iter().chain([&target]).any(is_remote) {
        sources.iter().try_for_each(refuse_key)?;
    }
    if arguments.tree.is_mirror {
        refuse_no_folders(&sources, &target)?;
        refuse_target_above(&sources, &target)?;
    }
    if arguments.tree.is_mirror && arguments.operands.relative {
        return Err(
            "a mirror is the same as its source, which --relative would put below; use pump copy".into()
        );
    }
    if arguments.habits.recursive && arguments.tree.patterns.files_from.is_some() && !arguments.tree.is_mirror
    {
        return Err(
            "-r does not open folders that --files-from lists; end their names in the list with a slash, \
                    and leave -r out"
                .into(),
        );
    }
    if arguments.operands.folder().is_some() && !matches!(target, Place::Path(_) | Place::Remote(_)) {
        return Err(format!("'{target}' is not a directory; drop --target-directory and name it last"));
    }
    if arguments.tree.is_mirror && sources.len() > 1 {
        return Err("a mirror is the same as one folder; name one source and its copy".into());
    }
    if arguments.operands.no_target_directory && sources.len() > 1 {
        return Err("-T makes the target one name, and there are several sources; leave -T out".into());
    }
    let streams = sources.iter().filter(|source| **source == Place::Stream).count();
    if streams > 1 {
        return Err("standard input can be read once only; name '-' once".into());
    }
    if !arguments.operands.relative {
        return Ok(NamedPlaces { sources, target, names: None });
    }
    if arguments.tree.patterns.files_from.is_some() {
        return Err("the names of --files-from have their paths already; leave --relative out".into());
    }
    let (root, names) = relative(&sources)?;
    if !arguments.links.copy_links && !arguments.links.copy_unsafe_links {
        refuse_links(&root, &names)?;
    }
    Ok(NamedPlaces { sources: vec![root], target, names: Some(names) })
}

/// A link on the way to a source is a link at the target, too, and what it leads to is not there.
fn refuse_links(root: &Place, names: &[u8]) -> Result<(), String> {
    let Place::Path(root) = root else { return Ok(()) };
    let begin: PathBuf = root.components().filter(|part| *part != Component::CurDir).collect();
    for name in names.split(|byte| *byte == 0) {
        let path = Path::new(OsStr::from_bytes(name));
        let mut above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let Some(link) = above.find(|above| begin.join(above).is_symlink()) else { continue };
        let (whole, rest) = (begin.join(path), path.strip_prefix(link).unwrap_or(path));
        let (link, whole, rest) = (path_words(&begin.join(link)), path_words(&whole), path_words(rest));
        return Err(format!(
            "--relative: '{link}' on the way to '{whole}' is a symbolic link; write '{link}/./{rest}', which keeps the \
             path behind the link, or -L, which follows all links"
        ));
    }
    Ok(())
}

fn is_remote(place: &Place) -> bool {
    matches!(place, Place::Remote(_))
}

/// Behind scp's -i stands the key that it uses; behind rsync's, a source.
fn refuse_key(source: &Place) -> Result<(), String> {
    let Place::Path(path) = source else { return Ok(()) };
    let mut beginning = Vec::new();
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _ = file.take(64).read_to_end(&mut beginning);
    }
    let is_key =
        beginning.starts_with(b"-----BEGIN ") && beginning.windows(11).any(|part| part == b"PRIVATE KEY");
    if !is_key {
        return Ok(());
    }
    Err(format!(
        "'{source}' is a private key, and -i itemizes, as rsync's does; to use the key write --ssh 'ssh -i {source}', \
         to copy it leave -i out"
    ))
}

/// What cannot be a folder, wherever it is.
fn refuse_no_folders(sources: &[Place], target: &Place) -> Result<(), String> {
    match sources
        .iter()
        .chain([target])
        .find(|place| matches!(place, Place::Stream | Place::Null { .. } | Place::Stripe(_)))
    {
        Some(place) => Err(format!("'{place}' is not a directory, and a mirror needs one; use pump copy")),
        None => Ok(()),
    }
}

/// rsync copies a folder without a slash below the target. Where that holds its name, it is likely to be meant so, and
/// a mirror would remove all that lies beside it.
fn refuse_target_above(sources: &[Place], target: &Place) -> Result<(), String> {
    let ([source @ Place::Path(from)], Place::Path(to)) = (sources, target) else { return Ok(()) };
    let Some(name) = from.file_name().filter(|_| !source.stands_for_content()) else { return Ok(()) };
    let below = to.join(name);
    // A source that lies in its target is refused for that.
    let is_source = below.canonicalize().ok() == from.canonicalize().ok();
    if !below.is_dir() || is_source || from.join(name).symlink_metadata().is_ok() {
        return Ok(());
    }
    let below = Place::Path(below);
    Err(format!(
        "a mirror makes '{target}' itself the same as '{source}', and would remove all else there, '{below}' too; if \
         that is meant, write '{source}/', and for rsync's meaning pump mirror {source}/ {below}"
    ))
}

fn perform(name: &str, arguments: &CopyArguments, places: NamedPlaces, output: &Output) -> i32 {
    let NamedPlaces { sources, target, names } = places;
    output.start(name, &sources, Some(&target));
    let checked = remote::refuse_within_ssh(&arguments.host.reach, sources.iter().chain([&target]));
    let mut options = match checked.and_then(|()| arguments.options()) {
        Ok(options) => options,
        Err(message) => return output.usage(message),
    };
    options.selection.rules.extend(names.map(Selection::Whole));
    options.deletion.own_files = arguments.trace.files();
    if options.attributes.keep.owner {
        output.tell_fakeroot();
    }
    let words = arguments.tree.unheeded().into_iter().chain(arguments.habits.words());
    words.for_each(|words| output.event(Event::Note(words)));
    let trace = match Trace::new(&arguments.trace, sources.iter().chain([&target]), &files(arguments)) {
        Ok(trace) => trace,
        Err(problem) => return output.refusal(&problem),
    };
    let runner = Runner::new(output, shown(&arguments.output));
    let options = match tuned(&arguments.tune, &arguments.host, &sources, &target, options, &runner) {
        Ok(options) => options,
        Err(message) => return output.usage(message),
    };
    let is_remote = remote::is_meant(sources.iter().chain([&target]));
    let job = Job::copy(sources, target).options(options).tells_files(output.tells_files());
    if is_remote {
        return remote(arguments, job, trace, &runner);
    }
    let job = arguments.host.retry_for.into_iter().fold(job, Job::retry_for);
    let job = arguments.host.reach.peer_timeout.into_iter().fold(job, Job::peer_timeout);
    if arguments.dry_run && !job.has_folders() && !arguments.tree.decides_by_name() {
        return plan(&job, output);
    }
    let report = runner.run(job);
    output.report(&report);
    report.exit_status
}

/// One side is on another host.
fn remote(arguments: &CopyArguments, job: Job, trace: Trace, runner: &Runner<'_>) -> i32 {
    let output = runner.output;
    let memory_bytes = arguments.tune.memory;
    let run = || remote::perform(&arguments.host, job, memory_bytes, runner, &|event| output.event(event));
    match trace.beside(run) {
        Ok(mut report) => {
            trace.settle(&mut report, output);
            output.report(&report);
            report.exit_status
        }
        Err(message) => output.usage(message),
    }
}

/// `-n`: a line for each file on standard output.
fn plan(job: &Job, output: &Output) -> i32 {
    let (planned, problems) = match job.plan() {
        Ok(plan) => plan,
        Err(problem) => return output.refusal(&problem),
    };
    problems.iter().for_each(|problem| output.problem(problem));
    planned.iter().for_each(|file| output.planned(file));
    output.tell_dry_run();
    let class = problems.first().map(|problem| problem.class);
    let status = class.map_or(Status::Done, |_| Status::Partial) as i32;
    output.ended(status, class);
    status
}
