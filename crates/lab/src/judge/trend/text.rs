//! A trend as text: a line for each change, then each change as a comparison.
//!
//! Must not know: how versions were compared.

use std::fmt;

use super::{Trend, TrendChange, TrendVersion};
use crate::judge::compare::judged_words;
use crate::report::table::Table;

fn known(word: &str) -> &str {
    if word.is_empty() { "unknown" } else { word }
}

impl fmt::Display for TrendVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} on {}", known(&self.build), known(&self.kernel))
    }
}

impl TrendChange {
    fn what(&self) -> &'static str {
        match (self.build_changed, self.kernel_changed) {
            (true, true) => "build and kernel",
            (true, false) => "build",
            _ => "kernel",
        }
    }
}

impl fmt::Display for Trend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trend { study, metric, .. } = self;
        writeln!(out, "{study}, {metric}: each build and kernel beside the one before it in time\n")?;
        write!(out, "{}", Table(self.rows()))?;
        self.changes.iter().try_for_each(|change| match (&change.comparison, &change.why) {
            (Some(comparison), _) => write!(out, "\n{comparison}"),
            (None, why) => writeln!(out, "\n{}", why.as_deref().unwrap_or_default()),
        })
    }
}

impl Trend {
    fn rows(&self) -> Vec<Vec<String>> {
        let head = ["since", "changed", "to", "sessions", "ratio", "interval", "verdict"];
        let mut rows = vec![head.map(String::from).to_vec()];
        for (at, version) in self.versions.iter().enumerate() {
            let change = at.checked_sub(1).and_then(|before| self.changes.get(before));
            let judged = match change.map(|change| &change.comparison) {
                Some(Some(comparison)) => judged_words(&comparison.overall),
                Some(None) => vec![String::new(), String::new(), "no cell in common".into()],
                None => vec![String::new(); 3],
            };
            let what = change.map_or("", TrendChange::what);
            let words = [known(&version.since), what, &version.to_string(), &version.sessions.to_string()]
                .map(String::from);
            rows.push(words.into_iter().chain(judged).collect());
        }
        rows
    }
}
