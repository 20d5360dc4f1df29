//! `pump` beside rsync: trees, older targets and flags by chance. No tree that rsync makes right is made wrong.
//!
//! `DATAPUMP_TREES=1000` makes that many; `DATAPUMP_SEED=7041` repeats one, and `DATAPUMP_KEEP=FOLDER` keeps what it
//! made, and under `before` what stood at the target.

use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::listing::{Entry, differences, leftovers_below, listing, paths, stamps};
use crate::support::{Home, Outcome, is_root, noise, outcome, set_mode};
use crate::wider_parts::beside::{Known, Tree, compared};
use crate::wider_parts::dress::{For, Kind, dress};
use crate::wider_parts::older::make_older;
use crate::wider_parts::pair::{Asked, Form, Hosts, Way, with_behind};
use crate::wider_parts::random::{Random, seeds_of};
use crate::wider_parts::sshd::Sshd;
use crate::wider_parts::tree::make_small_tree;
use crate::wider_parts::truth::number;
use crate::wider_parts::{blocks, program, pump_command};

/// In CI; `cargo xtask wider --full` makes a thousand.
const TREES: u64 = 50;
const ENTRIES_MAX: u64 = 60;
const NOBODY: u32 = 65_534;

/// A source and two equal targets: `rsync/` and `pump/`, each of them with the copy, and with what is linked to.
struct Ground {
    source: PathBuf,
    arenas: [PathBuf; 2],
    audience: For,
}

impl Ground {
    fn new(folder: &Path, audience: For, random: &mut Random) -> Ground {
        let source = folder.join("source");
        let entries = 5 + random.below(ENTRIES_MAX) as usize;
        make_small_tree(&source, random.below(u64::MAX), audience, entries);
        Ground { source, arenas: ["rsync", "pump"].map(|name| folder.join(name)), audience }
    }

    fn make_targets(&self, asked: &Asked, random: &mut Random) {
        let [arena, other] = &self.arenas;
        std::fs::create_dir_all(arena.join("copy")).expect("room");
        std::fs::create_dir_all(arena.join("old")).expect("room");
        if asked.is_new {
            std::fs::remove_dir(arena.join("copy")).expect("it is empty");
        } else {
            self.make_older(&below(&arena.join("copy"), asked.form), random);
        }
        if asked.links_to_older {
            self.make_older(&below(&arena.join("old"), asked.form), random);
        }
        if let For::User(user) = self.audience {
            program(&["chown", "-hR", &format!("{user}:{user}"), &shown(arena)]);
        }
        program(&["cp", "-a", &shown(arena), &shown(other)]);
        if kept_folder().is_some() {
            program(&["cp", "-a", &shown(arena), &shown(&arena.with_file_name("before"))]);
        }
    }

    fn make_older(&self, path: &Path, random: &mut Random) {
        program(&["cp", "-aT", &shown(&self.source), &shown(path)]);
        let changes = random.below(20);
        make_older(path, self.audience, changes, random);
    }
}

/// Something mounted in the source, until dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(point: &Path, random: &mut Random) -> Mounted {
        program(&["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", &shown(point)]);
        let mounted = Mounted(point.into());
        make_folder_with_file(&point.join("below"), random);
        dress(point, Kind::Folder, For::Root, random);
        mounted
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("{:?} stays mounted", self.0);
        }
    }
}

fn make_folder_with_file(folder: &Path, random: &mut Random) {
    std::fs::create_dir(folder).expect("room");
    std::fs::write(folder.join("name-1"), noise(1000, random.below(u64::MAX))).expect("room");
    dress(&folder.join("name-1"), Kind::File, For::Root, random);
    dress(folder, Kind::Folder, For::Root, random);
}

/// Where the copy of the source's root is.
fn below(copy: &Path, form: Form) -> PathBuf {
    if form == Form::Into { copy.join("source") } else { copy.into() }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Runs both; says what is wrong with what `pump` made.
struct Round<'a> {
    ground: &'a Ground,
    asked: &'a Asked,
    names: Vec<OsString>,
    means: &'a Means,
}

/// How the programs are run.
struct Means {
    ssh: Option<String>,
    /// What an ordinary user may run: `pump`.
    program: Option<PathBuf>,
}

impl Means {
    fn audience(&self) -> For {
        if self.program.is_some() { For::User(NOBODY) } else { For::Root }
    }

