//! The flag that says what is promised of stable storage.
//!
//! Must not know: the commands, how anything gets there.

use clap::Args;
use datapump::Sync;

use crate::args::HOW;
use crate::args::copy::tuning::choice;

/// When a copy is on stable storage.
#[derive(Debug, Args)]
pub struct SyncArguments {
    /// When the copy is put on stable storage
    ///
    /// With `none` a power failure after status 0 can lose the copy, as it can with cp. Default: end.
    ///
    /// Example: pump copy --sync=none in.bin out.bin
    #[arg(long, value_name = "WHEN", env = "PUMP_SYNC", help_heading = HOW)]
    #[arg(value_parser = choice::<Sync>(), default_value_t)]
    sync: Sync,
}

impl SyncArguments {
    /// What the library is asked for.
    pub fn choice(&self) -> Sync {
        self.sync
    }
}
