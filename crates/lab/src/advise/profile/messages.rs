//! Profiles and forecasts for people.
//!
//! Must not know: how they were made.

use datapump::units::bytes_words;

use super::{ChainForecast, CopyFigure, JudgedCopies, JudgedFigure, Profile, ProfileCheck};
use crate::report::figures::figures;
use crate::report::table::Table;

/// A forecast of CPU time that is off by more is flagged (statement S31).
const CPU_ERROR_MAX_PERCENT: f64 = 30.0;

/// A profile: what each component costs and allows.
pub fn profile_text(profile: &Profile) -> String {
    let machine = &profile.machine;
    let mut said = format!(
        "{}: {} x {}, Linux {}, {} ({})\nCPU time {}\n\n",
        machine.host,
        machine.cpus,
        machine.cpu_model,
        machine.kernel,
        machine.file_system,
        profile.time,
        profile.cpu_by.words()
    );
    let mut costs = head(["component", "Cb ns/B", "95 %", "Cr us/request", "95 %"]);
    for it in &profile.components {
        costs.0.push(vec![
            it.component.clone(),
            format!("{:.4}", it.cb_ns_per_byte),
            format!("{:.4}..{:.4}", it.cb_ns_per_byte_low, it.cb_ns_per_byte_high),
            format!("{:.3}", it.cr_us_per_request),
            format!("{:.3}..{:.3}", it.cr_us_per_request_low, it.cr_us_per_request_high),
        ]);
    }
    said += &costs.to_string();
    if let Some(wakeup_us) = profile.wakeup_us {
        said += &format!("a wake-up: {} us\n", figures(wakeup_us));
    }
    let mut sizes = head(["component", "request", "n", "MB/s", "ns/B"]);
    for it in &profile.components {
        for size in &it.sizes {
            sizes.0.push(vec![
                it.component.clone(),
                bytes_words(size.request_size_bytes),
                size.n.to_string(),
                megabytes(size.bytes_per_second),
                format!("{:.4}", size.ns_per_byte),
            ]);
        }
    }
    said += &format!("\n{sizes}");
    let warnings = profile.components.iter().filter_map(|it| Some((&it.component, it.warning.as_ref()?)));
    warnings.fold(said, |said, (component, warning)| format!("{said}\nnote: {component}: {warning}"))
}

fn head<const N: usize>(names: [&str; N]) -> Table {
    Table(vec![names.map(String::from).to_vec()])
}

fn megabytes(bytes_per_second: f64) -> String {
    format!("{:.0}", bytes_per_second / 1e6)
}

fn nanoseconds(ns_per_byte: f64) -> String {
    format!("{ns_per_byte:.4}")
}

/// `1200..1300`; nothing where an end is unknown.
fn range(low: Option<f64>, high: Option<f64>, words: fn(f64) -> String) -> String {
    low.zip(high).map_or(String::new(), |(low, high)| format!("{}..{}", words(low), words(high)))
}

impl ChainForecast {
    /// Forecasts, a line each.
    pub fn lines(forecasts: &[ChainForecast]) -> String {
        let mut table = head(["request", "MB/s", "90 %", "limited by", "ns/B", "90 %", "from"]);
        for it in forecasts {
            table.0.push(vec![
                bytes_words(it.request_size_bytes),
                megabytes(it.bytes_per_second),
                range(it.bytes_per_second_low, it.bytes_per_second_high, megabytes),
                it.bottleneck.clone(),
                nanoseconds(it.ns_per_byte),
                range(it.ns_per_byte_low, it.ns_per_byte_high, nanoseconds),
                it.by.into(),
            ]);
        }
        let shared = forecasts.iter().any(|it| it.shared_device);
        let note = if shared { "note: one device serves both ends: its times add up\n" } else { "" };
        let head = |it: &ChainForecast| format!("{}; CPU time {}", it.chain.join(" + "), it.cpu_by.words());
        format!("{}\n\n{table}{note}", forecasts.first().map_or(String::new(), head))
    }
}

