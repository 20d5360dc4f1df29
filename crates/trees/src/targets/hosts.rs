//! What the sources of a copy are, on this host or on others.
//!
//! Must not know: where they go.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump_transport::WebPatience;

use crate::origin::source_host::SourceHost;
use crate::place::{Place, web};
use crate::problem::{Operation, Problem};
use datapump_files::disk::{Disk, Meta};
use datapump_files::followed::named_link;

/// Where sources are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hosts<'job> {
    pub(crate) disk: &'job Disk,
    pub(crate) remote_host: Option<&'job Arc<dyn SourceHost>>,
    /// Symbolic links in the place of targets are not followed, and only files and folders are written.
    pub(crate) is_confined: bool,
    /// How long a source is asked for that is not to be had now.
    pub(crate) patience: WebPatience,
    pub(crate) stop: &'job Arc<AtomicBool>,
    /// A symbolic link that is named here is itself the source.
    pub(crate) keeps_links: bool,
    /// A pipe that is named here is made at the target, and not read.
    pub(crate) keeps_pipes: bool,
}

impl Hosts<'_> {
    /// What a source is that is named by a path, links followed unless they are kept; `None` for streams and null.
    pub(crate) fn meta(&self, number: u32, source: &Place) -> Option<Result<Meta, Problem>> {
        match (source, self.remote_host) {
            (Place::Path(path), _) => {
                let link = self.keeps_links.then(|| named_link(path)).flatten();
                let found = link.map_or_else(|| self.disk.metadata(path), Ok);
                Some(found.map_err(|errno| Problem::system(Operation::Open, path, errno.0)))
            }
            (Place::Remote(remote), Some(remote_host)) => remote_host.look(number, &remote.path).transpose(),
            (Place::Remote(_), None) => Some(Err(Problem::usage(format!(
                "'{source}' is on another host, and files of this host alone are read here; a local path with a colon \
                 is written ./{source}"
            )))),
            (Place::Web(web), _) => Some(web.open(self.patience, self.stop).map(|file| web::meta(&file))),
            (Place::Stripe(stripe), _) => Some(stripe.source(self.disk).map(|source| source.meta())),
            (Place::Stream | Place::Null { .. }, _) => None,
        }
    }
}
