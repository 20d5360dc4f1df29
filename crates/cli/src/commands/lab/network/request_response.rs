//! `pump lab request-response`: answers of a server, counted in round trips.
//!
//! Must not know: how answers are requested, what rounds are.

use datapump::{Host, Place, Remote, RequestSeries};
use datapump_lab::request_response::request_response as measure;

use super::udp::show_outcome;
use crate::args::LabRequestResponseArguments;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::progress::Shown;
use crate::run::Runner;
use crate::run::remote;

/// Measures. Gives the exit status.
pub fn request_response(arguments: &LabRequestResponseArguments, output: &Output) -> i32 {
    let place = match Place::parse(&arguments.place) {
        Ok(place @ Place::Remote(Remote { host: Host::Served(_), .. })) => place,
        Ok(other) => return output.usage(format!("'{other}' is no server; write pump://HOST:PORT/")),
        Err(error) => return output.usage(error.to_string()),
    };
    let runner = Runner::new(output, Shown::Nothing);
    let job = match remote::measured(&arguments.reach, place, &runner) {
        Ok(job) => job,
        Err(message) => return output.usage(message),
    };
    let &LabRequestResponseArguments { answer_size, events, depth, idle, .. } = arguments;
    let series = RequestSeries { answer_bytes: answer_size, count: events, depth, idle };
    let outcome = measure(job, series, &|event| output.event(event));
    show_outcome(outcome, &|figures| EventLine::RequestResponse(figures), &runner.stop(), output)
}
