//! What a comparison compares: two trees, or sources and one file; and what differs before anything is read.
//!
//! Must not know: how content is compared.

use std::path::{Path, PathBuf};

use crate::place::{Fill, Place};
use crate::problem::{Class, Operation, Problem, shell_word, shown, shown_path};
use crate::setup::options::Options;
use crate::targets::{self, Hosts, Item, Target};
use crate::units::number_of;
use datapump_core::selection::Select;
use datapump_files::disk::{FileKind, Meta, PathAt};

/// The items to compare, and the differences that are known before anything is read.
type ComparedPlaces = (Vec<Item>, Vec<Problem>);

/// The items of a comparison. Errors: what makes no sense to compare, and what cannot be looked at.
pub(crate) fn compared_items(
    hosts: &Hosts<'_>,
    sources: &[Place],
    target: &Place,
    options: &Options,
    select: &Select,
) -> Result<ComparedPlaces, Problem> {
    let Place::Path(other) = target else { return Err(not_a_file_problem(hosts, sources, target)) };
    if let [one @ (Place::Path(_) | Place::Remote(_))] = sources
        && let Some(answer) = folder_items(hosts, one, other, options, select)?
    {
        return Ok(answer);
    }
    let null = Place::Null { bytes: None, fill: Fill::Noise };
    let (mut items, problems) = targets::resolve_items(hosts, sources, &null, None, options, select)?;
    let at = PathAt::find(hosts.disk, other);
    let other_meta = at.metadata().map_err(|errno| Problem::system(Operation::Open, other, errno.0))?;
    if matches!(other_meta.kind, FileKind::Fifo | FileKind::CharDevice) {
        return Err(not_a_file_problem(hosts, sources, target));
    }
    for item in &mut items {
        item.target = Target::Compare(at.clone());
        // Files that the kernel makes up (/sys) tell a size that is not that of their content; the content decides.
        let is_sure = !item.meta.is_some_and(may_be_made_up) && !may_be_made_up(other_meta);
        let differ = item.bytes().filter(|&bytes| is_sure && bytes != other_meta.size_bytes);
        if let (Some(bytes), Some(path)) = (differ, item.source.path()) {
            let words = format!(
                "has {}, '{}' has {}",
                number_of(bytes, "byte"),
                shown_path(other),
                other_meta.size_bytes
            );
            return Ok((Vec::new(), vec![Problem::new(Class::Mismatch, Operation::Compare, path, words)]));
        }
    }
    Ok((items, problems))
}

/// The second place is read where the first one is, block by block, which only a file allows. What to write instead.
fn not_a_file_problem(hosts: &Hosts<'_>, sources: &[Place], other: &Place) -> Problem {
    let words = match sources {
        [one @ Place::Remote(_)] => format!(
            "'{other}' is no file, and what lies on another host is compared with files and folders alone; copy \
             '{one}' to this host, then compare '{other}' with the copy"
        ),
        [one @ Place::Path(path)] => match hosts.disk.metadata(path).map(|meta| meta.kind) {
            Err(errno) => return Problem::system(Operation::Open, path, errno.0),
            Ok(FileKind::Folder) => {
                format!("'{one}' is a folder, which is compared with a folder, not with '{other}'")
            }
            Ok(FileKind::Fifo | FileKind::CharDevice) => {
                format!("'{one}' and '{other}' are no files, and one of two places must be a file")
            }
            Ok(_) => {
                let command = swapped(other, one).map_or_else(String::new, |line| format!(": {line}"));
                format!("the second place must be a file, and '{other}' is none; write it first{command}")
            }
        },
        _ => format!("one of two places must be a file, and '{other}' is none"),
    };
    Problem::usage(words)
}

/// The command that names what is read once first; none where a name cannot be typed as it is shown.
fn swapped(first: &Place, second: &Place) -> Option<String> {
    Some(format!("pump verify {} {}", typed(first)?, typed(second)?))
}

/// The place as it is typed in a shell; `None` if that cannot be shown.
fn typed(place: &Place) -> Option<String> {
    let shown = place.to_string();
    match place {
        Place::Path(path) if shown.as_bytes() != path.as_os_str().as_encoded_bytes() => None,
        // What begins with a dash would be a flag.
        Place::Path(_) if shown.starts_with('-') => Some(shell_word(format!("./{shown}").as_bytes())),
        _ => Some(shell_word(shown.as_bytes())),
    }
}

/// Two folders become one tree; a folder and a file differ in kind.
fn folder_items(
    hosts: &Hosts<'_>,
    source: &Place,
    other: &Path,
    options: &Options,
    select: &Select,
) -> Result<Option<ComparedPlaces>, Problem> {
    let at = PathAt::find(hosts.disk, other);
    let other_meta = at.metadata().map_err(|errno| Problem::system(Operation::Open, other, errno.0))?;
    let (Some(meta), Some(one)) = (hosts.meta(0, source), source.path()) else { return Ok(None) };
    let meta = meta?;
    let name = shown_path(other);
    let words = match (meta.kind == FileKind::Folder, other_meta.kind == FileKind::Folder) {
        (false, false) => return Ok(None),
        (true, true) => {
            refuse_doubtful_patterns(one, options, select)?;
            let (source, target) = (source.clone(), Target::Tree(at));
            let item = Item {
                source,
                meta: Some(meta),
                target,
                number: 0,
                notices: Vec::new(),
                is_left_out: false,
                patterns_above: PathBuf::new(),
            };
            return Ok(Some((vec![item], Vec::new())));
        }
        (true, false) => format!("is a folder, '{name}' is a file"),
        (false, true) => format!("is a file, '{name}' is a folder"),
    };
    Ok(Some((Vec::new(), vec![Problem::new(Class::Mismatch, Operation::Compare, one, words)])))
}

/// Refuses patterns that mean one name after a copy and another after a mirror: which of the two made what is compared
/// nobody can tell. And a folder that they leave out whole was not copied: to find it the same would say nothing.
fn refuse_doubtful_patterns(source: &Path, options: &Options, select: &Select) -> Result<(), Problem> {
    let Some(name) = source.file_name().filter(|_| options.selection.patterns_begin_above) else {
        return Ok(());
    };
    let refused = |words: String| Err(Problem::new(Class::Usage, Operation::Compare, source, words));
    if let Some(pattern) = select.dependent_on(name) {
        let (pattern, name) = (shown(pattern), shown_path(source));
        return refused(format!(
            "patterns begin in it after pump mirror, and in the folder above it after pump copy, and '{pattern}' may \
             match other names in the one than in the other; write '{name}/' and patterns that begin in it"
        ));
    }
    if select.includes_argument(name, (true, true)) {
        return Ok(());
    }
    refused(
        "is left out itself by the patterns, and nothing would be compared; to have them begin in it write it with a \
         slash at its end"
            .into(),
    )
}

/// No blocks, and a page at most: then comparing costs less than finding out.
fn may_be_made_up(meta: Meta) -> bool {
    meta.allocated_bytes == 0 && meta.size_bytes <= 4096
}
