//! Prediction of a chain from the costs of its parts.
//!
//! Must not know: how the parts were fitted, how the prediction is shown.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::input::InputError;
use crate::judge::cost::parts::{CostPart, predict, sum};
use crate::judge::cost::table::CsvTable;

/// The parts of a file, in its order.
#[derive(Debug)]
pub struct PartsFile {
    path: PathBuf,
    parts: Vec<CostPart>,
}

/// What a chain costs at a request size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChainPrediction {
    /// The components.
    pub chain: Vec<String>,
    /// Sum of their costs for a byte, in nanoseconds.
    pub cb_ns_per_byte: f64,
    /// Sum of their costs for a request, in microseconds.
    pub cr_us_per_request: f64,
    /// Bytes of a request.
    pub request_size_bytes: u64,
    /// CPU time for a byte, in nanoseconds.
    pub ns_per_byte: f64,
}

impl PartsFile {
    /// Reads a table with the columns `component,cb_ns_per_byte,cr_us_per_request`.
    ///
    /// Errors: what the system says; an [`InputError`] for what is not in order.
    pub fn read(path: &Path) -> anyhow::Result<PartsFile> {
        let table = CsvTable::read(path)?;
        table.require(&["component", "cb_ns_per_byte", "cr_us_per_request"])?;
        let mut parts: Vec<CostPart> = Vec::new();
        for row in table.rows() {
            let component = row.text("component")?.to_string();
            if component.is_empty() {
                return Err(row.wrong("the component has no name").into());
            }
            if parts.iter().any(|part| part.component == component) {
                return Err(row.wrong(format!("'{component}' is there twice; take one of them out")).into());
            }
            let cb_ns_per_byte = row.number("cb_ns_per_byte")?;
            parts.push(CostPart {
                component,
                cb_ns_per_byte,
                cr_us_per_request: row.number("cr_us_per_request")?,
            });
        }
        Ok(PartsFile { path: path.into(), parts })
    }

    /// A part by its name.
    pub fn part(&self, component: &str) -> Result<&CostPart, InputError> {
        let found = self.parts.iter().find(|part| part.component == component);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.parts.iter().map(|part| part.component.as_str()).collect();
            let message = format!("unknown component '{component}'; there are: {}", names.join(", "));
            InputError::of_file(&self.path, message)
        })
    }

    /// The sum of the named parts.
    pub fn chain(&self, components: &[String]) -> Result<CostPart, InputError> {
        if components.is_empty() {
            return Err(InputError::asked("the chain has no component"));
        }
        let parts = components.iter().map(|component| self.part(component)).collect::<Result<Vec<_>, _>>()?;
        Ok(sum(&components.join(","), parts))
    }

    /// What the chain costs at each request size; sizes are above 0.
    pub fn predict(&self, components: &[String], sizes: &[u64]) -> Result<Vec<ChainPrediction>, InputError> {
        let chain = self.chain(components)?;
        let at = |&request_size_bytes: &u64| ChainPrediction {
            chain: components.to_vec(),
            cb_ns_per_byte: chain.cb_ns_per_byte,
            cr_us_per_request: chain.cr_us_per_request,
            request_size_bytes,
            ns_per_byte: predict(&chain, request_size_bytes as f64),
        };
        Ok(sizes.iter().map(at).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::cost::tests::golden;

    fn chain(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn the_chains_of_the_paper() {
        let parts = PartsFile::read(&golden("datapump_table8_components.csv")).expect("the parts");
        for (names, cb, cr, at_64_kib) in [
            (&["disk_source", "pump", "disk_sink"][..], 2.1, 139.0, 4.221),
            (&["disk_source", "pump", "network_sink"], 20.5, 106.0, 22.117),
            (&["network_source", "pump", "disk_sink"], 41.6, 73.0, 42.714),
        ] {
            let got = parts.predict(&chain(names), &[65_536]).expect("known parts").remove(0);
            assert!((got.cb_ns_per_byte - cb).abs() < 1e-9 && (got.cr_us_per_request - cr).abs() < 1e-9);
            assert!((got.ns_per_byte - at_64_kib).abs() < 1e-3, "{got:?}");
        }
    }

    #[test]
    fn unknown_and_missing_components_are_refused() {
        let parts = PartsFile::read(&golden("datapump_table8_components.csv")).expect("the parts");
        for (names, complaint) in [
            (&["pump", "tape"][..], "unknown component 'tape'; there are: pump, disk_source"),
            (&[], "no component"),
        ] {
            let error = parts.predict(&chain(names), &[1]).expect_err(complaint).to_string();
            assert!(error.contains(complaint), "{error}");
        }
    }

    #[test]
    fn files_of_parts_that_are_not_in_order_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parts.csv");
        for (text, complaint) in [
            ("component,cb_ns_per_byte\na,1\n", "parts.csv, line 1: no column `cr_us_per_request`"),
            (
                "component,cb_ns_per_byte,cr_us_per_request\na,1,fast\n",
                "parts.csv, line 2: `cr_us_per_request`",
            ),
            ("component,cb_ns_per_byte,cr_us_per_request\na,1,2\na,1,2\n", "line 3: 'a' is there twice"),
            ("component,cb_ns_per_byte,cr_us_per_request\n,1,2\n", "line 2: the component has no name"),
        ] {
            std::fs::write(&path, text).expect("writable");
            let error = PartsFile::read(&path).expect_err(complaint);
            assert!(error.is::<InputError>() && error.to_string().contains(complaint), "{error:#}");
        }
        assert!(!PartsFile::read(&folder.path().join("none")).expect_err("no file").is::<InputError>());
    }
}
