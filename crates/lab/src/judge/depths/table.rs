//! Tables of cases.
//!
//! Must not know: what is done with a case.

use super::{DepthCase, DepthDevice};
use crate::judge::cost::{CsvRow, CsvTable, InputError};

/// Beyond these a row would take minutes, or its times more than 64 bits.
const REQUESTS_MAX: u64 = 10_000_000;
const US_MAX: u64 = 1_000_000_000;
const POOL_BUFFERS_MAX: u64 = 65_536;

/// The columns of a case; others are passed over.
const COLUMNS: [&str; 8] = [
    "pool_buffers",
    "source_latency_us",
    "source_transfer_us",
    "sink_latency_us",
    "sink_transfer_us",
    "requests",
    "decision_period_requests",
    "step_buffers",
];

/// All cases of a table.
pub(super) fn cases(table: &CsvTable) -> Result<Vec<DepthCase>, InputError> {
    table.require(&COLUMNS)?;
    table.rows().map(case).collect()
}

fn case(row: CsvRow<'_>) -> Result<DepthCase, InputError> {
    let us = |column| row.whole(column, 0, US_MAX);
    let device = |latency, transfer| Ok(DepthDevice { latency_us: us(latency)?, transfer_us: us(transfer)? });
    // Each end has a buffer at least.
    let pool_buffers = row.whole("pool_buffers", 2, POOL_BUFFERS_MAX)?;
    let step_buffers = row.whole("step_buffers", 0, POOL_BUFFERS_MAX)?;
    let decision_period_requests = row.whole("decision_period_requests", 0, REQUESTS_MAX)?;
    if decision_period_requests > 0 && step_buffers == 0 {
        return Err(row.wrong(
            "`step_buffers` is 0, so that no decision changes anything; write 1 or more, or a \
             `decision_period_requests` of 0 for the fixed split",
        ));
    }
    Ok(DepthCase {
        pool_buffers: pool_buffers as u32, // at most 65,536, as the step
        source: device("source_latency_us", "source_transfer_us")?,
        sink: device("sink_latency_us", "sink_transfer_us")?,
        requests: row.whole("requests", 1, REQUESTS_MAX)?,
        decision_period_requests,
        step_buffers: step_buffers as u32,
    })
}
