//! Access to pages by three interfaces (Anderson): in which order their bandwidths stand, and what writing costs.
//!
//! Must not know: which statements there are.

use std::path::Path;

use anyhow::Context;

use super::{CheckFound, apart};
use crate::judge::cost::input::InputError;
use crate::judge::cost::table::CsvTable;

/// The bandwidth of an access, in MB/s.
fn rate(table: &CsvTable, [access, interface, touch]: [&str; 3]) -> Result<f64, InputError> {
    let words = [("access", access), ("interface", interface), ("touch", touch)];
    table.row_with(&words)?.above_zero("bandwidth_mb_per_s")
}

/// Reading whole pages by calls is slowest, by blocks of the program faster, and neither reaches what one touched word
/// gives.
pub fn read_order(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("gms_trapeze.csv"))?;
    let rates = [["read", "stream", "dense"], ["read", "mmb", "dense"], ["read", "stream", "sparse"]]
        .map(|access| rate(&table, access));
    let rates = rates.into_iter().collect::<Result<Vec<f64>, InputError>>()?;
    let misplaced = rates.windows(2).filter(|two| two[0] >= two[1]).count();
    // The three are stated, and the order is of these three.
    let is_stated = rates.iter().zip([68.0, 84.0, 96.0]).all(|(got, stated)| apart(*got, stated) < 1e-9);
    let detail = format!("{} < {} < {} MB/s", rates[0], rates[1], rates[2]);
    Ok((if is_stated { misplaced as f64 } else { f64::INFINITY }, detail))
}

/// Overwriting whole pages reaches 79 % of what the host sends after overwriting a slot, and that is 55 % of what it
/// sends untouched; a pass moves 120,000 pages of 8 KiB.
pub fn write_shares(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("gms_trapeze.csv"))?;
    let blocks = rate(&table, ["write", "mmb", "dense"])?;
    let overwritten = rate(&table, ["raw_send", "raw_trapeze", "overwritten"])?;
    let untouched = rate(&table, ["raw_send", "raw_trapeze", "untouched"])?;
    let shares = [100.0 * blocks / overwritten, 100.0 * overwritten / untouched];
    let table = CsvTable::read(&folder.join("gms_benchmark.csv"))?;
    let pass = table.rows().next().context("gms_benchmark.csv has no row")?;
    let pages = pass.whole("page_accesses_per_test", 1, 1 << 40)?;
    let bytes = pages * pass.whole("page_bytes", 1, 1 << 20)?;
    let is_whole = bytes == 983_040_000 && bytes == pass.whole("bytes_moved_per_test", 1, 1 << 53)?;
    let stated = [pass.number("mmb_dense_write_share_of_platform_percent")?, 55.0];
    let off = shares.iter().zip(stated).map(|(got, stated)| (got - stated).abs()).fold(0.0, f64::max);
    let detail = format!("{:.1} % and {:.1} %; {bytes} bytes in a pass", shares[0], shares[1]);
    Ok((if is_whole { off } else { f64::INFINITY }, detail))
}
