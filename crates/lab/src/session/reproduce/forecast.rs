//! The forecast that parts of a document make of a later one: the sum of their fitted costs, written down with its digest
//! before the runs that it is about.
//!
//! Must not know: how a fit is made, how a figure is drawn.

use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::document::PartForecast;
use crate::judge::cost::{CostPart, sum};

/// A forecast as it is kept.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct StoredForecast {
    /// The sum.
    #[serde(flatten)]
    pub cost: CostPart,
    /// The parts of the sum.
    pub of: Vec<CostPart>,
    /// When it was written.
    pub time: String,
    /// The digest of `of`, so that a change is seen.
    pub digest: String,
}

impl StoredForecast {
    /// The forecast of these costs. `None` where one of them is missing.
    pub fn new(forecast: &PartForecast, fitted: impl Fn(&str) -> Option<CostPart>) -> Option<StoredForecast> {
        let signed = |names: &[String], sign: f64| -> Option<Vec<CostPart>> {
            let found = |name: &String| {
                let cost = fitted(name)?;
                Some(CostPart {
                    component: name.clone(),
                    cb_ns_per_byte: sign * cost.cb_ns_per_byte,
                    cr_us_per_request: sign * cost.cr_us_per_request,
                })
            };
            names.iter().map(found).collect()
        };
        let mut of = signed(&forecast.plus, 1.0)?;
        of.extend(signed(&forecast.minus, -1.0)?);
        let digest = digest(&of);
        Some(StoredForecast {
            cost: sum(&forecast.figure, &of),
            of,
            time: format!("{:.3}", jiff::Timestamp::now()),
            digest,
        })
    }

    /// In a sentence.
    pub fn message(&self) -> String {
        let of: Vec<&str> = self.of.iter().map(|part| part.component.as_str()).collect();
        format!(
            "forecast of {}, written down at {} before the first run (digest {:.16})",
            of.join(", "),
            self.time,
            self.digest
        )
    }

    /// The one that is kept already: it was made before the runs. Otherwise this one is kept, unless there are runs.
    ///
    /// Errors: a file that is none, or was changed; what the system says.
    pub fn keep(
        made: Option<StoredForecast>,
        file: &Path,
        has_runs: bool,
    ) -> anyhow::Result<Option<StoredForecast>> {
        if file.exists() {
            let text = std::fs::read(file).with_context(|| format!("read {}", file.display()))?;
            let kept: StoredForecast = serde_json::from_slice(&text)
                .with_context(|| format!("{}: this is no forecast", file.display()))?;
            anyhow::ensure!(
                kept.digest == digest(&kept.of) && kept.cost == sum(&kept.cost.component, &kept.of),
                "{}: it was changed after it was written; delete it, and the rows that it is about",
                file.display()
            );
            return Ok(Some(kept));
        }
        let Some(made) = made.filter(|_| !has_runs) else { return Ok(None) };
        let text = serde_json::to_string_pretty(&made).context("write a forecast")?;
        std::fs::write(file, text + "\n").with_context(|| format!("write {}", file.display()))?;
        Ok(Some(made))
    }
}

fn digest(of: &[CostPart]) -> String {
    let text = serde_json::to_string(of).unwrap_or_default();
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
