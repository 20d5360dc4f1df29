//! Flags of `pump copy` that concern folders: what is selected, what is left alone, what is removed.
//!
//! Must not know: how trees are walked.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, ValueEnum};
use datapump::units::parse_duration;
use datapump::{Keep, Options, Selection, Update};

use crate::args::TREES;
use crate::args::copy::choose::{self, ChooseArguments};

/// What of a tree is copied.
#[derive(Debug, Args)]
pub struct TreeArguments {
    /// Leave out names that match, as rsync does
    ///
    /// The first of all --exclude, --include and --exclude-from that matches decides, in the order in which they are
    /// typed. `*` stops at a slash, `**` does not; a slash at the front means the folder being copied, one at the end
    /// only folders. A name that is given as SRC is left out, too, unless its content goes to DST itself. Three
    /// surprises: order matters; an excluded folder hides everything below it, even what an --include names; an
    /// --include alone leaves nothing out. May be given several times. Default: nothing.
    ///
    /// Example: pump copy --exclude '*.o' --exclude /target/ project/ /backup/project
    #[arg(long, value_name = "PATTERN", env = "PUMP_EXCLUDE", help_heading = TREES)]
    #[arg(action = ArgAction::Append, allow_hyphen_values = true)]
    pub exclude: Vec<OsString>,

    /// Keep names that match, whatever a later --exclude says
    ///
    /// May be given several times; see --exclude. Default: nothing.
    ///
    /// Example: pump copy --include '*/' --include '*.c' --exclude '*' project/ /backup/project
    #[arg(long, value_name = "PATTERN", env = "PUMP_INCLUDE", help_heading = TREES)]
    #[arg(action = ArgAction::Append, allow_hyphen_values = true)]
    pub include: Vec<OsString>,

    /// Read patterns from a file, one a line
    ///
    /// Lines that begin with '+ ' include, others exclude; empty lines are passed over, and those that begin with # or
    /// ;, which are patterns with -0. Default: none.
    ///
    /// Example: pump copy --exclude-from .pumpignore project/ /backup/project
    #[arg(long, value_name = "FILE", env = "PUMP_EXCLUDE_FROM", help_heading = TREES)]
    #[arg(action = ArgAction::Append)]
    pub exclude_from: Vec<PathBuf>,

    /// Read patterns of names that are copied from a file, one a line
    ///
    /// As --exclude-from, and lines that begin with '- ' exclude. Default: none.
    ///
    /// Example: pump copy --include-from wanted --exclude '*' project/ /backup/project
    #[arg(long, value_name = "FILE", env = "PUMP_INCLUDE_FROM", help_heading = TREES)]
    #[arg(action = ArgAction::Append)]
    pub include_from: Vec<PathBuf>,

    /// Add a filter rule, as rsync does
    ///
    /// `- PATTERN` excludes, `+ PATTERN` includes; `H` and `S` hide and show names of the source alone; `P` protects
    /// names of the target from --delete (folders with all that is in them), `R` gives them up; `. FILE` reads rules
    /// from a file, one a line; `!` forgets all rules before it. Long names (exclude, include, hide, show, protect,
    /// risk, merge, clear) mean the same. The first of all rules and patterns that matches decides. Default: none.
    ///
    /// Example: pump mirror --filter 'P *.keep' --filter '- *.tmp' work/ /backup/work
    #[arg(long, value_name = "RULE", env = "PUMP_FILTER", help_heading = TREES)]
    #[arg(action = ArgAction::Append, allow_hyphen_values = true)]
    pub filter: Vec<OsString>,

    /// Copy only the names in a file, and the folders they lie in
    ///
    /// One a line, relative to the folder that is copied; `-` is standard input. As with rsync, a folder that is named
    /// is made without what lies in it. With a slash at its end what lies in it comes with it, folders in it again
    /// without content. Patterns leave out names of the list, but not the folders that they lie in. A folder as source
    /// is needed. Default: everything.
    ///
    /// Example: pump copy --files-from names.txt project/ /backup/project
    #[arg(long, value_name = "FILE", env = "PUMP_FILES_FROM", help_heading = TREES)]
    pub files_from: Option<PathBuf>,

    /// Names and patterns in files end with a zero byte instead of a line's end
    ///
    /// As `find -print0` writes them. Default: off.
    ///
    /// Example: pump copy --from0 --files-from names.bin project/ /backup/project
    #[arg(short = '0', long, env = "PUMP_FROM0", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub from0: bool,

