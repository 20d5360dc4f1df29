//! Bounds of what a caller may choose: a server's memory, threads and CPUs are its own.
//!
//! Must not know: places, what is copied.

use crate::net::server::serve_options::ServeOptions;
use crate::setup::options::{EngineChoice, Options, WaitChoice};

/// Requests in flight at an end: several times what any measured device gained from (2 to 8). Each may be a thread.
const DEPTH_MAX: u32 = 256;

/// The options of a caller as the server follows them, with so many lanes, one for each connection that was agreed.
/// `is_own`: it serves its own user, who may choose as in his shell.
pub(crate) fn bounded_by_server(
    mut options: Options,
    server: &ServeOptions,
    is_own: bool,
    lanes: u32,
) -> Options {
    options.tuning.lanes = Some(options.tuning.lanes.unwrap_or(lanes).min(lanes));
    options.limits.lanes_max = options.limits.lanes_max.map(|most| most.min(server.connections_max));
    options.network.sockets = options.network.sockets.or(&server.sockets);
    if is_own {
        return options;
    }
    let depth = |depth: Option<u32>| depth.map(|depth| depth.min(DEPTH_MAX));
    let tuning = &mut options.tuning;
    (tuning.source_depth, tuning.sink_depth) = (depth(tuning.source_depth), depth(tuning.sink_depth));
    // A thread for each request, and waits awake, are for who pays for them.
    if tuning.engine == EngineChoice::Threads {
        tuning.engine = EngineChoice::Auto;
    }
    tuning.wait = WaitChoice::Kernel;
    let rehearsed = options.measuring.rehearsal_bytes;
    options.measuring.rehearsal_bytes = rehearsed.map(|bytes| bytes.min(Options::REHEARSAL_BYTES_MAX));
    options
}

/// Names the flags that a client gave and this server does not follow, if there are any. Lanes, which are agreed as
/// connections, and a bounded rehearsal are not named.
pub(crate) fn ignored_flags_notice(asked: &Options, bounded: &Options) -> Option<String> {
    let chosen = [
        ("--engine", asked.tuning.engine != bounded.tuning.engine),
        ("--wait", asked.tuning.wait != bounded.tuning.wait),
        (
            "--depth",
            (asked.tuning.source_depth, asked.tuning.sink_depth)
                != (bounded.tuning.source_depth, bounded.tuning.sink_depth),
        ),
    ];
    let flags: Vec<&str> = chosen.into_iter().filter(|(_, differs)| *differs).map(|(flag, _)| flag).collect();
    let words = || format!("the server keeps to its own limits; not followed: {}", flags.join(", "));
    (!flags.is_empty()).then(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::setup::options::{ComparisonOptions, MeasuringOptions, TuningOptions, Update};

    #[test]
    fn what_a_caller_chooses_is_bounded_by_the_server() {
        let server = ServeOptions::for_place(Place::null());
        let asked = Options {
            tuning: TuningOptions {
                engine: EngineChoice::Threads,
                wait: WaitChoice::Spin,
                lanes: Some(200),
                source_depth: Some(4096),
                sink_depth: Some(3),
                ..TuningOptions::default()
            },
            measuring: MeasuringOptions { rehearsal_bytes: Some(u64::MAX), ..MeasuringOptions::default() },
            comparison: ComparisonOptions { update: Update::Older, ..ComparisonOptions::default() },
            ..Options::default()
        };
        let bounded = bounded_by_server(asked.clone(), &server, false, 2);
        assert_eq!((bounded.tuning.engine, bounded.tuning.wait), (EngineChoice::Auto, WaitChoice::Kernel));
        assert_eq!(bounded.tuning.lanes, Some(2));
        assert_eq!((bounded.tuning.source_depth, bounded.tuning.sink_depth), (Some(DEPTH_MAX), Some(3)));
        assert_eq!(bounded.measuring.rehearsal_bytes, Some(Options::REHEARSAL_BYTES_MAX));
        assert_eq!(bounded.comparison.update, Update::Older, "what is copied is the caller's choice");
        let words = ignored_flags_notice(&asked, &bounded).expect("some is");
        assert!(words.ends_with(": --engine, --wait, --depth"), "{words}");
        assert_eq!(ignored_flags_notice(&bounded, &bounded), None);

        let own = bounded_by_server(asked, &server, true, 2);
        assert_eq!(
            (own.tuning.wait, own.tuning.lanes),
            (WaitChoice::Spin, Some(2)),
            "connections are agreed by both"
        );
    }
}
