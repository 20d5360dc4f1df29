//! Tests of the program that need root, mounts, a network or minutes, by subject: `cargo xtask wider` runs them. They
//! are one program, as the ordinary ones are, and many run at once: most wait for a disk, a peer or a cable that is
//! cut. Those that measure the machine are apart by the path of their names, and nothing runs beside them.

#[path = "../web_parts/server.rs"]
#[expect(dead_code, reason = "ordinary tests use the rest")]
mod server;
#[path = "../support/mod.rs"]
mod support;
#[path = "../wider_parts/mod.rs"]
mod wider_parts;

mod measuring;

mod advice;
mod attributes;
mod attributes_lost;
mod backup_page;
mod box_path;
mod changed_trees;
mod coarse_clocks;
mod coarse_resume;
mod cut_mirrors;
mod dead_addresses;
mod devices;
mod differential;
mod disks;
mod distance;
mod doctor;
mod file_systems;
mod filters;
mod hosts_kills;
mod hosts_limits;
mod hosts_soak;
mod kills;
mod late_refusals;
mod limits;
mod lists;
mod live_trees;
mod long_path;
mod made;
mod mapped;
mod mounts_and_projects;
mod moved;
mod names_on_disk;
mod network;
mod owners;
mod report;
mod resume;
mod room;
mod room_limits;
mod shown_sources;
mod ssh;
mod ssh_settings;
mod ssh_start;
mod stacks;
mod studies;
mod tree_kills;
mod tree_swaps;
mod trees;
mod trees_bad_luck;
mod unmapped_owners;
mod zones;