    /// Leave alone what is newer at the target, or equal in size and time
    ///
    /// That is --update, -u or --update=older. With --update=differs what is newer is written over, too, as rsync does:
    /// only what is equal in size and time is left alone. As with cp, `none` leaves all that stands there (as
    /// --ignore-existing does) and `all` leaves nothing. An equal file is not written at all; owner, mode, extended
    /// attributes and access control lists are set if they differ. Of hard links the newest that stands at the target
    /// is the file, and the other names are linked to it. PUMP_UPDATE=1 is `older`. Default: all, every file is
    /// written.
    ///
    /// Example: pump copy --update=differs photos/ /backup/photos
    #[arg(short = 'u', long, value_name = "WHICH", env = "PUMP_UPDATE", help_heading = TREES, value_enum)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "older", ignore_case = true)]
    pub update: Option<UpdateWhich>,

    /// Take files of equal size for equal, whatever their times
    ///
    /// With --update or `pump mirror`: they are not written, and get the time of the source. Default: off.
    ///
    /// Example: pump copy --update=differs --size-only photos/ /backup/photos
    #[arg(long, env = "PUMP_SIZE_ONLY", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub size_only: bool,

    /// Take times for equal that lie no farther apart
    ///
    /// For targets that keep times coarsely or in another zone (FAT: 2s, 1h). With --update, --checksum, --link-dest or
    /// `pump mirror`. Default: 0s, beyond what the target's file system cannot tell apart.
    ///
    /// Example: pump copy --update --modify-window 2s photos/ /mnt/stick/photos
    #[arg(long, value_name = "TIME", env = "PUMP_MODIFY_WINDOW", help_heading = TREES, value_parser = parse_duration)]
    pub modify_window: Option<Duration>,

    /// Leave alone what is equal in content, whatever its time
    ///
    /// Reads both sides of files of equal size. With --update a newer target is left alone unread. Default: off.
    ///
    /// Example: pump copy --checksum photos/ /backup/photos
    #[arg(short = 'c', long, env = "PUMP_CHECKSUM", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub checksum: bool,

    /// Leave alone whatever stands at the target
    ///
    /// Default: off.
    ///
    /// Example: pump copy --ignore-existing photos/ /backup/photos
    #[arg(long, env = "PUMP_IGNORE_EXISTING", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub ignore_existing: bool,

    /// Remove from the target what the source does not have
    ///
    /// For a backup or a mirror there is `pump mirror`, which also writes over what is newer at the target.
    /// Only after the whole source was walked and copied without an error. A file that only grows meanwhile, as logs
    /// do, is copied as far as it was when it was opened, and hinders nothing; one that vanishes or is rewritten does
    /// (status 24, too): it may be what is to go, under another name. An excluded name stays, and so does what is
    /// mounted in the target where the source has nothing, and a temporary file that a running pump uses or a later one
    /// can resume while the source has the file. A folder that is not empty gives way to a file of the source only with
    /// --delete; an empty folder does without it, too, and so does a file to a folder. A folder as source is needed.
    /// rsync's --delete-before, --delete-during, --delete-delay, --delete-after and --del say the same. Has no
    /// environment variable, because it removes files. Default: off.
    ///
    /// Example: pump copy -n --delete photos/ /backup/photos
    #[arg(long, help_heading = TREES)]
    #[arg(visible_aliases = ["del", "delete-before", "delete-during", "delete-delay", "delete-after"])]
    pub delete: bool,

    /// Refuse to remove more than so many names
    ///
    /// They are counted before the first is removed; if there are more, none is, and the status is 1. A home folder
    /// and the root folder are targets of --delete with this flag only. Has no environment variable. Default: no limit.
    ///
    /// Example: pump copy --delete --max-delete 100 photos/ /backup/photos
    #[arg(long, value_name = "COUNT", help_heading = TREES)]
    pub max_delete: Option<u64>,

