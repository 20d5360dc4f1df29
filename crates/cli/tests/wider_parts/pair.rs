//! One copy asked of rsync and of `pump`: flags by chance, in the words of both for the same meaning.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::random::Random;

/// What becomes of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// What it holds goes to DST: `rsync SRC/ DST`, `pump copy SRC/. DST`.
    Contents,
    /// It goes into DST under its own name.
    Into,
    /// Some of its names go into DST.
    Names,
    /// `rsync --delete SRC/ DST`, `pump mirror SRC DST`.
    Mirror,
}

/// Which files of the target are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// None: that is `pump copy` without a flag.
    All,
    /// Files that are equal in size and time: that is rsync without a flag.
    Differs,
    Older,
    Checksum,
    OlderChecksum,
    IgnoreExisting,
    SizeOnly,
    Window,
}

const WAYS: [Way; 11] = [
    Way::All,
    Way::All,
    Way::Differs,
    Way::Differs,
    Way::Differs,
    Way::Older,
    Way::Checksum,
    Way::OlderChecksum,
    Way::IgnoreExisting,
    Way::SizeOnly,
    Way::Window,
];

/// Where `pump` finds the two ends; rsync has both here, which gives the same tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    One,
    Push,
    Pull,
}

/// The attributes that are kept; `false` for those left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub mode: bool,
    /// Never without the mode.
    pub acl: bool,
    pub owner: bool,
    pub times: bool,
    pub xattrs: bool,
    pub links: bool,
}

const ALL_KEPT: Kept = Kept { mode: true, acl: true, owner: true, times: true, xattrs: true, links: true };

/// Flags of `pump` that must not change what the target holds.
const SPEED: [&[&str]; 12] = [
    &[],
    &[],
    &["--lanes=1"],
    &["--lanes=5"],
    &["--sync=none"],
    &["--sync=each"],
    &["--verify"],
    &["--engine=threads", "--direct=always"],
    &["--engine=inline", "--request-size=4KiB"],
    &["--reflink=never", "--engine=uring"],
    &["--sparse=never"],
    &["--no-reserve"],
];

/// Patterns that match some of the generator's names, and some folders.
const PATTERNS: [&str; 12] = [
    "name-1*",
    "*3",
    "extra-*",
    "sparse-*",
    "name-*/",
    "*[4-7]",
    "-*",
    "*",
    "/name-2*",
    "name-*/name-*",
    "/*/**",
    "**/name-?1",
];

/// The whole question.
#[derive(Clone, Debug)]
pub struct Asked {
    pub form: Form,
    pub way: Way,
    pub hosts: Hosts,
    pub by_root: bool,
    pub kept: Kept,
    pub deletes: bool,
    pub links_to_older: bool,
    /// The target is missing, or an older copy.
    pub is_new: bool,
    /// A dry run comes first, and must tell the lines of the run.
    pub is_planned: bool,
    /// Another file system is mounted in the source.
    pub has_mount: bool,
    one_file_system: bool,
    numeric_ids: bool,
    /// Names that end with a zero byte, for --files-from.
    pub list: Option<Vec<u8>>,
    /// A pattern, and whether it excludes.
    patterns: Vec<(bool, OsString)>,
    rsync_sparse: bool,
    speed: &'static [&'static str],
}

