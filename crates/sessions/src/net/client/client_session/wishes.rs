//! Requests that a session which this side begins sends to the other.
//!
//! Must not know: how the other side is reached, what follows from its answer.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::PoisonError;

use datapump_core::wire::session::{Begin, Direction};

use super::{is_name_of, patterns};
use crate::net::client::remote_copy::{RemoteCopy, SessionStart};
use crate::place::Place;
use crate::run::gate::LaneRange;
use crate::setup::options::{Choice, Options};
use crate::tree::backup;

/// Rules longer than this are not told for a percentage.
const COUNTED_BYTES_MAX: usize = 64 << 10;

impl RemoteCopy {
    /// The request that begins a session, behind one that was lost if there was one.
    pub(super) fn begin_request_behind(
        &self,
        start: &SessionStart<'_>,
        lane_range: Option<LaneRange>,
    ) -> Begin {
        let (way, last) = (start.way, start.last);
        let before = last.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|it| it.number);
        // What patterns stood for in the first session, they stand for in all.
        let asks_places =
            way == Direction::Pull && !self.compares && before.is_none() && patterns::are_in(&self.sources);
        Begin {
            instead_of: before,
            expands: asks_places.then_some(true),
            counts_ahead: (way == Direction::Pull && self.counting_options().is_some()).then_some(true),
            reads_on: Some(self.options.network.read_ahead != Choice::Never),
            ..self.begin_request(start, lane_range, is_name_of(last))
        }
    }

    /// The request that begins a session: places, connections, and the options that concern the other side.
    pub(super) fn begin_request(
        &self,
        start: &SessionStart<'_>,
        lane_range: Option<LaneRange>,
        is_name: bool,
    ) -> Begin {
        let way = start.way;
        let (lanes_at_first, lanes_max) = lane_range.map(|it| (it.at_first, it.most)).unzip();
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec().into();
        let path = |place: &Place| bytes(place.path().unwrap_or(Path::new("")));
        let given = &self.options;
        let options = match way {
            Direction::Push => given.clone().with(|it| it.place.target_is_name |= is_name),
            Direction::Pull => self.counting_options().unwrap_or_default().with(|it| {
                it.tuning.request_bytes = given.tuning.request_bytes;
                it.tuning.uncached = given.tuning.uncached;
                it.tuning.source_depth = given.tuning.source_depth;
                it.network.unhashed = given.network.unhashed;
                it.links.follow = given.links.follow;
                it.reporting.bill = given.reporting.bill;
                it.network.sockets = given.network.sockets.clone();
                it.measuring.far_null_bytes = given.measuring.far_null_bytes;
                it.measuring.rehearsal_bytes = given.measuring.rehearsal_bytes;
            }),
        };
        let options =
            options.with(|it| (it.limits.lanes_at_first, it.limits.lanes_max) = (lanes_at_first, lanes_max));
        let target = if way == Direction::Push { bytes(&start.remote.path) } else { Vec::new().into() };
        let sources = self.sources.iter().map(path).collect();
        Begin {
            sources,
            target,
            options: options.to_wire(),
            connections: self.lanes(),
            tells_files: Some(self.tells_files),
            asks_host: self.options.measuring.asks_host.then_some(true),
            keeps_links: self.asks_links(way).then_some(true),
            patience_ms: self.peer_timeout.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
            sources_sum: self.options.backup.is_some().then(|| backup::sum_for_others(&self.sources)),
            ..Begin::new(way)
        }
    }

    /// Whether the other side, which reads, is to give links themselves.
    pub(super) fn asks_links(&self, way: Direction) -> bool {
        way == Direction::Pull && self.options.place.keep_links
    }

    /// The options by which the other side counts its names ahead; `None` where nobody watches, or they would be too long.
    fn counting_options(&self) -> Option<Options> {
        let given = &self.options;
        let mut counted = Options::default();
        counted.selection.rules.clone_from(&given.selection.rules);
        counted.selection.one_file_system = given.selection.one_file_system;
        counted.selection.bounds = given.selection.bounds;
        counted.attributes.keep.links = given.attributes.keep.links;
        let is_asked = self.watch.is_shown() && !self.compares;
        (is_asked && counted.to_wire().len() <= COUNTED_BYTES_MAX).then_some(counted)
    }
}
