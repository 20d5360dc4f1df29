//! Another host that sources lie on, and a folder of it, as a copy asks them. The sessions answer.
//!
//! Must not know: how a host is asked, what is done with the answers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_transport::ConnectionStats;

use super::SmallRead;
use crate::open::held::Attributes;
use crate::open::held::{Elsewhere, Held};
use crate::problem::Problem;
use crate::run::block_host::BlockHost;
use crate::setup::budget::{Charge, OverBudget};
use crate::target::listed::{ListedEntry, Name};
use crate::tree::folder::origin::folder_way::{FolderKey, FolderStep};
use crate::tree::folder::origin::remote_facts::{AheadRequest, RemoteFacts};
use datapump_core::selection::ListStep;
use datapump_files::disk::Meta;

/// The other host of a session, on which the sources lie. Places are known to it by their numbers.
pub(crate) trait SourceHost: BlockHost {
    /// Which run of its system the host told; zeros if none.
    fn boot(&self) -> &[u8; 16];
    /// Both sides run on one host: devices of the same number are the same device.
    fn is_here(&self) -> bool;
    fn names_waited_ns(&self) -> u64;
    /// What the connection did over which something comes without a request.
    fn ahead_stats(&self) -> Option<ConnectionStats>;
    /// Bytes that came without a request, and that nobody wanted.
    fn dropped_bytes(&self) -> u64;
    /// The host begins to send what a walk of so many places meets, where it can.
    fn read_ahead(&self, places: usize, request: AheadRequest);
    /// Whether its places come without a request.
    fn brings_places(&self) -> bool;
    /// Something that this side holds for the host.
    fn charge(&self, bytes: usize) -> Result<Charge, OverBudget>;
    /// Something that can be had otherwise: only if so much more may be charged besides.
    fn charge_beside(&self, bytes: usize, besides: usize) -> Result<Charge, OverBudget>;

    /// The attributes of a place, links followed unless kept; `None` for a pipe, or null.
    fn look(&self, place: u32, path: &Path) -> Result<Option<Meta>, Problem>;
    /// Whether a place is a temporary file that a pump uses or can resume.
    fn is_partial(&self, place: u32, path: &Path) -> Result<bool, Problem>;
    /// The path that stands in a place that is a link and stays one; `None` if it is no link any more.
    fn link_target(self: Arc<Self>, place: u32, path: &Path) -> Result<Option<OsString>, Problem>;
    /// Device and inode of what such a link leads to, where both sides are one host.
    fn link_target_id(&self, place: u32, path: &Path) -> Result<Option<(u64, u64)>, Problem>;
    /// Opens the folder of a place.
    fn root(self: Arc<Self>, place: u32, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem>;
    /// The folder of a place that is a link, to be asked for that link alone.
    fn folder_of_link(self: Arc<Self>, place: u32, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem>;
    /// Opens the file of a place.
    fn open_place(self: Arc<Self>, place: u32, path: &Path) -> Result<Arc<dyn Elsewhere>, Problem>;
    /// Opens files of places by requests that are sent together. What cannot be opened so is requested when it is its turn.
    fn open_places(
        self: Arc<Self>,
        places: Vec<u32>,
        tell: &mut dyn FnMut(u32, Arc<dyn Elsewhere>),
    ) -> Result<(), Problem>;
}

/// Files that were opened before their turn: those that nobody takes are given back when this is dropped.
pub(crate) trait EarlyFiles: Debug + Send {}

/// A folder of another host that is open.
pub(crate) trait RemoteOrigin: Debug + Send + Sync {
    fn facts(&self) -> &RemoteFacts;
    /// The host that it lies on.
    fn host(&self) -> &dyn SourceHost;
    /// The next names, and where those behind them begin; none at the end.
    fn list(&self, cookie: u64, with_attributes: bool, path: &Path) -> Result<(Vec<Name>, u64), Problem>;
    /// The first names, which the next listing from the start gives again.
    fn peek(&self, path: &Path) -> Result<(Vec<Name>, u64), Problem>;
    /// Opens a folder in this one.
    fn enter(&self, name: &Name, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem>;
    /// The folder as it is now, and whether its times could hide a name that is made right after this look.
    fn look_again(&self, path: &Path) -> Result<(Meta, bool), Problem>;
    /// A name, links not followed.
    fn look_at(&self, name: &OsStr, path: &Path) -> Result<ListedEntry, Problem>;
    /// The names with what they are, where no listing told that, requested together; those below with them.
    fn look_at_all(
        &self,
        names: Vec<Name>,
        below: &[ListStep],
        with_attributes: bool,
    ) -> Result<Vec<Name>, Problem>;
    /// Whether the folder of this name was opened before its turn.
    fn has_entered(&self, name: &OsStr) -> bool;
    /// Looks at the folders of a way below this one; `tell` hears of each in turn.
    ///
    /// Errors: the session is lost, or `tell` gave one.
    fn look_below(
        &self,
        way: &mut dyn Iterator<Item = FolderStep>,
        path: &dyn Fn(FolderKey) -> PathBuf,
        tell: &mut dyn FnMut(FolderKey, Result<Meta, Problem>) -> Result<(), Problem>,
    ) -> Result<(), Problem>;
    /// The attributes of a name with which no listing told them; `None` if the host is too old to tell.
    fn attributes_of(&self, name: &OsStr, path: &Path) -> Result<Option<Attributes>, Problem>;
    /// The attributes of a file, which is opened for that.
    fn attributes_of_file(self: Arc<Self>, name: &OsStr, path: &Path) -> Result<Attributes, Problem>;
    /// Opens a file that was listed so. A small one is opened with its only request.
    fn open_file(
        self: Arc<Self>,
        name: &Name,
        listed: &Meta,
        path: &Path,
        small: SmallRead,
    ) -> Result<(Held, Meta), Problem>;
    /// Opens files, and fetches those that are empty. What cannot be had so is requested when it is its turn.
    fn open_early(self: Arc<Self>, files: Vec<(OsString, bool)>) -> Result<Box<dyn EarlyFiles>, Problem>;
}

/// Files of places that were opened before their turn, by the numbers of the places. Those that nobody takes are given
/// back with this.
#[derive(Debug, Default)]
pub(crate) struct PlacesEarly(Mutex<BTreeMap<u32, Arc<dyn Elsewhere>>>);

impl PlacesEarly {
    fn files(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<dyn Elsewhere>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file of a place, if it was opened; else it is opened now.
    pub(crate) fn take_or_open(
        &self,
        host: &Arc<dyn SourceHost>,
        place: u32,
        path: &Path,
    ) -> Result<Arc<dyn Elsewhere>, Problem> {
        let early = self.files().remove(&place);
        early.map_or_else(|| Arc::clone(host).open_place(place, path), Ok)
    }

    /// Opens a place, and those that `others` names with it, unless it is open. A lane that needs one of them waits until
    /// all are open.
    pub(crate) fn open(
        &self,
        host: &Arc<dyn SourceHost>,
        place: u32,
        others: impl FnOnce() -> Vec<u32>,
    ) -> Result<(), Problem> {
        let mut files = self.files();
        if files.contains_key(&place) {
            return Ok(());
        }
        let mut places = others();
        if places.is_empty() {
            return Ok(());
        }
        places.retain(|other| !files.contains_key(other));
        places.insert(0, place);
        Arc::clone(host).open_places(places, &mut |place, file| drop(files.insert(place, file)))
    }
}
