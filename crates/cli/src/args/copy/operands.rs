//! The places of a copy: which words are sources, and which is the target.
//!
//! All words are one positional of clap's, so that flags may stand between them; which word is what is counted here.
//!
//! Must not know: what kinds of places there are.

use std::ffi::OsString;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args};

use crate::args::WHAT;
use crate::args::copy::read::behind_words::dashed_file;

/// The sources of a copy, and its target.
#[derive(Debug, Args)]
pub struct OperandArguments {
    /// Files and folders, HOST:PATH over ssh, pump://HOST:PORT/PATH, http(s)://…, stripe:FILE.toml, `-` for standard
    /// input, null:SIZE for noise; and last where to: a name, an existing folder, HOST:PATH over ssh,
    /// pump://HOST:PORT/PATH, stripe:FILE.toml, `-` for standard output, null:
    ///
    /// A file on the web has the last part of its URL as name, behind all redirects, and the time of Last-Modified. It
    /// comes in parts of 32 MiB over several connections (--lanes, default 4) where the server gives parts and tells
    /// each state of the file from all others (a strong ETag, or without an ETag a Last-Modified that is a minute older
    /// than the answer's Date), and a copy that was cut goes on; else in one stream. A file that is another in its
    /// middle is status 24. An address that a redirect led to, and that holds no more, is asked for anew. A file that
    /// the server compressed without being asked is refused. What the server wants to know of you: a login in ~/.netrc
    /// ($NETRC, read as curl reads it), or the value of an Authorization header in PUMP_HTTP_AUTHORIZATION; the host
    /// that you name gets it, and nobody else. A password in a URL is refused. http_proxy, https_proxy, all_proxy and
    /// no_proxy hold as for curl (no SOCKS), and SSL_CERT_FILE names other roots of trust than the system's.
    ///
    /// A stripe is RAID-0 over files or devices: FILE.toml says chunk = "192KiB" (4 KiB to 64 MiB, a multiple of 4 KiB)
    /// and members = ["/a/x", "/b/x"] in their order; relative ones lie beside it. As a target each member is written
    /// where it stands, or made, and all are synced before the end. Files that are members know their place
    /// (user.datapump.stripe, an extended attribute): another order or chunk, or a missing one, is refused; of devices
    /// only the sizes tell. After a copy that was cut the content of a stripe is undefined, and the same command starts
    /// over. Devices need --devices, and are of one size.
    #[arg(required = true, num_args = 1.., value_names = ["SRC", "DST"], help_heading = WHAT, display_order = 0)]
    pub places: Vec<OsString>,

    /// Copy all places into this folder, which must exist
    ///
    /// No word is the target then. Default: off, the last word is the target.
    ///
    /// Example: pump copy --target-directory /backup a.bin b.bin
    #[arg(long, value_name = "DIR", env = "PUMP_TARGET_DIRECTORY", help_heading = WHAT)]
    pub target_directory: Option<OsString>,

    /// Make the folders that are missing above DST; with a slash at its end, DST too
    ///
    /// Default: off, so that a mistyped target is an error.
    ///
    /// Example: pump copy --mkpath a.bin /backup/2026/november/
    #[arg(long, env = "PUMP_MKPATH", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub mkpath: bool,

    /// Copy the path of each source, too: a/b/c becomes DST/a/b/c
    ///
    /// As rsync's -R and cp's --parents; the folders on the way are made with their attributes. What stands before /./
    /// in a source is no part of it: of home/./me/notes that is me/notes. All sources lie in one folder then, on one
    /// host. Default: off, a source has its last name alone.
    ///
    /// Example: pump copy --relative etc/ssh/sshd_config etc/fstab /backup/host
    #[arg(long, visible_alias = "parents", env = "PUMP_RELATIVE", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub relative: bool,

    /// Take DST as the name of the copy, never as a folder to copy into
    ///
    /// With one source only. Default: off, so that an existing folder receives the source under its own name.
    ///
    /// Example: pump copy -T new.bin current
    #[arg(short = 'T', long, env = "PUMP_NO_TARGET_DIRECTORY", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub no_target_directory: bool,

    /// Whether the folder was typed: a variable of the environment is for whatever it is of use to.
    #[arg(skip)]
    folder_is_typed: bool,
}

impl OperandArguments {
    /// Takes what was typed from what clap found.
    pub fn take_typed(&mut self, matches: &ArgMatches) {
        self.folder_is_typed = matches.value_source("target_directory") == Some(ValueSource::CommandLine);
    }

    /// The folder that all words are copied into.
    pub fn folder(&self) -> Option<&OsString> {
        self.target_directory.as_ref().filter(|_| self.folder_is_typed || !self.no_target_directory)
    }

    /// Sources and target.
    pub fn split(&self) -> Result<(&[OsString], &OsString), String> {
        if self.no_target_directory && self.folder_is_typed {
            return Err("-T and --target-directory exclude each other; drop one".into());
        }
        match (self.folder(), &self.places[..]) {
            (Some(folder), sources) => Ok((sources, folder)),
            (None, [sources @ .., target]) if !sources.is_empty() => Ok((sources, target)),
            (None, words) => {
                let dashed = dashed_file(&std::env::args_os().collect::<Vec<_>>());
                Err(format!(
                    "the target (DST) is required, and only the source {} was named{}",
                    words.iter().map(|word| format!("'{}'", word.to_string_lossy())).collect::<String>(),
                    dashed.map_or(String::new(), |words| format!("; {words}"))
                ))
            }
        }
    }
}
