//! Flags of `pump copy` that concern folders: what is selected, what is left alone, what is removed.
//!
//! Must not know: how trees are walked.

pub(crate) mod patterns;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, ValueEnum};
use datapump::units::parse_duration;
use datapump::{
    AttributeOptions, ComparisonOptions, DeletionOptions, Keep, LinkOptions, Options, ReportingOptions,
    SelectionOptions, Update,
};

use crate::args::TREES;
use crate::args::copy::choose::ChooseArguments;
use crate::args::copy::tree::patterns::PatternArguments;

/// What of a tree is copied.
#[derive(Debug, Args)]
pub struct TreeArguments {
    #[command(flatten)]
    pub patterns: PatternArguments,

    /// Leave alone what is newer at the target, or equal in size and time
    ///
    /// That is --update, -u or --update=older. With --update=differs what is newer is written over, too, as rsync does:
    /// only what is equal in size and time is left alone. As with cp, `none` leaves all that stands there (as
    /// --ignore-existing does) and `all` leaves nothing. An equal file is not written at all; owner, mode, extended
    /// attributes and access control lists are set if they differ. Of hard links a name that is newer at the target
    /// stays, and the other names are linked among themselves. PUMP_UPDATE=1 is `older`. Default: all, every file is
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
    /// `pump mirror`. Default: 0s, beyond what the target's file system cannot tell apart; a copy that was made in the
    /// very tick of its source is compared by content.
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
    /// do, is copied as far as it was when it was opened (status 24); one that is rewritten is copied once more. A
    /// folder whose names or files change meanwhile is walked again, up to three times. If it still changes then, the
    /// names in it stay (status 24), and all else is removed. Only a file that changes each time it is copied, six
    /// times, and that has no copy at the target keeps everything: it may be one of the names that would be removed,
    /// under a new name. An excluded name stays, and so does what is mounted in the target where the source has
    /// nothing, and a temporary file that a running pump uses or a later one can resume while the source has the file.
    /// A folder that is not empty is replaced by a file of the source only with --delete: it is removed before that file
    /// is copied, by itself, and only if nothing in it must stay. An empty folder is replaced without --delete, too,
    /// and so is a file by a folder. A folder as source is needed. rsync's --delete-before, --delete-during,
    /// --delete-delay, --delete-after and --del say the same. Has no environment variable, because it removes files.
    /// Default: off.
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
    /// one: each backup is whole and takes the room of what changed. With --checksum the content is compared, too. DIR
    /// corresponds to DST, and is relative to the folder that the command runs in; where DST is on another host (over
    /// ssh), to the home folder there. Of several the first that has the file counts. Default: off.
    ///
    /// Example: pump copy --link-dest /backup/monday photos/ /backup/tuesday
    #[arg(long, value_name = "DIR", env = "PUMP_LINK_DEST", help_heading = TREES)]
    #[arg(action = ArgAction::Append)]
    pub link_dest: Vec<PathBuf>,

    /// Stay on the file system of the folder that is copied
    ///
    /// A line names what is mounted there and left out.
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
    /// there; a new file gets what any new file gets. Default: all are kept; what a target does not take of one is
    /// told in a line for each kind (status 23), and costs no content.
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
    #[value(alias = "times")]
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
    pub itemize_changes: bool,
}

impl Typed {
    fn from_matches(matches: &ArgMatches) -> Typed {
        let typed = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        Typed {
            update: typed("update"),
            size_only: typed("size_only"),
            modify_window: typed("modify_window"),
            ignore_existing: typed("ignore_existing"),
            files_from: typed("files_from"),
            itemize_changes: typed("itemize_changes"),
        }
    }
}

impl TreeArguments {
    /// Takes the order of the flags from what clap found.
    pub fn take_order(&mut self, matches: &ArgMatches) {
        self.patterns.take_order(matches);
        self.typed = Typed::from_matches(matches);
        if self.is_mirror {
            self.choose.leave_out_variables(matches);
        }
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
            ("PUMP_FILES_FROM", self.is_mirror && self.patterns.files_from.is_some()),
            ("PUMP_SIZE_ONLY", self.size_only && !leaves_unread),
            ("PUMP_MODIFY_WINDOW", self.modify_window.is_some() && !looks_at_times),
        ]
        .into_iter()
        .filter(|(_, is_unheeded)| *is_unheeded)
        .map(|(variable, _)| variable)
        .chain(self.choose.unheeded.iter().copied())
        .map(|variable| format!("{variable} has no effect here"))
        .collect()
    }

    /// What the library is asked for; reads the files that are named.
    pub fn apply(&self, options: Options) -> Result<Options, String> {
        if let Some(words) = self.contradiction() {
            return Err(words);
        }
        Ok(self.choose.apply(Options {
            selection: SelectionOptions {
                patterns_begin_above: !self.is_mirror && self.patterns.has_rules(),
                rules: self.patterns.selection(!self.is_mirror)?,
                list_is_default: self.patterns.list_is_default,
                one_file_system: self.one_file_system,
                ..options.selection
            },
            comparison: ComparisonOptions {
                update: self.update(),
                size_only: self.size_only,
                modify_window: self.modify_window.unwrap_or_default(),
                checksum: self.checksum,
                ignore_existing: self.ignores_existing(),
                ..options.comparison
            },
            deletion: DeletionOptions {
                delete: self.delete,
                mirror: self.is_mirror,
                max_delete: self.max_delete,
                ..options.deletion
            },
            links: LinkOptions { link_dest: self.link_dest.clone(), ..options.links },
            attributes: AttributeOptions { keep: self.keep(), ..options.attributes },
            reporting: ReportingOptions { changes: self.itemize_changes, ..options.reporting },
            ..options
        }))
    }

    /// Whether what becomes of a file depends on what stands at the target, or is told letter by letter.
    pub fn decides_by_name(&self) -> bool {
        let leaves = self.update() != Update::All || self.checksum || self.ignores_existing();
        leaves || self.itemize_changes || !self.link_dest.is_empty() || self.choose.decides_by_name()
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
