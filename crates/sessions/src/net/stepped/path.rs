//! The path between two stepped hosts: a long one, ssh alone, a short one, or a client that forwards frames.
//!
//! Must not know: what is copied.

use super::within_ssh::SteppedSsh;
use super::*;
use crate::net::client::remote_job::relay::Forwarding;

/// Of a short path.
const SHORT_DELAY: Duration = Duration::from_millis(1);

/// Makes connections, and gives both ends.
pub(super) type ConnectionPairs = Arc<dyn Fn() -> Result<[Channel; 2], NetFault> + Send + std::marker::Sync>;

/// What lies between the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SteppedPath {
    Long,
    /// Through ssh alone: all connections are streams of one pipe.
    WithinSsh,
    /// Everything is requested.
    Short,
    /// A client that has a session with each: everything is requested.
    Relayed,
}

impl SteppedPath {
    /// Each way, of each of its parts.
    pub(super) fn delay(self) -> Duration {
        if self == SteppedPath::Short { SHORT_DELAY } else { DELAY }
    }

    /// There and back.
    pub(super) fn round_trip_ns(self) -> u64 {
        let parts = if self == SteppedPath::Relayed { 2 } else { 1 };
        2 * parts * self.delay().as_nanos() as u64
    }

    /// Something is sent before it is requested.
    pub(super) fn is_long(self) -> bool {
        matches!(self, SteppedPath::Long | SteppedPath::WithinSsh)
    }

    /// Connections between the host that writes and the one that is read, for a session.
    pub(super) fn connections(self, net: &SimNet) -> ConnectionPairs {
        let net = net.clone();
        if self != SteppedPath::WithinSsh {
            return Arc::new(move || self.connection(&net));
        }
        let ssh = SteppedSsh::new(&net);
        Arc::new(move || ssh.connection())
    }

    fn connection(self, net: &SimNet) -> Result<[Channel; 2], NetFault> {
        let pair = || -> Result<[Channel; 2], NetFault> {
            let (one, other) = net.pair();
            Ok([open(one, CancelToken::default())?, open(other, CancelToken::default())?])
        };
        let [one, other] = pair()?;
        if self != SteppedPath::Relayed {
            return Ok([one, other]);
        }
        let [onward, last] = pair()?;
        let mut forwarding = Some(Forwarding::new(other, onward, 1 << 30, &Budget::of_client(None).share())?);
        go_on_meanwhile(move || match forwarding.as_mut().map(Forwarding::step) {
            Some(Ok(went)) => went,
            Some(Err(_)) => forwarding.take().is_some(),
            None => false,
        });
        Ok([one, last])
    }
}
