//! What disks of 2003 did alone and six of them as a stripe (Hughes-Jones).
//!
//! Must not know: which statements there are.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use super::CheckFound;
use crate::judge::cost::table::CsvTable;

/// What inner tracks lose, and the disks that fail in a year, in percent; what six disks give together.
const ZONE_PERCENT: f64 = 39.7;
const YEARLY_PERCENT: f64 = 2.19;
const CEILING_MBIT_PER_S: f64 = 3600.0;
const HOURS_OF_A_YEAR: f64 = 24.0 * 365.0;
/// The slide of six disks and their rates.
const SLIDE: &str = "49";

/// The worst of the percentages; endless where a rate is above what the disks can give.
pub fn parameters(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("disk_parameters.csv"))?;
    let values = table.rows().map(|row| Ok((row.text("quantity")?.to_string(), row.above_zero("value")?)));
    let values = values.collect::<anyhow::Result<BTreeMap<String, f64>>>()?;
    let of = |quantity: &str| values.get(quantity).copied().with_context(|| format!("no {quantity}"));
    let zone = 100.0 * (1.0 - of("inner_zone_rate")? / of("outer_zone_rate")?);
    let yearly = 100.0 * HOURS_OF_A_YEAR / of("mtbf")?;
    let (disks, read, write) = stripe(folder)?;
    let ceiling = disks * of("disk_to_buffer_rate")? * 8.0;
    // So another part was the slowest, also if one disk is slow by a quarter.
    let with_slow = ceiling * (1.0 - of("slow_drive_deficit")? / 100.0);
    let is_below = ceiling == CEILING_MBIT_PER_S && read.max(write) < with_slow;
    let worst = (zone - ZONE_PERCENT).abs().max((yearly - YEARLY_PERCENT).abs());
    let detail = format!(
        "inner tracks -{zone:.1} %, {yearly:.2} % fail in a year, {read:.0} and {write:.0} of {ceiling:.0} Mbit/s"
    );
    Ok((if is_below { worst } else { f64::INFINITY }, detail))
}

/// The disks of the stripe, and at how many Mbit/s it was read and written.
fn stripe(folder: &Path) -> anyhow::Result<(f64, f64, f64)> {
    for row in CsvTable::read(&folder.join("raid_rates.csv"))?.rows() {
        if row.text("slide")? == SLIDE {
            let rate = |column| row.above_zero(column);
            return Ok((rate("disks")?, rate("read_mbit_per_s")?, rate("write_mbit_per_s")?));
        }
    }
    Err(anyhow::Error::msg(format!("raid_rates.csv has no slide {SLIDE}")))
}
