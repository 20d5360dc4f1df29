//! Flags that several commands share: speed, and what is printed.
//!
//! Must not know: the commands.

use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, value_parser};
use datapump::units::{parse_bytes, parse_rate};
use datapump::{Choice, EngineChoice, InWords, Options, TuningOptions, WaitChoice};

use crate::args::{OUTPUT, TUNING};

/// Reads one of a choice's words; help lists them with what they mean.
pub(in crate::args) fn choice<T: InWords + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|(_, word, means)| PossibleValue::new(*word).help(*means));
    PossibleValuesParser::new(values).try_map(|word| T::of_word(&word))
}

/// How requests are made.
#[derive(Debug, Args)]
pub struct TuningArguments {
    /// Size of one request
    ///
    /// A multiple of 1KiB from 1KiB to 64MiB, with its unit. Default: by a measured rule (-v prints it).
    ///
    /// Example: pump copy --request-size 1MiB in.bin out.bin
    #[arg(long, value_name = "SIZE", env = "PUMP_REQUEST_SIZE", help_heading = TUNING)]
    #[arg(value_parser = parse_request_size)]
    pub request_size: Option<u32>,

    /// Requests in flight at each end
    ///
    /// A count from 1 to 4096, for both ends; --source-depth and --sink-depth come before it. Memory is lanes times
    /// both depths times the request size. Default: by a measured rule (-v prints it).
    ///
    /// Example: pump copy --depth 4 in.bin out.bin
    #[arg(long, value_name = "COUNT", env = "PUMP_DEPTH", help_heading = TUNING)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(Options::DEPTH_MAX)))]
    pub depth: Option<u32>,

    /// Requests in flight at the source
    ///
    /// A count from 1 to 4096. Default: --depth.
    ///
    /// Example: pump copy --source-depth 8 --sink-depth 2 in.bin out.bin
    #[arg(long, value_name = "COUNT", env = "PUMP_SOURCE_DEPTH", help_heading = TUNING)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(Options::DEPTH_MAX)))]
    pub source_depth: Option<u32>,

    /// Requests in flight at the sink
    ///
    /// A count from 1 to 4096. Default: --depth.
    ///
    /// Example: pump copy --sink-depth 1 in.bin /mnt/spinning/
    #[arg(long, value_name = "COUNT", env = "PUMP_SINK_DEPTH", help_heading = TUNING)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(Options::DEPTH_MAX)))]
    pub sink_depth: Option<u32>,

    /// Parallel copy loops, each a thread with its own engine
    ///
    /// A count from 1 to 256. Default: 1; for folders two for each CPU, 2 to 8; with another host 2.
    ///
    /// Example: pump copy --lanes 2 in.bin /mnt/raid/
    #[arg(long, value_name = "COUNT", env = "PUMP_LANES", help_heading = TUNING)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(Options::LANES_MAX)))]
    pub lanes: Option<u32>,

    /// What performs the requests
    ///
    /// An engine that this host does not offer is replaced by the next one, and the report says so; `pump doctor`
    /// says why. Default: auto.
    ///
    /// Example: pump copy --engine threads in.bin out.bin
    #[arg(long, value_name = "NAME", env = "PUMP_ENGINE", help_heading = TUNING)]
    #[arg(value_parser = choice::<EngineChoice>(), default_value_t)]
    pub engine: EngineChoice,

    /// How each lane waits for the next completion
    ///
    /// To spin spares the time of being woken, which counts where single requests take microseconds, and costs a CPU
    /// for each lane. The inline engine never waits. Default: kernel.
    ///
    /// Example: pump copy --wait spin --depth 1 in.bin out.bin
    #[arg(long, value_name = "HOW", env = "PUMP_WAIT", help_heading = TUNING)]
    #[arg(value_parser = choice::<WaitChoice>(), default_value_t)]
    pub wait: WaitChoice,

