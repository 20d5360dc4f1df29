//! Rows as a table for a spreadsheet: a line for each run, a column for each factor and each result.
//!
//! Must not know: where the file goes.

use std::collections::BTreeSet;

use anyhow::Context;

use crate::report::summary::results::runs_of;
use crate::row::Row;
use crate::study::Study;

/// The table.
pub(super) fn spreadsheet(study: &Study, rows: &[&Row]) -> anyhow::Result<Vec<u8>> {
    let results = study.all_results();
    let factors: BTreeSet<&String> = rows.iter().flat_map(|row| row.asked.keys()).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = ["time", "round", "outcome", "disturbed"].map(str::to_owned).into_iter();
    let names = results.iter().map(|result| format!("{} ({})", result.name, result.unit));
    writer.write_record(head.chain(factors.iter().map(|name| name.to_string())).chain(names))?;
    for run in runs_of(rows, &results) {
        let row = run.row;
        let disturbed = if row.disturbance().is_some() { "yes" } else { "no" };
        let own = [row.time.clone(), row.repeat.to_string(), row.outcome.clone(), disturbed.into()];
        let levels =
            factors.iter().map(|name| row.asked.get(*name).map_or(String::new(), ToString::to_string));
        let values = run.values.iter().map(|value| value.map_or(String::new(), |value| value.to_string()));
        writer.write_record(own.into_iter().chain(levels).chain(values))?;
    }
    writer.into_inner().context("write rows as a table")
}
