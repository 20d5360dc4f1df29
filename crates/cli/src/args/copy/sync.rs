//! The flag that says what is promised of stable storage.
//!
//! Must not know: the commands, how anything gets there.

use clap::{Args, ValueEnum};
use datapump::Sync;

use crate::args::HOW;

/// When a copy is on stable storage.
#[derive(Debug, Args)]
pub struct SyncArguments {
    /// When the copy is put on stable storage
    ///
    /// With `none` a power failure after status 0 can lose the copy, as it can with cp. Default: end.
    ///
    /// Example: pump copy --sync=none in.bin out.bin
    #[arg(long, value_name = "WHEN", env = "PUMP_SYNC", help_heading = HOW)]
    #[arg(value_enum, default_value_t = SyncWhen::End)]
    sync: SyncWhen,
}

/// When data are put on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SyncWhen {
    /// Before the command ends
    End,
    /// Before each name appears
    Each,
    /// Never asked for
    None,
}

impl From<SyncWhen> for Sync {
    fn from(when: SyncWhen) -> Sync {
        match when {
            SyncWhen::End => Sync::End,
            SyncWhen::Each => Sync::Each,
            SyncWhen::None => Sync::None,
        }
    }
}

impl SyncArguments {
    /// What the library is asked for.
    pub fn choice(&self) -> Sync {
        self.sync.into()
    }
}
