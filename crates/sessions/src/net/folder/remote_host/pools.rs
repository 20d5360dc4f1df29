//! The connections of a session, by what they are for.
//!
//! Must not know: what is requested over them.

use std::sync::Arc;

use datapump_core::wire::hello::Purpose;
use datapump_transport::Pool;

/// Where its connections come from.
#[derive(Debug)]
pub(crate) struct Pools {
    pub(crate) names: Arc<Pool>,
    pub(crate) blocks: Arc<Pool>,
    /// The path is so long that names and small files come before they are requested.
    pub(crate) ahead: Option<Arc<Pool>>,
}

/// Connections of a session, by what they are for.
pub(crate) struct PurposePools([Arc<Pool>; 3]);

impl PurposePools {
    pub(crate) fn new(pool: impl Fn() -> Pool) -> PurposePools {
        PurposePools([0; 3].map(|_| Arc::new(pool())))
    }

    pub(crate) fn of(&self, purpose: Purpose) -> &Arc<Pool> {
        match purpose {
            Purpose::Names | Purpose::Control => &self.0[0],
            Purpose::Blocks => &self.0[1],
            Purpose::Ahead => &self.0[2],
        }
    }

    /// For the side that requests. `ahead`: something comes without a request.
    pub(crate) fn pools(&self, ahead: bool) -> Pools {
        let of = |purpose| Arc::clone(self.of(purpose));
        let ahead = ahead.then(|| of(Purpose::Ahead));
        Pools { names: of(Purpose::Names), blocks: of(Purpose::Blocks), ahead }
    }

    /// Nobody requests any more: the other side waits for that.
    pub(crate) fn close(&self) {
        self.0.iter().for_each(|pool| pool.close());
    }
}
