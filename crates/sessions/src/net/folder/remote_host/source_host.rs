//! The other side of a session as the host that blocks come from, and that sources lie on.
//!
//! Must not know: how requests are sent, what is done with the answers.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::walk_ahead::number_of_root;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_transport::{CancelToken, Channel, ConnectionStats, HANDSHAKE_MAX, NetFault};

use super::named_places::PlacesByName;
use super::read_ahead::ReadAhead;
use super::{RemoteFolder, RemoteHost, TripCounter};
use crate::open::held::Elsewhere;
use crate::origin::remote_facts::AheadRequest;
use crate::origin::source_host::{NamedPlace, RemoteOrigin, SourceHost};
use crate::problem::Problem;
use crate::run::block_host::BlockHost;
use crate::setup::budget::{Charge, OverBudget};
use datapump_files::disk::Meta;

impl BlockHost for RemoteHost {
    fn place(&self) -> &str {
        &self.peer.place
    }

    fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    fn trips(&self) -> &Arc<TripCounter> {
        &self.trips
    }

    fn round_trip_ns(&self) -> u64 {
        match self.round_trip_ns.load(Ordering::Relaxed) {
            u64::MAX => 0,
            ns => ns,
        }
    }

    fn names_waited(&self) -> Option<Arc<AtomicU64>> {
        self.is_long().then(|| Arc::clone(&self.names_waited_ns))
    }

    fn tells_sums(&self) -> bool {
        self.peer.reads_on
    }

    fn reads_on(&self) -> bool {
        self.peer.reads_on && self.is_long()
    }

    fn lost(&self, fault: &NetFault) -> Problem {
        RemoteHost::lost(self, fault)
    }

    fn blocks(&self) -> Result<Channel, Problem> {
        self.pools.blocks.take(Purpose::Blocks).map_err(|fault| self.lost(&fault))
    }

    fn spare_blocks(&self, is_over: &dyn Fn() -> bool) -> Option<Channel> {
        self.pools.blocks.dial_spares(Purpose::Blocks, 1);
        self.pools.blocks.take_spare(is_over)
    }
}

impl SourceHost for RemoteHost {
    fn boot(&self) -> &[u8; 16] {
        self.peer.boot.as_ref().unwrap_or(&[0; 16])
    }

    fn is_here(&self) -> bool {
        self.is_here
    }

    fn names_waited_ns(&self) -> u64 {
        self.names_waited().map_or(0, |ns| ns.load(Ordering::Relaxed))
    }

    fn ahead_stats(&self) -> Option<ConnectionStats> {
        self.ahead.get().map(ReadAhead::connection_stats)
    }

    fn dropped_bytes(&self) -> u64 {
        self.ahead.get().map_or(0, ReadAhead::dropped_bytes)
    }

    /// Has the other host send ahead what a walk of so many places meets. Where that is refused, everything is requested.
    fn read_ahead(&self, places: usize, request: AheadRequest) {
        self.places.store(u32::try_from(places).unwrap_or(u32::MAX), Ordering::Relaxed);
        let Some(pool) = &self.pools.ahead else { return };
        let begun = pool.take_within(Purpose::Ahead, HANDSHAKE_MAX).and_then(|mut channel| {
            // Where it is refused everything is requested.
            channel.within(HANDSHAKE_MAX, Channel::receive_reply)?;
            let was_requested = self.peer.requested.is_some();
            let request = if request.sums && !self.tells_sums() { request.of_names() } else { request };
            ReadAhead::begin(
                self,
                channel,
                places as u32,
                self.peer.requested.unwrap_or(request),
                was_requested,
            )
        });
        if let Ok(Some(ahead)) = begun {
            let _ = self.ahead.set(ahead);
        }
    }

    fn charge(&self, bytes: usize) -> Result<Charge, OverBudget> {
        match self.share.charge(bytes, 0) {
            Err(_) if self.give_up_ahead() => self.share.charge(bytes, 0),
            charged => charged,
        }
    }

    fn charge_beside(&self, bytes: usize, besides: usize) -> Result<Charge, OverBudget> {
        self.share().charge_beside(bytes, besides)
    }

    fn look(&self, place: u32, path: &Path) -> Result<Option<Meta>, Problem> {
        RemoteHost::look_at_place(self, place, path)
    }

    fn is_partial(&self, place: u32, path: &Path) -> Result<bool, Problem> {
        match self.request_one(&PeerRequest::Look(place), path)?.0 {
            Answer::Meta { is_partial, .. } => Ok(is_partial == Some(true)),
            _ => Ok(false),
        }
    }

    fn link_target(self: Arc<RemoteHost>, place: u32, path: &Path) -> Result<Option<OsString>, Problem> {
        let folder = RemoteFolder::of_link(&self, place, path)?;
        Ok(folder.look_at(path.file_name().unwrap_or_default(), path)?.points_to)
    }

    fn link_target_id(&self, place: u32, path: &Path) -> Result<Option<(u64, u64)>, Problem> {
        if !self.is_here {
            return Ok(None);
        }
        match self.request_one(&PeerRequest::Look(place), path)?.0 {
            Answer::Meta { named, .. } => Ok(named.map(|named| (named.device, named.inode))),
            _ => Err(self.unexpected()),
        }
    }

    fn root(self: Arc<RemoteHost>, place: u32, path: &Path) -> Result<Arc<dyn RemoteOrigin>, Problem> {
        let ask = |folder| PeerRequest::Root { folder, place };
        Ok(self.open_folder(Some(number_of_root(place)), ask, path)?)
    }

    fn named_places(self: Arc<RemoteHost>, places: HashMap<OsString, NamedPlace>) -> Arc<dyn RemoteOrigin> {
        Arc::new(PlacesByName::new(self, places))
    }

    fn open_place(self: Arc<RemoteHost>, place: u32, path: &Path) -> Result<Arc<dyn Elsewhere>, Problem> {
        Ok(Arc::new(RemoteHost::open_place(&self, place, path)?))
    }
}
