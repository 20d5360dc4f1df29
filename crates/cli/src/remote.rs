//! Copies and comparisons of which one side lies on another host.
//!
//! Must not know: which command it is for, how hosts talk.

use datapump::{Event, Host, Options, Place, Remote, RemoteCopy, Report, Shell, WayIn};

use crate::args::{HostArguments, Insecure};
use crate::run::Runner;
use crate::ticket::ticket;

/// What is to be done.
#[derive(Debug)]
pub struct Wish {
    /// Where from.
    pub sources: Vec<Place>,
    /// Where to.
    pub target: Place,
    /// What is asked besides.
    pub options: Options,
    /// Nothing is written.
    pub compares: bool,
    /// Each file is told.
    pub tells_files: bool,
}

/// Whether a place lies on another host.
pub fn is_meant<'place>(mut places: impl Iterator<Item = &'place Place>) -> bool {
    places.any(|place| matches!(place, Place::Remote(_)))
}

/// Does it. An error is one of usage.
pub fn perform(
    host: &HostArguments,
    wish: Wish,
    runner: &Runner<'_>,
    events: &(dyn Fn(Event) + Sync),
) -> Result<Report, String> {
    let way_in = way_in(host, wish.sources.iter().chain([&wish.target]))?;
    let unhashed = host.insecure.is_some_and(Insecure::is_unhashed);
    let Wish { sources, target, options, compares, tells_files } = wish;
    Ok(runner.watched(|watch, stop| {
        let copy = RemoteCopy {
            connections: host.connections.or(options.lanes),
            peer_timeout: host.peer_timeout,
            retry_for: host.retry_for,
            options: Options { unhashed, ..options },
            tells_files,
            sources,
            target,
            compares,
            way_in,
            stop,
            watch,
        };
        copy.run(events)
    }))
}

/// What lets us in where the places are.
fn way_in<'place>(
    host: &HostArguments,
    mut places: impl Iterator<Item = &'place Place>,
) -> Result<WayIn, String> {
    let is_over_ssh = |place: &Place| matches!(place, Place::Remote(Remote { host: Host::Ssh(_), .. }));
    match (places.any(is_over_ssh), host.insecure) {
        (true, Some(_)) => Err("--insecure is for pump:// only; ssh encrypts anyway".into()),
        (true, None) => Shell::new(&host.ssh, &host.remote_bin).map(WayIn::Ssh),
        (false, Some(insecure)) if insecure.is_open() => Ok(WayIn::Open),
        (false, _) => ticket(host.ticket_file.as_deref()).map(WayIn::Ticket),
    }
}
