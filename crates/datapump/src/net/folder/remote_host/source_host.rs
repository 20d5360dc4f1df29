//! The other side of a session as the host that sources lie on, and its folders as origins of trees.
//!
//! Must not know: how requests are sent, what is done with the answers.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use datapump_transport::{CancelToken, Channel, ConnectionStats, NetFault};

use super::named_places::PlacesByName;
use super::{OpenedEarly, RemoteFile, RemoteFolder, RemoteHost, SmallFile, TripCounter};
use crate::open::held::Attributes;
use crate::open::held::{Elsewhere, Held};
use crate::problem::Problem;
use crate::run::block_host::BlockHost;
use crate::setup::budget::{Charge, OverBudget};
use crate::target::listed::{ListedEntry, Name};
use crate::tree::folder::origin::SmallRead;
use crate::tree::folder::origin::remote_facts::{AheadRequest, RemoteFacts};
use crate::tree::folder::origin::source_host::{EarlyFiles, NamedPlace, RemoteOrigin, SourceHost};
use crate::tree::folder::visited::{FolderKey, FolderStep};
use datapump_core::selection::ListStep;
use datapump_files::disk::{FileKind, Meta};

impl BlockHost for RemoteHost {
    fn place(&self) -> &str {
        &self.place
    }

    fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    fn trips(&self) -> &Arc<TripCounter> {
        &self.trips
    }

    fn round_trip_ns(&self) -> u64 {
        RemoteHost::round_trip_ns(self)
    }

    fn names_waited(&self) -> Option<Arc<AtomicU64>> {
        RemoteHost::names_waited(self)
    }

    fn tells_sums(&self) -> bool {
        RemoteHost::tells_sums(self)
    }

    fn reads_on(&self) -> bool {
        RemoteHost::reads_on(self)
    }

    fn lost(&self, fault: &NetFault) -> Problem {
        RemoteHost::lost(self, fault)
    }

    fn blocks(&self) -> Result<Channel, Problem> {
        RemoteHost::blocks(self)
    }

    fn spare_blocks(&self, is_over: &dyn Fn() -> bool) -> Option<Channel> {
        RemoteHost::spare_blocks(self, is_over)
    }
}

impl SourceHost for RemoteHost {
    fn boot(&self) -> &[u8; 16] {
        &self.boot
    }

    fn is_here(&self) -> bool {
        self.is_here
    }

    fn names_waited_ns(&self) -> u64 {
        RemoteHost::names_waited_ns(self)
    }

    fn ahead_stats(&self) -> Option<ConnectionStats> {
        RemoteHost::ahead_stats(self)
    }

    fn dropped_bytes(&self) -> u64 {
        RemoteHost::dropped_bytes(self)
    }

    fn read_ahead(&self, places: usize, request: AheadRequest) {
        RemoteHost::read_ahead(self, places, request);
    }

    fn charge(&self, bytes: usize) -> Result<Charge, OverBudget> {
        RemoteHost::charge(self, bytes)
    }

    fn charge_beside(&self, bytes: usize, besides: usize) -> Result<Charge, OverBudget> {
        self.share().charge_beside(bytes, besides)
    }

    fn look(&self, place: u32, path: &Path) -> Result<Option<Meta>, Problem> {
        RemoteHost::look(self, place, path)
    }

    fn is_partial(&self, place: u32, path: &Path) -> Result<bool, Problem> {
        RemoteHost::is_partial(self, place, path)
    }

    fn link_target(self: Arc<RemoteHost>, place: u32, path: &Path) -> Result<Option<OsString>, Problem> {
        RemoteHost::link_target(&self, place, path)
    }

    fn link_target_id(&self, place: u32, path: &Path) -> Result<Option<(u64, u64)>, Problem> {
        RemoteHost::link_target_id(self, place, path)
    }