    fn pump(&self) -> Command {
        let mut command = pump_command(&[]);
        if let Some(program) = &self.program {
            command = Command::new(program);
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// rsync waits for itself now and then where a user may not write.
    fn rsync(&self) -> Command {
        let mut command = Command::new("timeout");
        command.args(["20", "rsync"]);
        if self.program.is_some() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Round<'_> {
    fn sources(&self, behind: &str) -> Vec<OsString> {
        let source = &self.ground.source;
        match self.asked.form {
            Form::Contents => vec![with_behind(source, behind)],
            Form::Into | Form::Mirror => vec![source.into()],
            Form::Names => self.names.iter().map(|name| source.join(name).into()).collect(),
        }
    }

    fn list_words(&self) -> Vec<OsString> {
        let path = self.ground.source.with_file_name("list");
        let Some(list) = &self.asked.list else { return Vec::new() };
        std::fs::write(&path, list).expect("room");
        vec!["--from0".into(), with_behind(Path::new("--files-from="), &shown(&path))]
    }

    fn rsync(&self) -> Command {
        let arena = &self.ground.arenas[0];
        let mut command = self.means.rsync();
        command.args(self.asked.for_rsync()).args(self.list_words());
        if self.asked.links_to_older {
            command.arg(with_behind(Path::new("--link-dest="), &shown(&arena.join("old"))));
        }
        match self.asked.form {
            Form::Mirror => command.arg(with_behind(&self.ground.source, "/")),
            _ => command.args(self.sources("/")),
        };
        command.arg(with_behind(&arena.join("copy"), "/"));
        command
    }

    fn pump(&self, more: &[&str]) -> Command {
        let arena = &self.ground.arenas[1];
        let mut command = self.means.pump();
        command.args(self.asked.for_pump()).args(self.list_words()).args(more).arg("-qi");
        if let Some(ssh) = &self.means.ssh {
            command.args(["--ssh", ssh, "--remote-bin", crate::support::PUMP]);
        }
        if self.asked.links_to_older {
            command.arg("--link-dest").arg(arena.join("old"));
        }
        let on_host = |is_there: bool, path: OsString| {
            let mut word = OsString::from(if is_there { "loop:" } else { "" });
            word.push(path);
            word
        };
        let Asked { hosts, .. } = self.asked;
        let sources = self.sources("/.").into_iter().map(|path| on_host(*hosts == Hosts::Pull, path));
        command.args(sources).arg(on_host(*hosts == Hosts::Push, arena.join("copy").into()));
        command
    }
}

/// How a round ended.
enum Ended {
    Same,
    /// rsync could not do it either.
    NotJudged,
    Wrong(String),
}

fn round(seed: u64, folder: &Path, hosts: Hosts, means: &Means) -> Ended {
    let mut random = Random(seed);
    let ground = Ground::new(folder, means.audience(), &mut random);
    let names = paths(&ground.source);
    let asked = Asked::new(&mut random, &names[1..], (hosts, ground.audience == For::Root));
    let mount_point = ground.source.join("mounted");
    if asked.has_mount {
        make_folder_with_file(&mount_point, &mut random);
    }
    ground.make_targets(&asked, &mut random);
    let _mounted = asked.has_mount.then(|| Mounted::new(&mount_point, &mut random));
    let (source, before) = (listing(&ground.source), listing(&ground.arenas[1]));
    let names = some_names(&source, &before, &mut random);
    let round = Round { ground: &ground, asked: &asked, names, means };
    let (wrong, rsync, told) = round.run(&source, &before);
    match (wrong.is_empty(), rsync) {
        (true, 0) => Ended::Same,
        (true, _) => Ended::NotJudged,
        _ => Ended::Wrong(format!("{asked:?}\n  {told}\n  {}", first_of(&wrong))),
    }
}

impl Round<'_> {
    /// The differences, the status of rsync, and what was run.
    fn run(&self, source: &Tree, before: &Tree) -> (Vec<String>, i32, String) {
        let arena = &self.ground.arenas[1];
        let stood = stamps(arena);
        let planned = self.asked.is_planned.then(|| outcome(self.pump(&["-n"]), b""));
        let is_untouched = stamps(arena) == stood;
        let (rsync, pump) = (self.rsync(), self.pump(&[]));
        let commands = format!("{rsync:?}\n  {pump:?}");
        let (rsync, pump) = (outcome(rsync, b""), outcome(pump, b""));
        let mut wrong = Vec::from_iter(self.wrong_status(&rsync, &pump));
        wrong.extend((!is_untouched).then(|| "-n changed something".to_owned()));
        let known = Known::new(self.asked, source, before);
        // Between hosts contents are compared while more names are met: another name of a file may be the first.
        let is_orderly = self.asked.hosts == Hosts::One || !self.asked.compares_content();
        let planned = planned.filter(|_| pump.status == 0 && !known.has_tangle() && is_orderly);
        wrong.extend(planned.and_then(|planned| self.other_lines("-n -i", &planned, &pump)));
        // A file that is refused in the place of a folder keeps all from being removed.
        if rsync.status == 0 && pump.status == 0 {
            let [one, other] = self.ground.arenas.each_ref().map(|arena| listing(arena));
            let (one, other) = known.comparable(one, other);
            wrong.extend(compared(&one, &other));
            wrong.extend(self.holes_that_are_filled(source));
        }
        wrong.extend(leftovers_below(arena).into_iter().map(|path| format!("left behind: {path}")));
        let now = listing(&self.ground.source);
        wrong.extend(differences(source, &now).into_iter().map(|it| format!("source: {it}")));
        if pump.status == 0 && self.asked.is_done_once() {
            let nothing = Outcome { out: String::new(), ..outcome(Command::new("true"), b"") };
            wrong.extend(self.other_lines("a second run", &nothing, &outcome(self.pump(&[]), b"")));
        }
        (wrong, rsync.status, format!("{commands}\n  {rsync:?}\n  {pump:?}"))
    }

    fn wrong_status(&self, rsync: &Outcome, pump: &Outcome) -> Option<String> {
        let is_right = match (rsync.status, pump.status) {
            (0, 0) => true,
            // The folder that stands in a file's place is excluded as a folder: what it holds stays.
            (0, 23) if self.asked.excludes_folders() => pump.err.contains("not all could be removed"),
            (0, _) | (_, 128..) => false,
            // What stands in the place of a folder is left alone, and so is what the folder holds. A folder that its
            // mode closes to its own user is opened.
            (_, 0) if self.asked.way == Way::IgnoreExisting || !self.asked.by_root => true,
            // rsync looks for the default list of a folder that a further name of a file has taken the place of.
            (_, 0) => rsync.err.contains("ACL_TYPE_DEFAULT"),
            _ => true,
        };
        (!is_right).then(|| format!("status {}, rsync's is {}", pump.status, rsync.status))
    }

    /// What was allocated before may be so still: here, and in an older file that is linked.
    fn holes_that_are_filled(&self, source: &Tree) -> Vec<String> {
        const SLACK: u64 = 128;
        let arena = &self.ground.arenas[1];
        let [copy, old] = ["copy", "old"].map(|name| below(&arena.join(name), self.asked.form));
        let inode = |path: &Path| path.symlink_metadata().ok().filter(|it| it.is_file()).map(|it| it.ino());
        let is_filled = |path: &&PathBuf| {
            let (from, to) = (self.ground.source.join(path), copy.join(path));
            let is_copy = inode(&to).is_some_and(|its| inode(&old.join(path)) != Some(its));
            is_copy && blocks(to) > blocks(from) + SLACK
        };
        let files = source.iter().filter(|(_, entry)| entry.kind == "file").map(|(path, _)| path);
        let files = files.filter(|_| self.asked.keeps_holes() && self.asked.is_new);
        files.filter(is_filled).map(|path| format!("{path:?}: holes are filled")).collect()
    }

    /// Lines that only one of two runs prints. What differs of a name that becomes a link is what differs when it is
    /// met; between hosts, whose answers come in their own time, another name of a file may be met first.
    fn other_lines(&self, what: &str, one: &Outcome, other: &Outcome) -> Option<String> {
        let lines = |run: &Outcome| {
            let shorter = |line: &str| match (line.starts_with('h'), line.get(11..)) {
                (true, Some(path)) => format!("h{path}"),
                _ => line.to_owned(),
            };
            let mut lines: Vec<String> = run.out.lines().map(shorter).collect();
            lines.sort();
            lines
        };
        let (one, other) = (lines(one), lines(other));
        let only = |here: &[String], there: &[String]| {
            here.iter().filter(|line| !there.contains(line)).take(3).cloned().collect::<Vec<_>>()
        };
        (one != other).then(|| format!("{what}: {:?} | {:?}", only(&one, &other), only(&other, &one)))
    }
}

/// The names for a command: files and folders, for pump follows links and reads pipes that are named, as cp does, and
/// writes to what a link leads to that stands where a named file goes.
fn some_names(source: &Tree, before: &Tree, random: &mut Random) -> Vec<OsString> {
    let is_meant = |(path, entry): &(&PathBuf, &Entry)| {
        let there = before.get(&Path::new("copy").join(path));
        path.components().count() == 1
            && matches!(entry.kind, "file" | "folder")
            && there.is_none_or(|there| there.kind == entry.kind)
    };
    let all: Vec<&PathBuf> = source.iter().filter(is_meant).map(|(path, _)| path).collect();
    let last = all.len().saturating_sub(1);
    let is_chosen = |at: usize, random: &mut Random| at == last || random.in_thousand(400);
    let chosen = all.into_iter().enumerate().filter(|(at, _)| is_chosen(*at, random));
    chosen.map(|(_, path)| path.into()).collect()
}

fn first_of(wrong: &[String]) -> String {
    const LINES: usize = 8;
    let short = |line: &String| line.chars().take(1500).collect::<String>();
    let lines: Vec<String> = wrong.iter().take(LINES).map(short).collect();
    format!("{} differences (rsync's first):\n  {}", wrong.len(), lines.join("\n  "))
}

fn kept_folder() -> Option<PathBuf> {
    std::env::var_os("DATAPUMP_KEEP").map(PathBuf::from)
}

/// The user that copies, and between which ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Root,
    RootOverSsh,
    OrdinaryUser,
}

impl Who {
    fn means(self, home: &Home) -> Means {
        let program = home.path("program");
        if self == Who::OrdinaryUser {
            set_mode(&home.path(""), 0o755);
            crate::support::programs::copy_program(&program);
        }
        let ssh = (self == Who::RootOverSsh).then(|| Sshd::ssh(home, ""));
        Means { ssh, program: (self == Who::OrdinaryUser).then_some(program) }
    }
}

/// In CI the same ones each time; in a longer run others.
fn seeds(test: &str) -> Range<u64> {
    match (number("DATAPUMP_SEED"), number("DATAPUMP_TREES").unwrap_or(TREES)) {
        (None, trees) if trees <= TREES => 0..trees,
        _ => seeds_of("DATAPUMP_TREES", test, TREES),
    }
}

/// Runs rounds in folders of their own: one of `share` seeds.
fn rounds(test: &str, share: usize, who: Who) {
    if !is_root() {
        return eprintln!("not tested: {test}: owners and devices need root");
    }
    let home = Home::new();
    let kept = kept_folder();
    let _sshd = (who == Who::RootOverSsh).then(|| Sshd::new(&home, None));
    let means = who.means(&home);
    let (mut wrong, mut not_judged, mut same) = (0, 0, 0);
    for seed in seeds(test).step_by(share) {
        let folder = kept.clone().unwrap_or_else(|| home.path("")).join(format!("round-{seed}"));
        std::fs::create_dir_all(&folder).expect("room");
        let remote = *Random(!seed).pick(&[Hosts::Push, Hosts::Pull]);
        let hosts = if who == Who::RootOverSsh { remote } else { Hosts::One };
        match round(seed, &folder, hosts, &means) {
            Ended::Same => same += 1,
            Ended::NotJudged => not_judged += 1,
            Ended::Wrong(how) => {
                wrong += 1;
                let repeat = "cargo test -p pump --test wider";
                eprintln!("DATAPUMP_SEED={seed} {repeat} -- --exact differential::{test}\n  {how}\n");
            }
        }
        if kept.is_none() {
            std::fs::remove_dir_all(&folder).expect("it is ours");
        }
    }
    eprintln!("{test}: {same} the same, {not_judged} not judged, {wrong} wrong");
    assert_eq!(wrong, 0, "see above");
    assert!(not_judged <= 5 + same / 5, "{not_judged} rounds that rsync could not do, {same} that it could");
}

#[test]
fn what_rsync_makes_right_is_not_made_wrong() {
    rounds("what_rsync_makes_right_is_not_made_wrong", 1, Who::Root);
}

#[test]
fn what_rsync_makes_right_is_not_made_wrong_over_ssh() {
    rounds("what_rsync_makes_right_is_not_made_wrong_over_ssh", 5, Who::RootOverSsh);
}

#[test]
fn what_rsync_makes_right_for_a_user_is_not_made_wrong() {
    rounds("what_rsync_makes_right_for_a_user_is_not_made_wrong", 3, Who::OrdinaryUser);
}