impl ProfileCheck {
    /// Observed beside forecast, a line for each size.
    pub fn lines(against: &ProfileCheck) -> String {
        let heads =
            ["request", "n", "MB/s", "predicted", "error %", "+-", "ns/B", "predicted", "error %", "+-"];
        let mut table = head(heads);
        let percent = |error: Option<f64>| error.map_or("-".into(), |error| format!("{error:+.1}"));
        for it in &against.sizes {
            table.0.push(vec![
                bytes_words(it.request_size_bytes),
                it.n.to_string(),
                megabytes(it.observed_bytes_per_second),
                megabytes(it.predicted_bytes_per_second),
                percent(it.bandwidth_error_percent),
                format!("{:.1}", it.bandwidth_spread_percent),
                format!("{:.4}", it.observed_ns_per_byte),
                format!("{:.4}", it.predicted_ns_per_byte),
                percent(it.cpu_error_percent),
                format!("{:.1}", it.cpu_spread_percent),
            ]);
        }
        let is_off = |error: &f64| error.abs() > CPU_ERROR_MAX_PERCENT;
        let off = against.sizes.iter().filter(|it| it.cpu_error_percent.as_ref().is_none_or(is_off));
        let off: Vec<String> = off.map(|it| bytes_words(it.request_size_bytes)).collect();
        let flag = match &*off.join(", ") {
            "" => String::new(),
            sizes => format!(
                "warning: CPU: the forecast is off by more than {CPU_ERROR_MAX_PERCENT:.0} % at {sizes}\n"
            ),
        };
        format!(
            "{} of {}, first copy {}; CPU time {}\n\n{table}\n\
             bandwidth: median error {:.1} %, worst {:.1} %; CPU: median {:.1} %, \
             worst {:.1} %\n{flag}",
            against.chain.join(" + "),
            against.forecast_time,
            against.first_row_time,
            against.cpu_by.words(),
            against.bandwidth_error_median_percent,
            against.bandwidth_error_worst_percent,
            against.cpu_error_median_percent,
            against.cpu_error_worst_percent,
        )
    }
}

impl JudgedCopies {
    /// A table for each copy and figure: a line for each request size, and one for all.
    pub fn lines(judged: &JudgedCopies) -> String {
        let mut said = String::new();
        let same =
            |one: &JudgedFigure, other: &JudgedFigure| (&one.copy, one.figure) == (&other.copy, other.figure);
        for figures in judged.figures.chunk_by(same) {
            let heads = [
                "request",
                "n",
                "copy",
                "predicted",
                "90 %",
                "inside",
                "error %",
                "worst",
                "next copy %",
                "worst",
                "bias %",
                "95 %",
                "",
            ];
            let mut table = head(heads);
            table.0.extend(figures.iter().map(judged_row));
            let (copy, figure) = (&figures[0].copy, figures[0].figure.words());
            said += &format!("{copy}: {figure}\n\n{table}\n");
        }
        let (held, all) = (judged.figures.iter().filter(|figure| figure.holds).count(), judged.figures.len());
        format!(
            "{said}error: of the prediction; next copy: error if each copy is predicted by the one before. CPU time {}\n\
             {held} of {all} hold; the result is that of the lines for all sizes\n",
            judged.cpu_by.words()
        )
    }
}

impl CopyFigure {
    fn words(self) -> &'static str {
        match self {
            CopyFigure::Bandwidth => "bandwidth, MB/s",
            CopyFigure::Cpu => "CPU time, ns/B",
            CopyFigure::SenderCpu => "CPU time of the sender, ns/B",
            CopyFigure::ReceiverCpu => "CPU time of the receiver, ns/B",
        }
    }

    fn value_words(self) -> fn(f64) -> String {
        match self {
            CopyFigure::Bandwidth => megabytes,
            CopyFigure::Cpu | CopyFigure::SenderCpu | CopyFigure::ReceiverCpu => nanoseconds,
        }
    }
}

fn judged_row(it: &JudgedFigure) -> Vec<String> {
    let words = it.figure.value_words();
    let value = |value: Option<f64>| value.map_or(String::new(), words);
    let signed = |percent: f64| format!("{percent:+.1}");
    vec![
        it.request_size_bytes.map_or("all".into(), bytes_words),
        it.n.to_string(),
        value(it.observed),
        value(it.predicted),
        range(it.predicted_low, it.predicted_high, words),
        it.inside.map_or(String::new(), |inside| inside.to_string()),
        figures(it.error_median_percent),
        figures(it.error_worst_percent),
        figures(it.next_error_median_percent),
        figures(it.next_error_worst_percent),
        signed(it.bias_percent),
        range(it.bias_percent_low, it.bias_percent_high, signed),
        if it.holds { "holds" } else { "does not hold" }.into(),
    ]
}
