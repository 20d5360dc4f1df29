//! An explanation in words: what limits, by how much, what the next limit would be, the one thing to try, and the
//! numbers behind.
//!
//! Must not know: how the numbers were taken.

use datapump::LimitedBy;
use datapump::units::rate_words;

use super::Explained;
use super::isolate::PartName;
use super::law::Prediction;

/// What is written down before the copy.
pub(super) fn prediction(prediction: &Prediction) -> String {
    let speed = rate_words(prediction.predicted_bytes_per_second);
    let cost = prediction.predicted_ns_per_byte;
    let slowest = prediction.slowest.words();
    format!("predicted: {speed}, {cost:.3} ns of CPU a byte; {slowest} is the slowest part")
}

/// The whole in one paragraph.
pub(super) fn paragraph(explained: &Explained) -> String {
    let observed = rate_words(explained.observed_bytes_per_second);
    let sentences = [
        format!("The copy ran at {observed} and is {}.", limit(explained)),
        explained.prediction.as_ref().map_or(String::new(), |prediction| compared(explained, prediction)),
        parts(explained),
        format!("What would help: {}.", explained.advice.words),
    ];
    let said: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
    said.join(" ")
}

fn limit(explained: &Explained) -> String {
    let why = &explained.limited_detail.why;
    let because = if why.is_empty() { String::new() } else { format!(" ({why})") };
    match explained.limited_by {
        LimitedBy::Balanced => format!("balanced{because}"),
        LimitedBy::Unknown => match explained.error_percent {
            Some(error) => format!("limited by what cannot be told: the runs disagree by {error:.0} %"),
            None => "limited by what cannot be told".into(),
        },
        limit => format!("limited by {}{because}", limit.name()),
    }
}

fn compared(explained: &Explained, prediction: &Prediction) -> String {
    let predicted = rate_words(prediction.predicted_bytes_per_second);
    let off = explained.error_percent.map_or(String::new(), |error| format!(", which is {error:.1} % off"));
    let costs = format!(
        "it cost {:.3} ns of CPU a byte, {:.3} were predicted",
        explained.observed_ns_per_byte, prediction.predicted_ns_per_byte
    );
    let shared = match prediction.shared_device {
        true => " One device serves both ends, so that they were measured together.",
        false => "",
    };
    format!("Its parts allow {predicted}{off}; {costs}.{shared}")
}

fn parts(explained: &Explained) -> String {
    let alone = explained.parts.iter().filter(|part| part.name != PartName::Pump);
    let said: Vec<String> =
        alone.map(|part| format!("{} {}", part.name.words(), rate_words(part.bytes_per_second))).collect();
    match said.is_empty() {
        true => String::new(),
        false => format!("Alone they do: {}.", said.join(", ")),
    }
}
