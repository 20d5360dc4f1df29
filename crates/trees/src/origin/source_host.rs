//! Another host that sources lie on, and a folder of it, as a copy asks them. The sessions answer.
//!
//! Must not know: how a host is asked, what is done with the answers.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_transport::ConnectionStats;

use super::SmallRead;
use crate::listed::{ListedEntry, Name};
use crate::open::held::Attributes;
use crate::open::held::{Elsewhere, Held};
use crate::origin::folder_way::{FolderKey, FolderStep};
use crate::origin::remote_facts::{AheadRequest, RemoteFacts};
use crate::problem::{Class, Operation, Problem};
use crate::run::block_host::BlockHost;
use crate::setup::budget::{Charge, OverBudget};
use datapump_core::selection::ListStep;
use datapump_files::disk::Meta;

/// The other host of a session, on which the sources lie. Places are known to it by their numbers.
pub trait SourceHost: BlockHost {
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
    /// The folder in which places lie that the user named, by the names that they get at the target: no other name of it
    /// is known.
    fn named_places(self: Arc<Self>, places: HashMap<OsString, NamedPlace>) -> Arc<dyn RemoteOrigin>;
    /// Opens the file of a place.
    fn open_place(self: Arc<Self>, place: u32, path: &Path) -> Result<Arc<dyn Elsewhere>, Problem>;
}

/// A place of another host that the user named.
#[derive(Clone, Debug)]
pub struct NamedPlace {
    /// Its number among those of the session.
    pub number: u32,
    /// Its name in its folder.
    pub own: OsString,
    /// It is a symbolic link that stays one.
    pub is_link: bool,
    /// How many names its file counts as having; `None`: those of its inode.
    pub links: Option<u64>,
}

impl NamedPlace {
    /// Its file with the names that it counts as having.
    pub fn counted(&self, meta: Meta) -> Meta {
        Meta { links: self.links.unwrap_or(meta.links), ..meta }
    }
}

/// Files that were opened before their turn: those that nobody takes are given back when this is dropped.
pub trait EarlyFiles: Debug + Send {}

/// Nothing was opened before its turn.
#[derive(Debug)]
struct NoneEarly;

impl EarlyFiles for NoneEarly {}

/// A folder of which only names that the user gave are known cannot be listed.
pub fn unlisted(path: &Path) -> Problem {
    Problem::new(Class::Io, Operation::List, path, "only names that were given are known of this folder")
}

/// A folder of another host that is open, or what stands for the folder of sources that the user named: of those no more
/// is asked than what has no answer here.
pub trait RemoteOrigin: Debug + Send + Sync {
    fn facts(&self) -> &RemoteFacts;
    /// A name, links not followed.
    fn look_at(&self, name: &OsStr, path: &Path) -> Result<ListedEntry, Problem>;
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

    /// The host that it lies on; none of a source of this host.
    fn host(&self) -> Option<&dyn SourceHost> {
        None
    }
    /// The next names, and where those behind them begin; none at the end.
    fn list(&self, _cookie: u64, _with_attributes: bool, path: &Path) -> Result<(Vec<Name>, u64), Problem> {
        Err(unlisted(path))
    }
    /// The first names, which the next listing from the start gives again.
    fn peek(&self, path: &Path) -> Result<(Vec<Name>, u64), Problem> {
        Err(unlisted(path))
    }
    /// Opens a folder in this one.
    fn enter(&self, _name: &Name, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem> {
        Err(unlisted(path))
    }
    /// The folder as it is now, and whether its times could hide a name that is made right after this look.
    fn look_again(&self, path: &Path) -> Result<(Meta, bool), Problem> {
        Err(unlisted(path))
    }
    /// The names with what they are, where no listing told that, requested together; those below with them.
    fn look_at_all(
        &self,
        names: Vec<Name>,
        _below: &[ListStep],
        _with_attributes: bool,
    ) -> Result<Vec<Name>, Problem> {
        Ok(names)
    }
    /// Whether the folder of this name was opened before its turn.
    fn has_entered(&self, _name: &OsStr) -> bool {
        false
    }
    /// Looks at the folders of a way below this one; `tell` hears of each in turn.
    ///
    /// Errors: the session is lost, or `tell` gave one.
    fn look_below(
        &self,
        _way: &mut dyn Iterator<Item = FolderStep>,
        _path: &dyn Fn(FolderKey) -> PathBuf,
        _tell: &mut dyn FnMut(FolderKey, Result<Meta, Problem>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        Ok(())
    }
    /// Whether each file is opened by a request of its own, also a small one.
    fn opens_each(&self) -> bool {
        true
    }
    /// Whether its file comes in one stream, and not a second time.
    fn is_read_once(&self) -> bool {
        false
    }
    /// Opens files, and fetches those that are empty. What cannot be had so is requested when it is its turn.
    fn open_early(self: Arc<Self>, _files: Vec<(OsString, bool)>) -> Result<Box<dyn EarlyFiles>, Problem> {
        Ok(Box::new(NoneEarly))
    }
}
