//! Bounds of what a caller may choose: a server's memory, threads and CPUs are its own.
//!
//! Must not know: places, what is copied.

use crate::net::server::serve_options::ServeOptions;
use crate::net::server::server_state::ServerState;
use crate::setup::options::{
    EngineChoice, LimitOptions, MeasuringOptions, NetworkOptions, Options, TuningOptions, WaitChoice,
};
use crate::tree::count_ahead::served_root::ServedRoot;

/// Requests in flight at an end: several times what any measured device gained from (2 to 8). Each may be a thread.
const DEPTH_MAX: u32 = 256;

/// What a server lets callers choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'server> {
    options: &'server ServeOptions,
    /// It serves its own user, who may choose as in his shell.
    is_own: bool,
    /// Lanes, one for each connection that was agreed.
    lanes: u32,
    /// To so many they may grow.
    lanes_max: u32,
}

impl<'server> Limits<'server> {
    pub(crate) fn of(state: &'server ServerState, connections: u32) -> Limits<'server> {
        let is_own = matches!(state.root, ServedRoot::User(_));
        Limits {
            options: &state.options,
            is_own,
            lanes: connections,
            lanes_max: state.options.connections_max,
        }
    }
}

/// The options of a caller as the server follows them.
pub(crate) fn bounded_by_server(options: Options, limits: Limits<'_>) -> Options {
    let options = Options {
        tuning: TuningOptions {
            lanes: Some(options.tuning.lanes.unwrap_or(limits.lanes).min(limits.lanes)),
            ..options.tuning
        },
        limits: LimitOptions {
            lanes_max: options.limits.lanes_max.map(|most| most.min(limits.lanes_max)),
            ..options.limits
        },
        network: NetworkOptions {
            sockets: options.network.sockets.or(&limits.options.sockets),
            ..options.network
        },
        ..options
    };
    if limits.is_own {
        return options;
    }
    let depth = |depth: Option<u32>| depth.map(|depth| depth.min(DEPTH_MAX));
    let most = Options::REHEARSAL_BYTES_MAX;
    Options {
        tuning: TuningOptions {
            source_depth: depth(options.tuning.source_depth),
            sink_depth: depth(options.tuning.sink_depth),
            // A thread for each request, and waits awake, are for who pays for them.
            engine: if options.tuning.engine == EngineChoice::Threads {
                EngineChoice::Auto
            } else {
                options.tuning.engine
            },
            wait: WaitChoice::Kernel,
            ..options.tuning
        },
        measuring: MeasuringOptions {
            rehearsal_bytes: options.measuring.rehearsal_bytes.map(|bytes| bytes.min(most)),
            ..options.measuring
        },
        ..options
    }
}

/// Says what a caller chose and does not get, if that is something.
pub(crate) fn left_out(asked: &Options, bounded: &Options) -> Option<String> {
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
    use crate::setup::options::{ComparisonOptions, Update};

    #[test]
    fn what_a_caller_chooses_is_bounded_by_the_server() {
        let options = ServeOptions::of(Place::null());
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
        let limits = Limits { options: &options, is_own: false, lanes: 2, lanes_max: 16 };
        let bounded = bounded_by_server(asked.clone(), limits);
        assert_eq!((bounded.tuning.engine, bounded.tuning.wait), (EngineChoice::Auto, WaitChoice::Kernel));
        assert_eq!(bounded.tuning.lanes, Some(2));
        assert_eq!((bounded.tuning.source_depth, bounded.tuning.sink_depth), (Some(DEPTH_MAX), Some(3)));
        assert_eq!(bounded.measuring.rehearsal_bytes, Some(Options::REHEARSAL_BYTES_MAX));
        assert_eq!(bounded.comparison.update, Update::Older, "what is copied is the caller's choice");
        let words = left_out(&asked, &bounded).expect("some is");
        assert!(words.ends_with(": --engine, --wait, --depth"), "{words}");
        assert_eq!(left_out(&bounded, &bounded), None);

        let own = bounded_by_server(asked, Limits { is_own: true, ..limits });
        assert_eq!(
            (own.tuning.wait, own.tuning.lanes),
            (WaitChoice::Spin, Some(2)),
            "connections are agreed by both"
        );
    }
}