impl Asked {
    /// Chosen by chance; `names` are all of the source, relative to it.
    pub fn new(random: &mut Random, names: &[PathBuf], (hosts, by_root): (Hosts, bool)) -> Asked {
        let form = *random.pick(&[Form::Contents, Form::Contents, Form::Into, Form::Names, Form::Mirror]);
        let way = if form == Form::Mirror { Way::Differs } else { *random.pick(&WAYS) };
        let deletes = form == Form::Mirror || (form != Form::Names && random.in_thousand(400));
        let is_new = matches!(form, Form::Contents | Form::Mirror) && random.in_thousand(350);
        // Over what stands there rsync's --link-dest links some files and changes others where they are linked. It
        // links nothing under --ignore-times, and files of other times under --size-only. DIR and DST lie on this host.
        let may_link = is_new && hosts != Hosts::Push && !matches!(way, Way::All | Way::SizeOnly);
        let patterns = if random.in_thousand(350) { 1 + random.below(3) } else { 0 };
        let patterns = (0..patterns).map(|_| pattern(random, names)).collect();
        let is_planned = random.in_thousand(250);
        let list =
            (form == Form::Contents && !deletes && random.in_thousand(300)).then(|| list(random, names));
        Asked {
            form,
            way,
            hosts,
            by_root,
            kept: kept(random),
            deletes,
            links_to_older: may_link && random.in_thousand(500),
            is_new,
            is_planned,
            has_mount: by_root && random.in_thousand(60),
            one_file_system: random.in_thousand(300),
            numeric_ids: random.in_thousand(300),
            list,
            patterns,
            rsync_sparse: random.in_thousand(300),
            // Of the names of a file with other attributes the one is told that was met first.
            speed: if is_planned { &["--lanes=1"] } else { SPEED[random.below(SPEED.len() as u64) as usize] },
        }
    }

    /// Flags for rsync. Nanoseconds count, as they do for `pump`: --modify-window=-1.
    pub fn for_rsync(&self) -> Vec<OsString> {
        let kept = self.kept;
        let letters = [
            // What a listed folder holds is not copied, unless it is listed, too.
            (self.list.is_none(), 'r'),
            (kept.mode, 'p'),
            (kept.acl, 'A'),
            // A user gives no files away. rsync tries that with the further names of a file, and fails.
            (kept.owner && self.by_root, 'o'),
            (kept.owner && self.by_root, 'g'),
            (kept.times, 't'),
            (kept.xattrs, 'X'),
            (kept.links, 'H'),
            (self.rsync_sparse, 'S'),
        ];
        let letters = letters.iter().filter(|(is_kept, _)| *is_kept).map(|(_, letter)| letter);
        let mut words = vec![format!("-lD{}", letters.collect::<String>())];
        words.extend(self.numeric_ids.then(|| "--numeric-ids".to_owned()));
        let window = if self.way == Way::Window { 2 } else { -1 };
        words.push(format!("--modify-window={window}"));
        let way: &[&str] = match self.way {
            Way::All => &["--ignore-times"],
            Way::Differs | Way::Window => &[],
            Way::Older => &["--update"],
            Way::Checksum => &["--checksum"],
            Way::OlderChecksum => &["--update", "--checksum"],
            Way::IgnoreExisting => &["--ignore-existing"],
            Way::SizeOnly => &["--size-only"],
        };
        words.extend(way.iter().map(|word| (*word).to_owned()));
        words.extend(self.deletes.then(|| "--delete".to_owned()));
        words.extend(self.one_file_system.then(|| "--one-file-system".to_owned()));
        words.into_iter().map(OsString::from).chain(self.pattern_words()).collect()
    }

    /// The command and flags for `pump`.
    pub fn for_pump(&self) -> Vec<OsString> {
        let is_mirror = self.form == Form::Mirror;
        let mut words = vec![if is_mirror { "mirror" } else { "copy" }];
        words.extend(match self.way {
            _ if is_mirror => &[][..],
            Way::All => &[],
            Way::Differs => &["--update=differs"],
            Way::Older => &["--update"],
            Way::Checksum => &["--checksum"],
            Way::OlderChecksum => &["--update", "--checksum"],
            Way::IgnoreExisting => &["--ignore-existing"],
            Way::SizeOnly => &["--update=differs", "--size-only"],
            Way::Window => &["--update=differs", "--modify-window=2s"],
        });
        words.extend((self.deletes && !is_mirror).then_some("--delete"));
        words.extend(self.one_file_system.then_some("--one-file-system"));
        words.extend(self.numeric_ids.then_some("--numeric-ids"));
        words.extend(self.not_kept());
        words.extend(self.speed);
        words.into_iter().map(OsString::from).chain(self.pattern_words()).collect()
    }

