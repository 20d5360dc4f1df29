//! Flags of `--tune`.
//!
//! Must not know: how anything is tuned.

use clap::{Args, ValueEnum};
use datapump::units::parse_bytes;

use crate::args::TUNING;

/// Whether a search is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tune {
    /// The measured defaults
    Never,
    /// What was found before for these ends; else a search
    Once,
    /// A search, whatever was found before
    Again,
}

/// How the best way is found.
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// Find request size, depths and lanes (or connections) for these ends before the copy
    ///
    /// Rehearses the copy's first bytes for up to 20 s, in unnamed temporary files in the target's folder, prints what
    /// was tried and gained, and remembers it for this machine, these two devices or hosts and --memory, in tuned.jsonl
    /// under $PUMP_STATE_DIR, else $XDG_STATE_HOME/datapump. Takes the place of --request-size, --depth and --lanes.
    /// --tune alone means once. Default: never.
    ///
    /// Example: pump copy --tune big.bin /mnt/raid/
    #[arg(long, value_name = "WHEN", env = "PUMP_TUNE", help_heading = TUNING, value_enum)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "once", default_value = "never")]
    pub tune: Tune,

    /// Most memory for --tune and for a copy from or to another host
    ///
    /// A size, for small machines. With another host half of it is for the slots of blocks: fewer requests are under
    /// way, and smaller ones. The other half is for what that host sends (names, attributes, files with several names,
    /// what comes before it is requested): what does not fit is refused, or requested later; names that a mirror keeps
    /// are written to an unnamed temporary file at the target (with -n in $TMPDIR, else in /var/tmp). Default: 256MiB of
    /// slots for --tune; what is usual, and a quarter of this machine's memory for what another host sends.
    ///
    /// Example: pump copy --tune --memory 16MiB big.bin host:backup/
    #[arg(long, value_name = "SIZE", env = "PUMP_MEMORY", help_heading = TUNING)]
    #[arg(value_parser = parse_memory)]
    pub memory: Option<u64>,
}

impl TuneArguments {
    /// Whether to search anew; none if nothing is tuned.
    pub fn again(&self) -> Option<bool> {
        match self.tune {
            Tune::Never => None,
            Tune::Once => Some(false),
            Tune::Again => Some(true),
        }
    }
}

fn parse_memory(word: &str) -> Result<u64, String> {
    match parse_bytes(word)? {
        bytes if bytes >= 256 << 10 => Ok(bytes),
        _ => Err(format!("'{word}' holds no two requests of 64KiB at each end; write 256KiB or more")),
    }
}
