//! The fields of a row by their names, for results that a study declares, and some that are computed from others.
//!
//! Must not know: which results there are, how they are shown.

use serde_json::Value;

use super::Row;
use crate::judge::stats::mean;

/// Computed fields, and what each is.
pub const COMPUTED: [(&str, &str); 7] = [
    ("cpu_ns", "`user_ns` and `system_ns`"),
    ("remaining_cpu_ns", "CPU time by the soaker less `cpu_ns`: what the kernel charged to nobody"),
    ("transfer_ns", "the time of the run; where it started readers, the mean of theirs"),
    ("moved_bytes", "`bytes`, where there are any"),
    ("reader_bytes", "bytes of one reader"),
    ("sender_cpu_ns", "CPU time of the side that made the row, in user mode and in the kernel"),
    ("receiver_cpu_ns", "CPU time of the other side of a copy between two"),
];

impl Row {
    /// All fields, the computed ones among them.
    pub(crate) fn fields(&self) -> Value {
        // A row is plain data.
        let mut fields = serde_json::to_value(self).unwrap_or_default();
        let cpu_ns = self.user_ns.zip(self.system_ns).map(|(user, system)| user as f64 + system as f64);
        let soaked_ns = self.soaker.as_ref().and_then(|soaker| soaker.cpu_ns).map(|ns| ns as f64);
        let readers = self.readers.as_ref().map(|_| self.latencies_s().len()).filter(|&count| count > 0);
        let of_side = |is_remote: bool| {
            let report = self.report.as_ref()?;
            let cpu = if is_remote { report.cpu_remote? } else { report.cpu };
            Some(cpu.user_ns as f64 + cpu.system_ns as f64)
        };
        let values = [
            cpu_ns,
            soaked_ns.zip(cpu_ns).map(|(soaked, own)| soaked - own),
            mean(&self.latencies_s()).map(|seconds| seconds * 1e9),
            (self.bytes > 0).then_some(self.bytes as f64),
            readers.map(|count| self.bytes as f64 / count as f64),
            of_side(false),
            of_side(true),
        ];
        if let Some(all) = fields.as_object_mut() {
            all.extend(
                COMPUTED.iter().zip(values).map(|((name, _), value)| (name.to_string(), value.into())),
            );
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{COMPLETED, ReaderRow};

    #[test]
    fn computed_fields_stand_beside_those_of_the_row() {
        let plain = Row { elapsed_ns: 9_000, bytes: 100, ..Row::default() }.fields();
        assert_eq!(plain["elapsed_ns"], 9_000);
        assert_eq!(plain["transfer_ns"].as_f64().map(f64::round), Some(9_000.0));
        for name in ["cpu_ns", "remaining_cpu_ns", "reader_bytes"] {
            assert!(plain[name].is_null(), "{name}");
        }
        let reader =
            |ns| ReaderRow { outcome: COMPLETED.into(), elapsed_ns: Some(ns), ..ReaderRow::default() };
        let readers = Some(vec![reader(1_000), reader(3_000)]);
        let row = Row {
            user_ns: Some(3),
            system_ns: Some(4),
            readers,
            bytes: 100,
            elapsed_ns: 9_000,
            ..Row::default()
        };
        let fields = row.fields();
        assert_eq!((fields["cpu_ns"].as_f64(), fields["reader_bytes"].as_f64()), (Some(7.0), Some(50.0)));
        assert_eq!(fields["transfer_ns"].as_f64().map(f64::round), Some(2_000.0));
    }

    /// A file of rows may have been written by anybody.
    #[test]
    fn times_that_no_run_took_have_a_sum() {
        let row = Row { user_ns: Some(u64::MAX), system_ns: Some(u64::MAX), ..Row::default() };
        assert_eq!(row.fields()["cpu_ns"].as_f64(), Some(2.0 * u64::MAX as f64));
    }

    #[test]
    fn no_field_of_a_row_has_the_name_of_a_computed_one() {
        let own = serde_json::to_value(Row::default()).expect("JSON");
        assert!(COMPUTED.iter().all(|(name, _)| own.get(name).is_none()));
    }

    #[test]
    fn the_page_names_the_computed_fields() {
        let page = include_str!("../../ROWS.md");
        for (name, words) in COMPUTED {
            assert!(page.contains(&format!("- `{name}`: {words}")), "{name}");
        }
    }
}