    /// Some names are not copied.
    pub fn leaves_out(&self) -> bool {
        self.form == Form::Names || self.list.is_some() || !self.patterns.is_empty()
    }

    /// A pattern is for folders alone.
    pub fn excludes_folders(&self) -> bool {
        self.patterns
            .iter()
            .any(|(excludes, pattern)| *excludes && pattern.as_encoded_bytes().ends_with(b"/"))
    }

    pub fn compares_content(&self) -> bool {
        matches!(self.way, Way::Checksum | Way::OlderChecksum)
    }

    /// Holes of the source stay holes.
    pub fn keeps_holes(&self) -> bool {
        !self.speed.contains(&"--sparse=never")
    }

    /// A second run finds nothing to do.
    pub fn is_done_once(&self) -> bool {
        self.way == Way::Differs && self.kept == ALL_KEPT && !self.links_to_older
    }

    fn not_kept(&self) -> Vec<&'static str> {
        let kept = self.kept;
        let words = [
            (kept.mode, "--no-preserve=mode"),
            (kept.acl || !kept.mode, "--no-preserve=acl"),
            (kept.owner, "--no-preserve=ownership"),
            (kept.times, "--no-preserve=timestamps"),
            (kept.xattrs, "--no-preserve=xattr"),
            (kept.links, "--no-preserve=links"),
        ];
        words.into_iter().filter(|(is_kept, _)| !is_kept).map(|(_, word)| word).collect()
    }

    fn pattern_words(&self) -> Vec<OsString> {
        let word = |(excludes, pattern): &(bool, OsString)| {
            let mut word = OsString::from(if *excludes { "--exclude=" } else { "--include=" });
            word.push(pattern);
            word
        };
        self.patterns.iter().map(word).collect()
    }
}

fn kept(random: &mut Random) -> Kept {
    let mut kept = ALL_KEPT;
    if random.in_thousand(750) {
        return kept;
    }
    match random.below(6) {
        0 => (kept.mode, kept.acl) = (false, false),
        1 => kept.acl = false,
        2 => kept.owner = false,
        3 => kept.times = false,
        4 => kept.xattrs = false,
        _ => kept.links = false,
    }
    kept
}

/// Some names, full folders with a slash behind or without. rsync takes what begins with # or ; for a comment.
fn list(random: &mut Random, names: &[PathBuf]) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        let is_full = names.iter().any(|other| other.parent() == Some(name));
        let name = name.as_os_str().as_bytes();
        if random.in_thousand(250) && !b"#;".contains(&name[0]) {
            list.extend_from_slice(name);
            let has_slash = is_full && random.in_thousand(300);
            list.extend_from_slice(if has_slash { b"/\0" } else { b"\0" });
        }
    }
    list
}

/// A pattern, and whether it excludes.
fn pattern(random: &mut Random, names: &[PathBuf]) -> (bool, OsString) {
    let pattern = match random.pick(names).file_name().filter(|_| random.in_thousand(400)) {
        Some(name) => without_wildcards(name.as_bytes()),
        None => OsString::from(*random.pick(&PATTERNS)),
    };
    (!random.in_thousand(300), pattern)
}

/// A name as a pattern that means it, or at least something.
fn without_wildcards(name: &[u8]) -> OsString {
    let plain = |byte: &u8| if b"*?[\\".contains(byte) { b'?' } else { *byte };
    OsString::from_vec(name.iter().map(plain).collect())
}

/// A path with a slash, or with more, behind.
pub fn with_behind(path: &Path, behind: &str) -> OsString {
    let mut word = path.as_os_str().to_owned();
    word.push(behind);
    word
}
