//! Copies and comparisons of which one side lies on another host.
//!
//! Must not know: which command it is for, how hosts talk.

use datapump::{Event, Fill, Host, Job, Options, PathFacts, Place, Problem, Remote, Report, Shell, WayIn};

use crate::args::{HostArguments, Insecure, ReachArguments};
use crate::run::Runner;
use crate::run::ticket::ticket;

/// Whether a place lies on another host.
pub fn is_meant<'place>(mut places: impl Iterator<Item = &'place Place>) -> bool {
    places.any(|place| matches!(place, Place::Remote(_)))
}

fn is_over_ssh(place: &Place) -> bool {
    matches!(place, Place::Remote(Remote { host: Host::Ssh(_), .. }))
}

/// Refuses --within-ssh that was typed where ssh reaches none of the places. An error is one of usage.
pub fn refuse_within_ssh<'place>(
    reach: &ReachArguments,
    mut places: impl Iterator<Item = &'place Place>,
) -> Result<(), String> {
    if !reach.typed.within_ssh || places.any(is_over_ssh) {
        return Ok(());
    }
    let words = "--within-ssh sends all data through ssh, and ssh reaches none of the places; name one as HOST:PATH, \
                 or leave it out";
    Err(words.into())
}

/// Performs the job. `memory_bytes`: most memory that the other host may make this one hold. An error is one of usage.
pub fn perform(
    host: &HostArguments,
    job: Job,
    memory_bytes: Option<u64>,
    runner: &Runner<'_>,
    events: &(dyn Fn(Event) + Sync),
) -> Result<Report, String> {
    let job = RemoteCaller::new(host, job.places())?.let_in(job).memory_bytes(memory_bytes);
    Ok(runner.watched(|watch, stop| job.stop(stop).watch(watch).run_reported(events)))
}

/// Looks at the path to a place. An error is one of usage.
pub fn look(
    reach: &ReachArguments,
    place: Place,
    runner: &Runner<'_>,
) -> Result<(PathFacts, Option<Problem>), String> {
    Ok(measured(reach, place, runner)?.look_at_path(&|event| runner.output.event(event)))
}

/// A place that is not copied from, only measured. An error is one of usage.
pub fn measured(reach: &ReachArguments, place: Place, runner: &Runner<'_>) -> Result<Job, String> {
    refuse_within_ssh(reach, std::iter::once(&place))?;
    let way_in = way_in(reach, std::iter::once(&place))?;
    let unhashed = reach.insecure.is_some_and(Insecure::is_unhashed);
    let job = Job::copy(vec![place], Place::Null { bytes: None, fill: Fill::Noise })
        .options(Options::default().with(|it| it.network.unhashed = unhashed))
        .tells_files(false)
        .stop(runner.stop())
        .way_in(way_in);
    Ok(reach.peer_timeout.into_iter().fold(job, Job::peer_timeout))
}

/// A caller that is let in, as often as it calls.
#[derive(Debug)]
pub struct RemoteCaller<'host> {
    host: &'host HostArguments,
    way_in: WayIn,
}

impl<'host> RemoteCaller<'host> {
    /// Reads the ticket, where one is needed. An error is one of usage.
    pub fn new<'place>(
        host: &'host HostArguments,
        places: impl Iterator<Item = &'place Place>,
    ) -> Result<RemoteCaller<'host>, String> {
        Ok(RemoteCaller { host, way_in: way_in(&host.reach, places)? })
    }

    /// The job with what lets it in, as the flags have it.
    pub fn let_in(&self, job: Job) -> Job {
        let host = self.host;
        let unhashed = host.reach.insecure.is_some_and(Insecure::is_unhashed);
        let options = job.asked().clone().with(|it| it.network.unhashed = unhashed);
        let connections = host.connections.or(options.tuning.lanes);
        let job = job.options(options).way_in(self.way_in.clone()).connections(connections);
        let job = host.reach.peer_timeout.into_iter().fold(job, Job::peer_timeout);
        host.retry_for.into_iter().fold(job, Job::retry_for)
    }
}

/// What lets us in where the places are.
fn way_in<'place>(
    host: &ReachArguments,
    mut places: impl Iterator<Item = &'place Place>,
) -> Result<WayIn, String> {
    match (places.any(is_over_ssh), host.insecure) {
        (true, Some(_)) => Err("--insecure is for pump:// only; ssh encrypts anyway".into()),
        (true, None) => {
            let shell = Shell::new(&host.ssh, &host.remote_bin)?;
            Ok(WayIn::Ssh(Shell { carries_all: host.within_ssh, ..shell }))
        }
        (false, Some(insecure)) if insecure.is_open() => Ok(WayIn::Open),
        (false, _) => ticket(host.ticket_file.as_deref()).map(WayIn::Ticket),
    }
}
