//! The tests of the library that may run beside each other. They are one program: each test program is linked by
//! itself, and cargo runs one after the other, while most of these wait for something (`RUST_TEST_THREADS`).

#[path = "../net_parts/mod.rs"]
mod net_parts;

mod chain;
mod datagrams;
mod ends;
mod golden;
mod pieces;
mod readme;
mod rehearsal;
mod stripes;
mod trees;
mod two_hosts;
mod two_hosts_control;
mod two_hosts_damage;
mod two_hosts_manners;
mod two_hosts_refused;
mod two_hosts_streams;
mod waits;