    /// Link files that are unchanged in another folder instead of copying them
    ///
    /// A file that is equal in size, time and attributes to the one of the same path in DIR becomes a hard link to that
    /// one: each backup is whole and takes the room of what changed. With --checksum the content of files in folders is
    /// compared, too, and files that are named alone are copied. DIR corresponds to DST, and is relative to the folder
    /// that the command runs in; where DST is on another host (over ssh), to the home folder there. Of several the
    /// first that has the file counts. Default: off.
    ///
    /// Example: pump copy --link-dest /backup/monday photos/ /backup/tuesday
    #[arg(long, value_name = "DIR", env = "PUMP_LINK_DEST", help_heading = TREES)]
    #[arg(action = ArgAction::Append)]
    pub link_dest: Vec<PathBuf>,

    /// Stay on the file system of the folder that is copied
    ///
    /// Default: off.
    ///
    /// Example: pump copy --one-file-system / /mnt/backup/root
    #[arg(short = 'x', long, env = "PUMP_ONE_FILE_SYSTEM", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub one_file_system: bool,

    /// Do not keep these attributes, as cp names them
    ///
    /// Names with commas between: mode (and access control lists), acl, ownership, timestamps, xattr, links (names of
    /// one file become files of their own), all. Attributes that are not kept stay as they are at a target that is
    /// there; a new file gets what any new file gets. Default: all are kept.
    ///
    /// Example: pump copy --no-preserve=ownership,xattr shared /home/me/
    #[arg(long, value_name = "ATTRIBUTES", env = "PUMP_NO_PRESERVE", help_heading = TREES)]
    #[arg(value_enum, value_delimiter = ',')]
    pub no_preserve: Vec<AttributeName>,

    /// Keep the numbers of owners and groups, not their names
    ///
    /// Between hosts a file belongs to the user and the group that have the same names at the target, and so do entries
    /// of access control lists; those that it has no such names for, and root, keep their numbers. On one host names
    /// and numbers are the same. Default: off.
    ///
    /// Example: pump copy --numeric-ids / host:/backup/root
    #[arg(long, env = "PUMP_NUMERIC_IDS", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub numeric_ids: bool,

    /// Print each change as rsync does: `>f+++++++++ a/b`
    ///
    /// On standard output, each line when the change is made; with -n in the order of names. Paths begin in DST.
    /// Folders are listed whole, and their names held in memory. Default: off.
    ///
    /// Example: pump copy -n -i photos/ /backup/photos
    #[arg(short = 'i', long, env = "PUMP_ITEMIZE_CHANGES", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub itemize_changes: bool,

    #[command(flatten)]
    pub choose: ChooseArguments,

    /// What was typed, and not told by the environment.
    #[arg(skip)]
    pub typed: Typed,

    /// The command is `pump mirror`.
    #[arg(skip)]
    pub is_mirror: bool,

    /// The list of names comes from the environment.
    #[arg(skip)]
    pub list_is_default: bool,

    /// Which of --exclude, --include and the files of patterns came when; clap keeps them apart.
    #[arg(skip)]
    pub order: Vec<FlagGiven>,
}

/// Which files at the target `--update` leaves alone. A switch was here first: its words count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UpdateWhich {
    /// Files that are newer, or equal in size and time
    #[value(aliases = ["1", "true", "yes", "on", "t", "y"])]
    Older,
    /// Files that are equal in size and time
    Differs,
    /// Nothing: every file is written
    #[value(aliases = ["0", "false", "no", "off", "f", "n"])]
    All,
    /// Whatever stands there
    None,
}

/// One of the flags whose order matters.
#[derive(Clone, Debug)]
pub enum FlagGiven {
    /// `--exclude`
    Exclude(OsString),
    /// `--include`
    Include(OsString),
    /// `--exclude-from`
    ExcludeFrom(PathBuf),
    /// `--include-from`
    IncludeFrom(PathBuf),
    /// `--filter`
    Filter(OsString),
}

/// What may be left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AttributeName {
    /// Permissions and access control lists
    Mode,
    /// Access control lists alone
    Acl,
    /// Owner and group
    Ownership,
    /// Time of access and of change
    Timestamps,
    /// Extended attributes
    Xattr,
    /// Names of one file
    Links,
    /// All of them
    All,
}

/// Flags that were typed: a variable of the environment is for whatever it is of use to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Typed {
    update: bool,
    size_only: bool,
    modify_window: bool,
    ignore_existing: bool,
    files_from: bool,
    existing: bool,
    max_size: bool,
    min_size: bool,
    pub itemize_changes: bool,
}

