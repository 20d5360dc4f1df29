//! The tables of the founding documents, as they were transcribed (golden/README.md says of which each is).
//!
//! Must not know: what is made of them.

use std::path::Path;

use crate::judge::cost::CsvTable;
use crate::judge::cost::InputError;

/// A table that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedTable {
    /// Its file.
    pub name: &'static str,
    /// Its content.
    pub text: &'static str,
}

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        /// All of them.
        pub const TABLES: &[PublishedTable] = &[$(PublishedTable {
            name: $name,
            text: include_str!(concat!("../../../golden/", $name)),
        }),*];
    };
}

tables!(
    "datapump_bandwidth_steps.csv",
    "datapump_experiments.csv",
    "datapump_model_parameters.csv",
    "datapump_scalars.csv",
    "datapump_scenarios.csv",
    "datapump_table1_disk_source.csv",
    "datapump_table2_disk_sink.csv",
    "datapump_table3_network_sender.csv",
    "datapump_table4_network_receiver.csv",
    "datapump_table5_local_copy.csv",
    "datapump_table6_network_copy_sender.csv",
    "datapump_table8_components.csv",
    "disk_network_interaction.csv",
    "disk_parameters.csv",
    "gms_benchmark.csv",
    "gms_trapeze.csv",
    "interrupt_coalescence.csv",
    "legion_1file_latency.csv",
    "legion_stddev.csv",
    "nt4_costs.csv",
    "nt4_observations.csv",
    "pci_bus.csv",
    "raid_rates.csv",
    "ref_bdp.csv",
    "ref_depth.csv",
    "ref_dynamic_depth.csv",
    "ref_hstcp_table.csv",
    "ref_jain.csv",
    "ref_legion_fit.csv",
    "ref_linear_fit.csv",
    "ref_pipeline.csv",
    "ref_reno_recovery.csv",
    "ref_response_function.csv",
    "ref_slow_start.csv",
    "ref_stack_recovery.csv",
    "ref_udp_line_rate.csv",
    "remote_farm.csv",
    "tcp_apps_rates.csv",
    "tcp_disk_transfers.csv",
    "tcp_recovery.csv",
    "tcp_sharing.csv",
    "tcp_stack_parameters.csv",
    "ten_gig_udp.csv",
    "udp_latency.csv",
    "udp_throughput.csv",
);

/// The table of this name.
///
/// Errors: there is none; it is no table.
pub fn table(name: &str) -> Result<CsvTable, InputError> {
    let found = TABLES.iter().find(|table| table.name == name);
    let found = found
        .ok_or_else(|| InputError::of_file(Path::new(name), "there is no published table of this name"))?;
    CsvTable::parse(Path::new(name), found.text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_folder_is_here_and_is_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
            .filter(|name| name.ends_with(".csv"))
            .collect();
        files.sort();
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        assert_eq!(names, files);
        for name in names {
            assert!(table(name).expect(name).rows().count() > 0, "{name}");
        }
        assert!(table("none.csv").expect_err("no such table").to_string().contains("none.csv"));
    }
}
