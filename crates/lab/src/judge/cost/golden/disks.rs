//! Published figures of disks of 2003, alone and six as a stripe (Hughes-Jones).
//!
//! Must not know: which statements there are.

use std::path::Path;

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
    let of = |quantity: &str| table.row_with(&[("quantity", quantity)])?.above_zero("value");
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
    let table = CsvTable::read(&folder.join("raid_rates.csv"))?;
    let row = table.row_with(&[("slide", SLIDE)])?;
    Ok((row.above_zero("disks")?, row.above_zero("read_mbit_per_s")?, row.above_zero("write_mbit_per_s")?))
}
