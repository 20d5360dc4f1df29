//! Real disks and file systems: full, coarse, pulled out, mounted elsewhere.

mod attributes_lost;
mod coarse_clocks;
mod devices;
mod file_systems;
mod late_refusals;
mod lists;
mod mounts_and_projects;
mod moved;
mod names_on_disk;
mod room;
mod room_limits;
mod shown_sources;
mod trees_bad_luck;
mod unmapped_owners;
