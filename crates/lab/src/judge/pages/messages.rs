//! Curves in words.
//!
//! Must not know: how they were computed.

use std::fmt::Write;

use datapump::units::{bytes_words, rate_words};

use super::{PageCurve, PageLevel};

/// All curves, one below the other.
pub fn curves_words(curves: &[PageCurve]) -> String {
    let mut text = String::new();
    for curve in curves {
        let levels: Vec<String> = curve.asked.iter().map(|(name, level)| format!("{name} {level}")).collect();
        // Writing to text cannot fail.
        let _ = writeln!(text, "{} ({})", curve.interface, levels.join(", "));
        curve.levels.iter().for_each(|level| text.push_str(&level_words(level)));
        text.push_str(&slope_words(curve));
        let beside = [
            (curve.slope_beside_quarter_of_stream, "that slope is", "a quarter of stream's"),
            (curve.dense_beside_stream, "touching most of a page its bandwidth is", "stream's"),
            (
                Some(curve.dense_beside_sparse),
                "touching most of a page its bandwidth is",
                "that of touching least",
            ),
        ];
        if let Some(ratio) = curve.sparse_ratio_to_stream {
            let _ = writeln!(text, "  touching least of a page it is {ratio:.3} times as fast as stream");
        }
        for (verdict, what, other) in beside {
            let _ = verdict.map(|verdict| writeln!(text, "  {what} {} {other}", verdict.words()));
        }
        text.push('\n');
    }
    text
}

fn level_words(level: &PageLevel) -> String {
    let speed = level.bytes_per_second.map(rate_words).unwrap_or_else(|| "not timed".into());
    let range = level.bytes_per_second_interval;
    let range = range.map(|[low, high]| format!(" ({} to {})", rate_words(low.max(0.0)), rate_words(high)));
    let timed = if level.timed == 0 { String::new() } else { format!(", {} passes", level.timed) };
    format!(
        "  {} touched: {speed}{}{timed}; kernel {:.2} us a page, CPU {:.3} ns/byte, {} passes\n",
        bytes_words(level.touched_bytes as u64),
        range.unwrap_or_default(),
        level.kernel_ns_per_page / 1e3,
        level.cpu_ns_per_byte,
        level.n
    )
}

fn slope_words(curve: &PageCurve) -> String {
    match curve.kernel_ns_per_touched_byte.zip(curve.kernel_ns_per_touched_byte_interval) {
        Some((slope, [low, high])) => {
            format!(
                "  kernel CPU time of a page: {slope:.4} ns for each byte touched ({low:.4} to {high:.4})\n"
            )
        }
        None => "  too few passes or touches for a slope\n".into(),
    }
}
