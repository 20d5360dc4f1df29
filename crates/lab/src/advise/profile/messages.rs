//! Profiles and forecasts for people.
//!
//! Must not know: how they were made.

use datapump::units::bytes_words;

use super::{ChainForecast, Profile, ProfileCheck};
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

impl ChainForecast {
    /// Forecasts, a line each.
    pub fn lines(forecasts: &[ChainForecast]) -> String {
        let mut table = head(["request", "MB/s", "limited by", "ns/B", "from"]);
        for it in forecasts {
            table.0.push(vec![
                bytes_words(it.request_size_bytes),
                megabytes(it.bytes_per_second),
                it.bottleneck.clone(),
                format!("{:.4}", it.ns_per_byte),
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
