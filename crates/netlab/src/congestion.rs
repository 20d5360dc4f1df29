//! Congestion control in simulated time: how the window of each stack grows with acknowledgements
//! and shrinks at losses, and what that makes of a path: its mean at a loss rate, the time until it is back, the shares
//! of several flows, an hour of a long fat path.
//!
//! A window is stepped per acknowledgement (a thousandth of a round trip at a time where it is larger than that and
//! nothing else happens). A path is one bottleneck with a queue that drops what it cannot hold, and a
//! constant time there and back for each flow; time is simulated, so that the same case gives the same figures on every
//! machine.
//!
//! Must not know: sockets, how results are shown.

pub mod bottleneck;
mod flow;
mod forms;
mod limits;
mod network;
mod path;
mod recovery;
mod response;
mod sharing;
#[cfg(test)]
mod tests;
mod window;

pub use forms::{
    answer_rounds, buffer_needed_bytes, jain_index, limited_by_buffer_bytes_per_s, recovery_rounds,
    reno_recovery_s, response_segments, slow_start_rounds, with_overhead_bytes_per_s,
};
pub use path::{PathCase, PathEnds, PathOutcome, PathSample, simulate_path};
pub use recovery::{RecoveryCase, RecoveryOutcome, simulate_recovery};
pub use response::{ResponseCase, ResponseOutcome, simulate_response};
pub use sharing::{Region, SharingCase, SharingOutcome, simulate_sharing};
pub use window::highspeed::{
    HighSpeedStep, decrease as highspeed_decrease, increase as highspeed_increase, table as highspeed_table,
};

/// A way to control congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stack {
    /// A segment more in each round trip, half at a loss (RFC 5681).
    Reno,
    /// More of both the larger the window, by the formulas of RFC 3649.
    HighSpeed,
    /// The same by the table of RFC 3649, appendix B, as the kernel has it.
    HighSpeedTable,
    /// 0.01 of a segment for each acknowledgement, seven eighths at a loss (Kelly, *Scalable TCP*, 2003).
    Scalable,
    /// By the time since the last loss (RFC 9438).
    Cubic,
}

impl Stack {
    /// Every stack.
    pub const ALL: [Stack; 5] =
        [Stack::Reno, Stack::HighSpeed, Stack::HighSpeedTable, Stack::Scalable, Stack::Cubic];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Stack::Reno => "reno",
            Stack::HighSpeed => "highspeed",
            Stack::HighSpeedTable => "highspeed-table",
            Stack::Scalable => "scalable",
            Stack::Cubic => "cubic",
        }
    }
}

impl std::str::FromStr for Stack {
    type Err = String;

    fn from_str(word: &str) -> Result<Stack, String> {
        let found = Stack::ALL.into_iter().find(|stack| stack.as_str() == word);
        found.ok_or_else(|| {
            let all = Stack::ALL.map(Stack::as_str).join(", ");
            format!("'{word}' is no stack that can be simulated; there are: {all}")
        })
    }
}