    fn root(self: Arc<RemoteHost>, place: u32, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem> {
        Ok(RemoteHost::root(&self, place, path)?)
    }

    fn named_places(self: Arc<RemoteHost>, places: HashMap<OsString, NamedPlace>) -> Arc<dyn RemoteOrigin> {
        Arc::new(PlacesByName::new(self, places))
    }

    fn open_place(self: Arc<RemoteHost>, place: u32, path: &Path) -> Result<Arc<dyn Elsewhere>, Problem> {
        Ok(Arc::new(RemoteHost::open_place(&self, place, path)?))
    }
}

impl EarlyFiles for OpenedEarly {}

impl RemoteOrigin for RemoteFolder {
    fn facts(&self) -> &RemoteFacts {
        &self.facts
    }

    fn host(&self) -> Option<&dyn SourceHost> {
        Some(&*self.remote_host)
    }

    fn list(&self, cookie: u64, with_attributes: bool, path: &Path) -> Result<(Vec<Name>, u64), Problem> {
        RemoteFolder::list(self, cookie, with_attributes, path)
    }

    fn peek(&self, path: &Path) -> Result<(Vec<Name>, u64), Problem> {
        RemoteFolder::peek(self, path)
    }

    fn enter(&self, name: &Name, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem> {
        Ok(RemoteFolder::enter(self, name, path)?)
    }

    fn look_again(&self, path: &Path) -> Result<(Meta, bool), Problem> {
        RemoteFolder::look_again(self, path)
    }

    fn look_at(&self, name: &OsStr, path: &Path) -> Result<ListedEntry, Problem> {
        RemoteFolder::look_at(self, name, path)
    }

    fn look_at_all(
        &self,
        names: Vec<Name>,
        below: &[ListStep],
        with_attributes: bool,
    ) -> Result<Vec<Name>, Problem> {
        RemoteFolder::look_at_all(self, names, below, with_attributes)
    }

    fn has_entered(&self, name: &OsStr) -> bool {
        RemoteFolder::has_entered(self, name)
    }

    fn look_below(
        &self,
        way: &mut dyn Iterator<Item = FolderStep>,
        path: &dyn Fn(FolderKey) -> PathBuf,
        tell: &mut dyn FnMut(FolderKey, Result<Meta, Problem>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.remote_host.look_below(self, way, path, tell)
    }

    fn attributes_of(&self, name: &OsStr, path: &Path) -> Result<Option<Attributes>, Problem> {
        RemoteFolder::attributes_of(self, name, path)
    }

    fn attributes_of_file(self: Arc<RemoteFolder>, name: &OsStr, path: &Path) -> Result<Attributes, Problem> {
        let mut file = self.open(name, path)?;
        Ok(std::mem::take(&mut file.attributes))
    }

    fn open_file(
        self: Arc<RemoteFolder>,
        name: &Name,
        listed: &Meta,
        path: &Path,
        small: SmallRead,
    ) -> Result<(Held, Meta), Problem> {
        let is_empty = listed.kind == FileKind::Regular && listed.size_bytes == 0 && !self.facts.made_up;
        if is_empty && let Some((file, meta)) = self.empty_file(name, listed)? {
            return Ok((Held::There(Arc::new(file)), meta));
        }
        // Holes are told only of a file that is opened.
        let is_small = (1..=u64::from(small.bytes_max)).contains(&listed.size_bytes);
        let is_whole = small.is_whole || listed.allocated_bytes >= listed.size_bytes;
        let len_max = if small.any_length { small.bytes_max } else { 0 };
        if listed.kind == FileKind::Regular && is_small && is_whole {
            let (follows, name) = (name.follows().cloned(), name.name.clone());
            let (told, charge) = Default::default();
            let small = SmallFile { folder: self, name, follows, len_max, told, charge };
            return Ok((Held::There(Arc::new(RemoteFile::Small(small))), *listed));
        }
        let file = self.open(&name.name, path)?;
        let meta = file.meta;
        Ok((Held::There(Arc::new(RemoteFile::Open(file))), meta))
    }

    fn opens_each(&self) -> bool {
        false
    }

    fn open_early(
        self: Arc<RemoteFolder>,
        files: Vec<(OsString, bool)>,
    ) -> Result<Box<dyn EarlyFiles>, Problem> {
        Ok(Box::new(RemoteFolder::open_early(&self, files)?))
    }
}
