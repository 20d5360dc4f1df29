//! Bandwidths and times that the command of a run reported itself: such a run has no bytes, and its time is its length.
//!
//! Must not know: which study it is of, how figures are shown.

use serde_json::Value;

use super::Row;
use crate::judge::stats::{mean, median};

/// Bytes per second of a Mbit/s.
const BYTES_PER_MBIT: f64 = 1e6 / 8.0;

/// Figures out of `achieved`; `None` where the command does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReportedFigures {
    /// Payload that arrived over time, of all connections together.
    pub bytes_per_second: Option<f64>,
    /// The median round trip of the smallest frame.
    pub small_frame_ns: Option<f64>,
    /// The median round trip of the largest frame.
    pub large_frame_ns: Option<f64>,
    /// Time of the first answer of a connection.
    pub first_answer_ns: Option<f64>,
    /// The median time of the answers behind it.
    pub later_answer_ns: Option<f64>,
}

impl Row {
    /// What the command of this run reported of itself.
    pub(crate) fn reported(&self) -> ReportedFigures {
        let frames = self.items("frames");
        let frame_ns =
            |of: fn(&[Value]) -> Option<&Value>| Some(of(frames)?.get("median_us")?.as_f64()? * 1e3);
        let answers_ns = self.items("events").iter().filter_map(|event| event.get("elapsed_ns")?.as_f64());
        let later_ns: Vec<f64> = answers_ns.clone().skip(1).collect();
        ReportedFigures {
            bytes_per_second: self.reported_bytes_per_second(),
            small_frame_ns: frame_ns(<[Value]>::first),
            large_frame_ns: frame_ns(<[Value]>::last).filter(|_| frames.len() > 1),
            first_answer_ns: answers_ns.clone().next(),
            later_answer_ns: median(&later_ns),
        }
    }

    fn items(&self, name: &str) -> &[Value] {
        self.achieved.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn reported_bytes_per_second(&self) -> Option<f64> {
        let of_datagrams = || {
            let rate = self.achieved.get("receiver")?.get("user_mbit_per_s")?.as_f64()?;
            Some(rate * BYTES_PER_MBIT)
        };
        // Of several connections: by period, and in each by connection.
        let of_periods = || {
            let period =
                |rates: &Value| rates.as_array().map(|all| all.iter().filter_map(Value::as_f64).sum());
            mean(&self.items("bytes_per_s").iter().filter_map(period).collect::<Vec<f64>>())
        };
        let of_one = self.achieved.get("bytes_per_s").and_then(Value::as_f64);
        of_one.or_else(of_periods).or_else(of_datagrams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_command_reports_is_found_in_its_row() {
        let frame = |size: u64, median: Option<f64>| json!({"frame_size": size, "median_us": median});
        let of = |figures: [Option<f64>; 5]| {
            let [bytes_per_second, small_frame_ns, large_frame_ns, first_answer_ns, later_answer_ns] =
                figures;
            ReportedFigures {
                bytes_per_second,
                small_frame_ns,
                large_frame_ns,
                first_answer_ns,
                later_answer_ns,
            }
        };
        for (achieved, expected) in [
            (json!({"direct": "none"}), [None; 5]),
            (json!({"bytes_per_s": 5e6}), [Some(5e6), None, None, None, None]),
            (json!({"bytes_per_s": [[1.0, 2.0], [3.0, 4.0]]}), [Some(5.0), None, None, None, None]),
            (json!({"receiver": {"user_mbit_per_s": 8.0}}), [Some(1e6), None, None, None, None]),
            (
                json!({"frames": [frame(64, Some(40.0)), frame(1400, Some(50.0))]}),
                [None, Some(4e4), Some(5e4), None, None],
            ),
            (json!({"frames": [frame(64, Some(40.0))]}), [None, Some(4e4), None, None, None]),
            (
                json!({"frames": [frame(64, None), frame(128, Some(1.0))]}),
                [None, None, Some(1e3), None, None],
            ),
            (
                json!({"events": [{"elapsed_ns": 9}, {"elapsed_ns": 2}, {"elapsed_ns": 4}]}),
                [None, None, None, Some(9.0), Some(3.0)],
            ),
            (json!({"events": [], "frames": 3, "bytes_per_s": null}), [None; 5]),
        ] {
            let Value::Object(fields) = &achieved else { panic!("an object") };
            let row = Row { achieved: fields.clone().into_iter().collect(), ..Row::default() };
            assert_eq!(row.reported(), of(expected), "{achieved}");
        }
    }
}
