//! A dry run tells what a run then does, and a run does what a simple model of trees says: 300 generated pairs of
//! trees with random options, 1,000 in the full suite.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use datapump::simulation::Random;
use datapump::{
    ChangeKind, ComparisonOptions, DeletionOptions, DurabilityOptions, Event, Job, Options, Place,
    PlaceOptions, ReportingOptions, Selection, SelectionOptions, Snapshot, Sync, TuningOptions, Update,
    Watch,
};

const NAMES: [&str; 5] = ["a", "b", "c", "left out", "e"];

/// What stands under a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    /// Content, and time of change in seconds since 1970.
    File(Vec<u8>, u64),
    Link(PathBuf),
}

type Tree = BTreeMap<PathBuf, Node>;

/// The options, as far as the model knows them.
#[derive(Clone, Copy, Debug)]
struct Asked {
    update: bool,
    ignore_existing: bool,
    delete: bool,
    excludes: bool,
    lanes: u32,
}

fn random_tree(random: &mut Random, below: &Path, depth: u64, tree: &mut Tree) {
    for name in NAMES {
        let path = below.join(name);
        let node = match random.below(10) {
            0..=3 => continue,
            4 | 5 if depth < 3 => Node::Folder,
            6 => Node::Link(PathBuf::from(NAMES[random.below(5) as usize])),
            _ => Node::File(vec![b'x'; random.below(3) as usize * 700], 1000 + random.below(3)),
        };
        let is_folder = node == Node::Folder;
        tree.insert(path.clone(), node);
        if is_folder {
            random_tree(random, &path, depth + 1, tree);
        }
    }
}

fn make(tree: &Tree, at: &Path) {
    fs::create_dir(at).expect("a new folder");
    for (path, node) in tree {
        let path = at.join(path);
        match node {
            Node::Folder => fs::create_dir(&path).expect("parents come first"),
            Node::Link(to) => symlink(to, &path).expect("a link"),
            Node::File(content, seconds) => {
                fs::write(&path, content).expect("room");
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(*seconds);
                let file = File::options().write(true).open(&path).expect("the file");
                file.set_times(FileTimes::new().set_modified(time)).expect("a time");
            }
        }
    }
}

fn read(at: &Path, below: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(at.join(below)).expect("a folder") {
        let path = below.join(entry.expect("an entry").file_name());
        let full = at.join(&path);
        let meta = full.symlink_metadata().expect("it stands there");
        let node = match meta.file_type() {
            kind if kind.is_dir() => Node::Folder,
            kind if kind.is_symlink() => Node::Link(fs::read_link(&full).expect("a link")),
            _ => Node::File(fs::read(&full).expect("a file"), meta.mtime() as u64),
        };
        let is_folder = node == Node::Folder;
        tree.insert(path.clone(), node);
        if is_folder {
            read(at, &path, tree);
        }
    }
}

fn is_excluded(asked: &Asked, path: &Path) -> bool {
    asked.excludes && path.iter().any(|name| name == NAMES[3])
}

/// What a copy makes of the target, and whether something was in the way.
fn model(source: &Tree, target: &Tree, asked: &Asked) -> (Tree, bool) {
    let (mut after, mut kept, mut waiting) = (target.clone(), Vec::<PathBuf>::new(), Vec::new());
    for (path, node) in source {
        if is_excluded(asked, path) || kept.iter().any(|above| path.starts_with(above)) {
            continue;
        }
        let holds_some = || target.keys().any(|other| other.starts_with(path) && other != path);
        match (node, target.get(path)) {
            (Node::Folder, Some(Node::File(..) | Node::Link(_))) if asked.ignore_existing => {
                kept.push(path.clone());
            }
            (Node::File(..) | Node::Link(_), Some(Node::Folder)) if asked.ignore_existing => {
                kept.push(path.clone());
            }
            (Node::File(..) | Node::Link(_), Some(Node::Folder)) if holds_some() => {
                waiting.push(path.clone());
            }
            (Node::Folder, _) | (_, None) => drop(after.insert(path.clone(), node.clone())),
            (_, Some(_)) if asked.ignore_existing => {}
            (Node::File(content, time), Some(Node::File(other, there))) if asked.update => {
                let right = there > time || (there == time && content.len() == other.len());
                if !right {
                    after.insert(path.clone(), node.clone());
                }
            }
            (_, Some(_)) => drop(after.insert(path.clone(), node.clone())),
        }
    }
    // Where a folder in the way holds what is excluded nothing is removed.
    let has_excluded =
        |path: &PathBuf| target.keys().any(|other| other.starts_with(path) && is_excluded(asked, other));
    if asked.delete && !waiting.iter().any(has_excluded) {
        let rest: Vec<PathBuf> = target
            .keys()
            .filter(|path| !source.contains_key(*path) && !is_excluded(asked, path))
            .filter(|path| !kept.iter().any(|above| path.starts_with(above)))
            .cloned()
            .collect();
        for path in rest.iter().rev() {
            let holds_some = after.keys().any(|other| other.starts_with(path) && other != path);
            if !holds_some {
                after.remove(path);
            }
        }
    }
    waiting.retain(|path| {
        let is_in_the_way = after.keys().any(|other| other.starts_with(path) && other != path);
        if !is_in_the_way {
            after.insert(path.clone(), source[path].clone());
        }
        is_in_the_way
    });
    (after, !waiting.is_empty())
}

