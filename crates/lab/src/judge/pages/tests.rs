//! Curves of rows whose costs are known.

use datapump::{Cpu, Report};

use super::*;
use crate::row::COMPLETED;

const PAGE: f64 = 8192.0;
const PAGES: u64 = 1000;
const TOUCHES: [&str; 4] = ["word", "1/4", "1/2", "1"];

/// What a pass of this interface costs: so much for a page, and for each byte of it, with an error that is known.
#[derive(Clone, Copy)]
struct Law {
    interface: &'static str,
    page_ns: f64,
    byte_ns: f64,
    error_ns: f64,
    bytes_per_second: f64,
}

fn rows(law: Law) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, touch) in TOUCHES.iter().enumerate() {
        for repeat in 0..4_u32 {
            let touched = touch.parse::<Touch>().expect("a part").bytes(PAGE as u64) as f64;
            // The errors of a touch add up to nothing, and so leave the slope alone.
            let error = [1.0, -1.0, 0.5, -0.5][repeat as usize] * law.error_ns;
            let system_ns = ((law.page_ns + law.byte_ns * touched + error) * PAGES as f64) as u64;
            let bytes = PAGES * PAGE as u64;
            let speed = law.bytes_per_second * (1.0 + 0.01 * f64::from(repeat) - 0.05 * index as f64);
            let elapsed_ns = (bytes as f64 * 1e9 / speed) as u64;
            let cpu = Cpu { user_ns: 1000 * PAGES, system_ns };
            let report = Report { bytes, elapsed_ns, cpu, ..Report::default() };
            let asked =
                [("interface", law.interface), ("touch", touch), ("request_size", "8KiB"), ("soaker", "off")];
            rows.push(Row {
                asked: asked.map(|(name, level)| (name.to_string(), Level::from(level))).into(),
                outcome: COMPLETED.into(),
                repeat,
                report: Some(Box::new(report)),
                ..Row::default()
            });
        }
    }
    rows
}

const STREAM_LAW: Law =
    Law { interface: "stream", page_ns: 300.0, byte_ns: 0.1, error_ns: 10.0, bytes_per_second: 4e9 };
const MAPPED: Law =
    Law { interface: "mmap", page_ns: 100.0, byte_ns: 0.0, bytes_per_second: 5e9, ..STREAM_LAW };

fn of(laws: &[Law]) -> Vec<PageCurve> {
    curves_of(&laws.iter().copied().flat_map(rows).collect::<Vec<_>>())
}

#[test]
fn a_known_slope_is_found_within_its_interval() {
    let curves = of(&[STREAM_LAW, MAPPED]);
    let [mapped, stream] = &curves[..] else { panic!("two curves: {curves:?}") };
    for (curve, known) in [(mapped, 0.0), (stream, 0.1)] {
        let [low, high] = curve.kernel_ns_per_touched_byte_interval.expect("sixteen passes");
        let slope = curve.kernel_ns_per_touched_byte.expect("sixteen passes");
        assert!((slope - known).abs() < 1e-4, "{slope} of {known}");
        assert!(low < known && known < high && high - low < 0.01, "{low} to {high}");
    }
    assert!(stream.kernel_ns_per_touched_byte_interval.is_some_and(|[low, _]| low > 0.0), "it grows");
    assert_eq!(mapped.slope_beside_quarter_of_stream, Some(IntervalVerdict::Below));
    assert_eq!(stream.slope_beside_quarter_of_stream, None);
    assert_eq!(mapped.levels.iter().map(|level| level.n).collect::<Vec<_>>(), [4; 4]);
    let touched: Vec<f64> = stream.levels.iter().map(|level| level.touched_bytes).collect();
    assert_eq!(touched, [8.0, 2048.0, 4096.0, 8192.0]);
    assert!((stream.levels[3].kernel_ns_per_page - (300.0 + 819.2)).abs() < 1.0);
}

#[test]
fn what_is_not_separable_is_told_so() {
    for (law, slope, dense) in [
        (MAPPED, IntervalVerdict::Below, IntervalVerdict::Above),
        (Law { byte_ns: 0.05, ..MAPPED }, IntervalVerdict::Above, IntervalVerdict::Above),
        (Law { byte_ns: 0.025, ..MAPPED }, IntervalVerdict::NotSeparable, IntervalVerdict::Above),
        (Law { error_ns: 2000.0, ..MAPPED }, IntervalVerdict::NotSeparable, IntervalVerdict::Above),
        (Law { bytes_per_second: 4e9, ..MAPPED }, IntervalVerdict::Below, IntervalVerdict::NotSeparable),
        (Law { bytes_per_second: 3e9, ..MAPPED }, IntervalVerdict::Below, IntervalVerdict::Below),
    ] {
        let curves = of(&[STREAM_LAW, law]);
        let row = format!("{} ns/byte, error {}, {}/s", law.byte_ns, law.error_ns, law.bytes_per_second);
        assert_eq!(curves[0].slope_beside_quarter_of_stream, Some(slope), "{row}");
        assert_eq!(curves[0].dense_beside_stream, Some(dense), "{row}");
        let words = messages::curves_words(&curves);
        assert!(words.contains("kernel CPU time of a page: 0.1000 ns for each byte touched ("), "{words}");
    }
}

#[test]
fn behind_a_slow_source_interfaces_agree_and_more_touch_is_not_faster() {
    let slow = |interface, bytes_per_second| Law { interface, bytes_per_second, ..MAPPED };
    let curves = of(&[slow("mmap", 101e6), slow("ring", 90e6), slow("stream", 100e6)]);
    for (curve, ratio) in curves.iter().zip([Some(1.01), Some(0.9), None]) {
        let row = format!("{}: {:?}", curve.interface, curve.sparse_ratio_to_stream);
        match curve.sparse_ratio_to_stream.zip(ratio) {
            Some((told, ratio)) => assert!((told - ratio).abs() < 1e-6, "{row}"),
            None => assert_eq!(curve.sparse_ratio_to_stream, ratio, "{row}"),
        }
        assert_eq!(curve.dense_beside_sparse, IntervalVerdict::Below, "{row}: 15 % were added");
    }
}

#[test]
fn what_is_no_pass_or_failed_is_left_out() {
    let mut rows = rows(STREAM_LAW);
    rows.truncate(2);
    rows[0].outcome = "io".into();
    rows.push(Row { outcome: COMPLETED.into(), ..Row::default() });
    let curves = curves_of(&rows);
    assert_eq!((curves.len(), curves[0].levels[0].n), (1, 1));
    assert_eq!((curves[0].kernel_ns_per_touched_byte, curves[0].dense_beside_stream), (None, None));
    assert!(messages::curves_words(&curves).contains("too few passes or touches for a slope"));
}

/// A pass with the soaker has no bandwidth, and is none of those that a bandwidth is of.
#[test]
fn passes_are_counted_beside_what_they_gave() {
    let rows = rows(STREAM_LAW).into_iter().map(|row| {
        let soaked_ns = (row.repeat % 2 == 0).then_some(1);
        Row { soaked_ns, ..row }
    });
    let curves = curves_of(&rows.collect::<Vec<_>>());
    let level = &curves[0].levels[0];
    assert_eq!((level.n, level.timed), (4, 2));
    let text = messages::curves_words(&curves);
    assert!(text.contains("B/s, 2 passes; kernel ") && text.contains(" ns/byte, 4 passes\n"), "{text}");
}