impl Typed {
    fn of(matches: &ArgMatches) -> Typed {
        let typed = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        Typed {
            update: typed("update"),
            size_only: typed("size_only"),
            modify_window: typed("modify_window"),
            ignore_existing: typed("ignore_existing"),
            files_from: typed("files_from"),
            existing: typed("existing"),
            max_size: typed("max_size"),
            min_size: typed("min_size"),
            itemize_changes: typed("itemize_changes"),
        }
    }
}

impl TreeArguments {
    /// Takes the order of the flags from what clap found.
    pub fn take_order(&mut self, matches: &ArgMatches) {
        // What came from the environment has no place among the words: it is taken first.
        let places = |name: &str, count: usize| {
            let typed = matches.indices_of(name).into_iter().flatten();
            typed.chain(std::iter::repeat(0)).take(count).collect::<Vec<usize>>()
        };
        let exclude = self.exclude.iter().cloned().map(FlagGiven::Exclude);
        let include = self.include.iter().cloned().map(FlagGiven::Include);
        let from = self.exclude_from.iter().cloned().map(FlagGiven::ExcludeFrom);
        let mut placed: Vec<(usize, FlagGiven)> =
            places("exclude", self.exclude.len()).into_iter().zip(exclude).collect();
        placed.extend(places("include", self.include.len()).into_iter().zip(include));
        placed.extend(places("exclude_from", self.exclude_from.len()).into_iter().zip(from));
        let from = self.include_from.iter().cloned().map(FlagGiven::IncludeFrom);
        placed.extend(places("include_from", self.include_from.len()).into_iter().zip(from));
        let rules = self.filter.iter().cloned().map(FlagGiven::Filter);
        placed.extend(places("filter", self.filter.len()).into_iter().zip(rules));
        placed.sort_by_key(|(place, _)| *place);
        self.order = placed.into_iter().map(|(_, given)| given).collect();
        self.list_is_default = matches.value_source("files_from") == Some(ValueSource::EnvVariable);
        self.typed = Typed::of(matches);
    }

    /// What was typed and would not be heeded, in words.
    fn contradiction(&self) -> Option<String> {
        let leaves_unread = self.update() != Update::All;
        let looks_at_times = leaves_unread || self.checksum || !self.link_dest.is_empty();
        match self.typed {
            Typed { update: true, .. } if self.is_mirror && self.update != Some(UpdateWhich::Differs) => Some(
                "a mirror is the same as its source (--update=differs); leave --update out, or use pump copy"
                    .into(),
            ),
            Typed { ignore_existing: true, .. } if self.is_mirror => Some(
                "a mirror is the same as its source; leave --ignore-existing out, or use pump copy".into(),
            ),
            Typed { files_from: true, .. } if self.is_mirror => {
                Some("a mirror is of a whole folder; leave --files-from out, or use pump copy".into())
            }
            _ if self.max_delete.is_some() && !self.delete && !self.choose.delete_excluded => {
                Some("--max-delete counts what --delete removes; add --delete, or leave it out".into())
            }
            Typed { size_only: true, .. } if !leaves_unread => {
                Some("--size-only says what --update leaves alone; add --update, or leave it out".into())
            }
            Typed { modify_window: true, .. } if !looks_at_times => Some(
                "--modify-window says which times --update takes for equal; add --update, or leave it out"
                    .into(),
            ),
            _ => None,
        }
    }

    fn update(&self) -> Update {
        match self.update {
            _ if self.is_mirror => Update::Differs,
            Some(UpdateWhich::Older) => Update::Older,
            Some(UpdateWhich::Differs) => Update::Differs,
            Some(UpdateWhich::All | UpdateWhich::None) | None => Update::All,
        }
    }

    fn ignores_existing(&self) -> bool {
        !self.is_mirror && (self.ignore_existing || self.update == Some(UpdateWhich::None))
    }

    /// What the environment says for other commands than this, in words.
    pub fn unheeded(&self) -> Vec<String> {
        let leaves_unread = self.update() != Update::All;
        let looks_at_times = leaves_unread || self.checksum || !self.link_dest.is_empty();
        let update = self.update.is_some_and(|which| which != UpdateWhich::Differs);
        [
            ("PUMP_UPDATE", self.is_mirror && update),
            ("PUMP_IGNORE_EXISTING", self.is_mirror && self.ignore_existing),
            ("PUMP_FILES_FROM", self.is_mirror && self.files_from.is_some()),
            ("PUMP_EXISTING", self.is_mirror && self.choose.existing && !self.typed.existing),
            ("PUMP_MAX_SIZE", self.is_mirror && self.choose.max_size.is_some() && !self.typed.max_size),
            ("PUMP_MIN_SIZE", self.is_mirror && self.choose.min_size.is_some() && !self.typed.min_size),
            ("PUMP_SIZE_ONLY", self.size_only && !leaves_unread),
            ("PUMP_MODIFY_WINDOW", self.modify_window.is_some() && !looks_at_times),
        ]
        .into_iter()
        .filter(|(_, is_unheeded)| *is_unheeded)
        .map(|(variable, _)| format!("{variable} has no effect here"))
        .collect()
    }