/// Names that a walk meets: all but those that are left out, and those below a folder that has no place.
fn names_compared(source: &Tree, target: &Tree, asked: &Asked) -> u64 {
    let has_no_place = |above: &Path| {
        let is_folder = source.get(above) == Some(&Node::Folder);
        let there = target.get(above).filter(|node| **node != Node::Folder);
        asked.ignore_existing && is_folder && there.is_some()
    };
    let is_met = |path: &&PathBuf| !is_excluded(asked, path) && !path.ancestors().skip(1).any(has_no_place);
    source.keys().filter(is_met).count() as u64
}

fn options(asked: &Asked, dry_run: bool) -> Options {
    let exclude = Selection::Exclude(NAMES[3].as_bytes().to_vec());
    Options {
        comparison: ComparisonOptions {
            update: if asked.update { Update::Older } else { Update::All },
            ignore_existing: asked.ignore_existing,
            ..ComparisonOptions::default()
        },
        deletion: DeletionOptions { delete: asked.delete, ..DeletionOptions::default() },
        selection: SelectionOptions {
            rules: if asked.excludes { vec![exclude] } else { Vec::new() },
            ..SelectionOptions::default()
        },
        tuning: TuningOptions { lanes: Some(asked.lanes), ..TuningOptions::default() },
        durability: DurabilityOptions { sync: Sync::None, ..DurabilityOptions::default() },
        place: PlaceOptions { target_is_name: true, ..PlaceOptions::default() },
        reporting: ReportingOptions { changes: true, ..ReportingOptions::default() },
        dry_run,
        ..Options::default()
    }
}

/// The exit status, and the changes that were told, sorted.
type Told = (i32, Vec<(OsString, String)>);

/// With what progress came to.
fn run(from: &Path, to: &Path, options: Options) -> (Told, Snapshot) {
    let (told, watch) = (Mutex::new(Vec::new()), Arc::new(Watch::default()));
    watch.show_progress();
    let job = Job::copy(vec![Place::Path(from.into())], Place::Path(to.into())).options(options);
    let job = job.watch(Arc::clone(&watch));
    let report = job.run_reported(&|event| {
        if let Event::Change(change) = event {
            // A link of several names may be told by any of them.
            assert!(change.kind != ChangeKind::Link, "{change:?}");
            told.lock().expect("no panic here").push((change.relative.into_os_string(), change.itemized));
        }
    });
    let mut told = told.into_inner().expect("no panic here");
    told.sort();
    let progress = watch.snapshot();
    assert_eq!(progress.deleted, report.deleted, "{told:?}");
    ((report.exit_status, told), progress)
}

#[test]
fn a_dry_run_tells_what_a_run_does_and_a_run_does_what_the_model_says() {
    let home = tempfile::tempdir().expect("a folder");
    let cases = std::env::var("DATAPUMP_TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    for seed in 0..cases {
        one_case(home.path(), seed);
    }
}

fn one_case(home: &Path, seed: u64) {
    let mut random = Random::new(seed);
    let (mut source, mut target) = (Tree::new(), Tree::new());
    random_tree(&mut random, Path::new(""), 0, &mut source);
    random_tree(&mut random, Path::new(""), 0, &mut target);
    let mut one_of_two = || random.below(2) == 0;
    let asked = Asked {
        update: one_of_two(),
        ignore_existing: one_of_two() && one_of_two(),
        delete: one_of_two(),
        excludes: one_of_two(),
        lanes: if one_of_two() { 1 } else { 3 },
    };
    let (from, to) = (home.join(format!("from{seed}")), home.join(format!("to{seed}")));
    make(&source, &from);
    make(&target, &to);
    let row = format!("seed {seed}, {asked:?}");

    let (dry, dry_progress) = run(&from, &to, options(&asked, true));
    let mut untouched = Tree::new();
    read(&to, Path::new(""), &mut untouched);
    assert_eq!(untouched, target, "{row}: a dry run changes nothing");

    let (done, progress) = run(&from, &to, options(&asked, false));
    assert_eq!(dry, done, "{row}: what was told and what was done");
    for (names, what) in [(dry_progress.names, "dry"), (progress.names, "done")] {
        assert_eq!(names, names_compared(&source, &target, &asked), "{row}: {what}");
    }
    assert!(done.0 != 0 || progress.deleted == progress.to_delete, "{row}: {progress:?}");
    assert_eq!(dry_progress.to_delete, progress.to_delete, "{row}");
    let (expected, was_refused) = model(&source, &target, &asked);
    let mut found = Tree::new();
    read(&to, Path::new(""), &mut found);
    found.remove(Path::new(".pump-job"));
    assert_eq!(found, expected, "{row}");
    assert_eq!(done.0, if was_refused { 23 } else { 0 }, "{row}");
    fs::remove_dir_all(from).expect("it is ours");
    fs::remove_dir_all(to).expect("it is ours");
}
