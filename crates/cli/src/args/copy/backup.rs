//! Flags that keep what a copy replaces or removes.
//!
//! Must not know: how backups are made.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ValueEnum};
use datapump::{Backup, Numbering, Options};

use crate::args::HOW;

/// What becomes of what stood there.
#[derive(Debug, Args)]
pub struct BackupArguments {
    /// Keep what is replaced or removed, under another name
    ///
    /// The backup's name is the old name with a suffix (--suffix, default `~`). CONTROL is as in cp: simple (or
    /// never), numbered (or t; `.~1~`, `.~2~` and so on), existing (or nil; numbered where numbered ones exist), none
    /// (or off). The old file keeps its name until the new one replaces it. A simple backup replaces the one before
    /// it, as with cp and rsync; --backup=numbered keeps all of them. The new backup is numbered where a source has
    /// its name, or may have it (SRC/ beside other sources), where it could replace what is read (a named source or a
    /// link on the way to it, what followed links lead to, a source folder around or in --backup-dir), and where a cut
    /// copy is resumed. What stands under a name and has the content of the copy (an earlier
    /// run of the command, which was cut or failed, put it there) has no backup. A small `.pump-` file in DST says
    /// what such a run put; the same command removes it. A symbolic link in the place of a named target becomes the
    /// backup itself, and what it leads to stays. With --delete, names that end as this run's backups do stay; a later
    /// run with --delete and other flags for backups, or none, removes them as all that the source does not have,
    /// unless --exclude '*~' (or what the suffix is) leaves them out. Folders have no backup. Not with --inplace.
    /// Default: off.
    ///
    /// Example: pump copy --backup --update=differs conf/ /etc/conf
    #[arg(long, value_name = "CONTROL", env = "PUMP_BACKUP", help_heading = HOW, value_enum)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "simple")]
    pub backup: Option<BackupControl>,

    /// Keep what is replaced or removed in a folder of its own
    ///
    /// Under the same path as below DST, and under its own name unless --suffix says otherwise. A relative DIR begins
    /// in DST, where --delete leaves it alone if the same DIR is given; a symbolic link in DST that leads to it is
    /// removed, as with rsync. It must be on DST's file system, and neither be DST nor a source, nor be named through
    /// the symbolic link of another user than you and root; behind pump serve it is below DST, without `..`. In a
    /// source it is not copied: --exclude it there. Folders that are made get mode, owner and times of those in DST
    /// that they stand for. Implies --backup. Default: beside the file.
    ///
    /// Example: pump mirror --backup-dir /backup/old-2026-11-26 photos/ /backup/photos
    #[arg(long, value_name = "DIR", env = "PUMP_BACKUP_DIR", help_heading = HOW)]
    pub backup_dir: Option<PathBuf>,

    /// The suffix of backups
    ///
    /// Default: ~, and none with --backup-dir.
    ///
    /// Example: pump copy --backup --suffix=.orig conf/ /etc/conf
    #[arg(long, value_name = "SUFFIX", env = "PUMP_SUFFIX", help_heading = HOW, allow_hyphen_values = true)]
    pub suffix: Option<OsString>,

    /// Typed, not from the environment.
    #[arg(skip)]
    is_typed: bool,

    /// The suffix was typed.
    #[arg(skip)]
    has_typed_suffix: bool,
}

/// How backups are called: cp's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackupControl {
    /// None are made
    #[value(aliases = ["off"])]
    None,
    /// By the suffix
    #[value(aliases = ["never"])]
    Simple,
    /// By numbers
    #[value(aliases = ["t"])]
    Numbered,
    /// By numbers where there are some, else by the suffix
    #[value(aliases = ["nil"])]
    Existing,
}

impl BackupArguments {
    /// Takes what was typed from what clap found.
    pub fn take_typed(&mut self, matches: &ArgMatches) {
        let typed = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        self.is_typed = typed("backup") || typed("backup_dir");
        self.has_typed_suffix = typed("suffix");
    }

    /// What the library is asked for. A variable of the environment is not for what is written in place.
    pub fn apply(&self, options: Options) -> Result<Options, String> {
        let backup = self.wanted().filter(|_| self.is_typed || !options.durability.inplace);
        if self.has_typed_suffix && backup.is_none() {
            return Err("--suffix names backups; add --backup, or drop --suffix".into());
        }
        Ok(options.with(|it| it.backup = backup))
    }

    fn wanted(&self) -> Option<Backup> {
        let numbering = match (self.backup, &self.backup_dir) {
            (Some(BackupControl::None), _) | (None, None) => return None,
            (Some(BackupControl::Numbered), _) => Numbering::Numbered,
            (Some(BackupControl::Existing), _) => Numbering::Existing,
            (Some(BackupControl::Simple) | None, _) => Numbering::Simple,
        };
        let default = if self.backup_dir.is_some() { "" } else { "~" };
        let suffix = self.suffix.clone().unwrap_or_else(|| default.into()).into_vec();
        Some(Backup { suffix, folder: self.backup_dir.as_deref().map(normal_path), numbering })
    }
}

/// A path without names that a `..` behind them takes back, as rsync has it: what is missing is not made for nothing.
fn normal_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match (part, normal.components().next_back()) {
            (Component::ParentDir, Some(Component::Normal(_))) => drop(normal.pop()),
            (Component::CurDir, _) => {}
            (part, _) => normal.push(part),
        }
    }
    if normal.as_os_str().is_empty() { PathBuf::from(".") } else { normal }
}
