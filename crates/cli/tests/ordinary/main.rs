//! The tests of the program that need nothing but it, by subject. They are one program: each test program is linked by
//! itself, and cargo runs one after the other, while most of these wait for something (`RUST_TEST_THREADS`).

#[path = "../web_parts/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;

mod attributes_compared;
mod attributes_left;
mod attributes_skipped;
mod backups;
mod bill;
mod changes;
mod charges;
mod cli;
mod copies;
mod doctor_paths;
mod file_flags;
mod habits;
mod hard_links;
mod hosts;
mod hosts_attributes;
mod hosts_shared;
mod hosts_silence;
mod hosts_stopped;
mod hosts_swaps;
mod hosts_traced;
mod hosts_unreached;
mod itemized;
mod lab_access;
mod lab_binaries;
mod lab_cost;
mod lab_crossings;
mod lab_disks;
mod lab_many_readers;
mod lab_pages;
mod lab_profile;
mod lab_readers;
mod lab_request_response;
mod lab_scrub;
mod lab_simulate;
mod lab_udp;
mod lists;
mod mirror_command;
mod mirrors;
mod over_ssh;
mod refusals;
mod report_file;
mod resume;
mod secrets;
mod selection;
mod special_arguments;
mod stripe;
mod target_in_source;
mod temporary_names;
mod trees;
mod trees_deep;
mod trees_told;
mod tune;
mod type_changes;
mod uncached;
mod update_modes;
mod verify_attributes;
mod verify_sees_all;
mod web;
