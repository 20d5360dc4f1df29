//! Samples of a connection, beside what came to its end.

use crate::paths::box_path::BoxPath;
use crate::paths::long_path::traced;
use serde_json::Value;

/// The mean of the samples' rates is that of the whole; on a busy machine it may be off by more than the statement's
/// 2 %, since samples come late: 1.018 here.
#[test]
fn s65_samples_tell_the_rate_of_the_whole() {
    let Some(path) = BoxPath::lay("rates", &["--rtt", "20ms", "--rate", "100Mbit"]) else { return };
    let samples = traced(&path, &["--congestion=reno", "null:48MiB"]);
    let of = |sample: &Value, name: &str| sample[name].as_u64().expect("a number") as f64;
    let rate = |one: &Value, other: &Value| {
        (of(other, "bytes_acked") - of(one, "bytes_acked")) / (of(other, "time_ns") - of(one, "time_ns"))
    };
    let rates: Vec<f64> = samples.windows(2).map(|pair| rate(&pair[0], &pair[1])).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let whole = rate(&samples[0], samples.last().expect("samples"));
    println!("{} samples: their mean rate is {:.4} of the whole", samples.len(), mean / whole);
    assert!(rates.len() > 50 && (0.9..1.1).contains(&(mean / whole)), "{mean} of {whole}");
}
