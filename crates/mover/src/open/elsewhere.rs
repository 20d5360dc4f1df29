//! Opens a source that this host's system does not open as one file: a file on the web, a stripe.
//!
//! Must not know: how its bytes are moved, where the copy goes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::held::{Elsewhere, OpenedWords};
use super::{stripe, web};
use crate::place::Place;
use crate::problem::Problem;
use crate::run::MoverRun;
use datapump_files::disk::Disk;

/// Files that the kernel of another host makes up as they are read.
pub const MADE_UP: &str =
    "is made up by the kernel; such files are not copied between hosts: copy it to a file";

/// Opens sources that lie in no folder, without what a run has besides.
#[derive(Clone, Debug)]
pub struct SourceOpener {
    pub disk: Disk,
    /// Block devices may be members.
    pub devices: bool,
    pub stop: Arc<AtomicBool>,
}

impl SourceOpener {
    pub fn new(run: &MoverRun<'_>) -> SourceOpener {
        let disk = run.settings.platform.disk.clone();
        SourceOpener { disk, devices: run.settings.options.place.devices, stop: Arc::clone(&run.stop) }
    }

    /// A file on the web, or a stripe.
    pub fn open(&self, place: &Place) -> Result<Arc<dyn Elsewhere>, Problem> {
        match place {
            Place::Web(web) => Ok(web::open(web)?),
            Place::Stripe(stripe) => Ok(stripe::open(stripe, &self.disk, self.devices, &self.stop)?),
            Place::Path(_) | Place::Remote(_) | Place::Stream | Place::Null { .. } => {
                Err(Problem::usage(format!("'{place}' is opened otherwise")))
            }
        }
    }
}

/// Reports how a source is read that was opened.
pub fn report_opened(run: &MoverRun<'_>, held: &dyn Elsewhere) {
    match held.opened_words(run.settings.writes) {
        Some(OpenedWords::Note(words)) => run.ledger.note(|| words),
        Some(OpenedWords::Notice(words)) => run.ledger.notice(words),
        None => {}
    }
}