    /// Whether requests go past the page cache
    ///
    /// Direct I/O spares the CPU a copy and is the faster way for large files that are not cached. Default: auto.
    ///
    /// Example: pump copy --direct=never in.bin out.bin
    #[arg(long, value_name = "WHEN", env = "PUMP_DIRECT", help_heading = TUNING)]
    #[arg(value_parser = choice::<Choice>(), default_value_t)]
    pub direct: Choice,

    /// Most bytes per second
    ///
    /// A size (per second), as in 100MiB, or bits, as in 90Mbit; 0 is no limit, as for rsync. Default: no limit.
    ///
    /// Example: pump copy --bwlimit 50MB big.bin /backup/
    #[arg(long, value_name = "RATE", env = "PUMP_BWLIMIT", help_heading = TUNING)]
    #[arg(value_parser = parse_limit)]
    pub bwlimit: Option<u64>,
}

/// The flags of the output.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// Say what is done, and what was decided and why
    ///
    /// Each name that is copied, made, linked, backed up, deleted, gets attributes or is left, and why; engine,
    /// request size, depths and direct I/O. On standard error. Default: off.
    ///
    /// Example: pump copy -v in.bin out.bin
    #[arg(short, long, env = "PUMP_VERBOSE", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub verbose: bool,

    /// Print problems only: neither progress nor a report
    ///
    /// Default: off.
    ///
    /// Example: pump copy -q in.bin out.bin
    #[arg(short, long, env = "PUMP_QUIET", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub quiet: bool,

    /// Print all figures at the end
    ///
    /// Requests, time by stage, CPU time: the lines that -v ends with, and the bottleneck of a copy that took less than
    /// a second, too. Default: off.
    ///
    /// Example: pump copy --stats photos/ /backup/photos
    #[arg(long, env = "PUMP_STATS", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub stats: bool,

    /// When progress is shown
    ///
    /// On a terminal it is a bar, elsewhere a line each second. --progress alone means always. Default: auto, which is
    /// a bar on a terminal and nothing elsewhere: cron and logs get problems and the report. With --json it is an event
    /// each second.
    ///
    /// Example: pump copy --progress=never in.bin out.bin
    #[arg(long, value_name = "WHEN", env = "PUMP_PROGRESS", help_heading = OUTPUT)]
    #[arg(value_parser = choice::<Choice>())]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "always", default_value = "auto")]
    pub progress: Choice,

    /// Print events as JSON, one object a line, the last one a report
    ///
    /// On standard output, in the form of schema/events.schema.json. Default: off.
    ///
    /// Example: pump copy --json in.bin out.bin | tail -n 1
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

impl TuningArguments {
    /// What the library is asked for; the more specific depth wins.
    pub fn options(&self) -> Options {
        Options {
            tuning: TuningOptions {
                request_bytes: self.request_size,
                source_depth: self.source_depth.or(self.depth),
                sink_depth: self.sink_depth.or(self.depth),
                lanes: self.lanes,
                engine: self.engine,
                wait: self.wait,
                direct: self.direct,
                bytes_per_second: self.bwlimit.filter(|rate| *rate > 0),
                ..TuningOptions::default()
            },
            ..Options::default()
        }
    }
}

/// Reads `--request-size`; its limits are the library's.
pub(in crate::args) fn parse_request_size(text: &str) -> Result<u32, String> {
    let bytes = parse_bytes(text)?;
    let small = u32::try_from(bytes).unwrap_or(u32::MAX);
    Options::default()
        .with(|it| {
            it.tuning.request_bytes = Some(small);
            it.tuning.source_depth = Some(1);
            it.tuning.sink_depth = Some(1);
        })
        .check()?;
    Ok(small)
}

/// Reads `--bwlimit`; 0 is no limit, and what is less than a byte is no 0.
pub(crate) fn parse_limit(text: &str) -> Result<u64, String> {
    let rate = if text == "0" { 0 } else { parse_rate(text)? };
    if text.contains(|letter: char| ('1'..='9').contains(&letter)) {
        Options::default().with(|it| it.tuning.bytes_per_second = Some(rate)).check()?;
    }
    Ok(rate)
}