    /// What the library is asked for; reads the files that are named.
    pub fn apply(&self, options: Options) -> Result<Options, String> {
        if let Some(words) = self.contradiction() {
            return Err(words);
        }
        Ok(self.chosen().apply(Options {
            selection: self.selection()?,
            list_is_default: self.list_is_default,
            update: self.update(),
            size_only: self.size_only,
            modify_window: self.modify_window.unwrap_or_default(),
            checksum: self.checksum,
            ignore_existing: self.ignores_existing(),
            delete: self.delete,
            mirror: self.is_mirror,
            max_delete: self.max_delete,
            link_dest: self.link_dest.clone(),
            one_file_system: self.one_file_system,
            keep: self.keep(),
            changes: self.itemize_changes,
            ..options
        }))
    }

    /// Whether what becomes of a file depends on what stands at the target, or is told letter by letter.
    pub fn decides_by_name(&self) -> bool {
        let leaves = self.update() != Update::All || self.checksum || self.ignores_existing();
        leaves || self.itemize_changes || !self.link_dest.is_empty() || self.choose.decides_by_name()
    }

    /// A mirror is whole, unless something else is typed.
    fn chosen(&self) -> ChooseArguments {
        let ChooseArguments { existing, max_size, min_size, .. } = self.choose;
        let Typed { existing: is_existing, max_size: is_max, min_size: is_min, .. } = self.typed;
        let heeds = |is_typed: bool| !self.is_mirror || is_typed;
        ChooseArguments {
            existing: existing && heeds(is_existing),
            max_size: max_size.filter(|_| heeds(is_max)),
            min_size: min_size.filter(|_| heeds(is_min)),
            ..self.choose
        }
    }

    fn selection(&self) -> Result<Vec<Selection>, String> {
        let mut selection = Vec::new();
        for given in &self.order {
            selection.push(match given {
                FlagGiven::Exclude(pattern) => Selection::Exclude(pattern.as_bytes().to_vec()),
                FlagGiven::Include(pattern) => Selection::Include(pattern.as_bytes().to_vec()),
                FlagGiven::ExcludeFrom(file) => Selection::ExcludeFrom(content(file)?, self.from0),
                FlagGiven::IncludeFrom(file) => Selection::IncludeFrom(content(file)?, self.from0),
                FlagGiven::Filter(rule) => match choose::rules_file(rule) {
                    Some(file) => Selection::FiltersFrom(content(&file)?, self.from0),
                    None => Selection::Filter(rule.as_bytes().to_vec()),
                },
            });
        }
        if let Some(file) = self.files_from.as_ref().filter(|_| !self.is_mirror) {
            selection.push(Selection::Names(content(file)?, self.from0));
        }
        Ok(selection)
    }

    fn keep(&self) -> Keep {
        let kept = |attribute: AttributeName| {
            !self.no_preserve.contains(&attribute) && !self.no_preserve.contains(&AttributeName::All)
        };
        Keep {
            mode: kept(AttributeName::Mode),
            acl: kept(AttributeName::Acl) && kept(AttributeName::Mode),
            owner: kept(AttributeName::Ownership),
            times: kept(AttributeName::Timestamps),
            xattrs: kept(AttributeName::Xattr),
            links: kept(AttributeName::Links),
            numeric_ids: self.numeric_ids,
            ..Keep::NOTHING
        }
    }
}

fn content(file: &Path) -> Result<Vec<u8>, String> {
    let read = match file.as_os_str().as_bytes() {
        b"-" => std::io::Read::bytes(std::io::stdin()).collect(),
        _ => std::fs::read(file),
    };
    read.map_err(|error| format!("read '{}': {error}", datapump::shown(file.as_os_str().as_bytes())))
}
