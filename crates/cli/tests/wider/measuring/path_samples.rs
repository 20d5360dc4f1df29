//! Samples of a connection, beside what came to its end.

use crate::paths::box_path::BoxPath;
use crate::paths::long_path::traced;
use serde_json::Value;

/// A sample is taken when this much time has passed at least: late ones on a busy machine are then a small part of it.
const APART_NS: u64 = 100_000_000;
/// Statement S65.
const RATE_TOLERANCE: f64 = 0.02;

/// The mean of the rates from sample to sample is that of the whole, to 2 %.
#[test]
fn s65_samples_tell_the_rate_of_the_whole() {
    let Some(path) = BoxPath::lay("rates", &["--rtt", "20ms", "--rate", "100Mbit"]) else { return };
    let samples = traced(&path, &["--congestion=reno", "null:48MiB"]);
    let of = |sample: &Value, name: &str| sample[name].as_u64().expect("a number");
    // Behind the last of the data the connection idles.
    let last = of(samples.last().expect("samples"), "bytes_acked");
    let end = samples.iter().position(|sample| of(sample, "bytes_acked") == last).expect("it is there");
    let mut spread = vec![&samples[0]];
    for sample in &samples[..=end] {
        if of(sample, "time_ns") >= of(spread[spread.len() - 1], "time_ns") + APART_NS {
            spread.push(sample);
        }
    }
    // A sample that a busy host took late is the rate of a longer time: it is in neither.
    let passed = |pair: &[&Value], name: &str| (of(pair[1], name) - of(pair[0], name)) as f64;
    let in_time: Vec<&[&Value]> =
        spread.windows(2).filter(|pair| passed(pair, "time_ns") < 2.0 * APART_NS as f64).collect();
    let sum = |name: &str| in_time.iter().map(|pair| passed(pair, name)).sum::<f64>();
    let rates: Vec<f64> =
        in_time.iter().map(|pair| passed(pair, "bytes_acked") / passed(pair, "time_ns")).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let whole = sum("bytes_acked") / sum("time_ns");
    println!("{} rates: their mean is {:.4} of the whole", rates.len(), mean / whole);
    assert!(
        rates.len() >= 30 && (mean / whole - 1.0).abs() <= RATE_TOLERANCE,
        "{mean} of {whole}: {rates:?}"
    );
}
