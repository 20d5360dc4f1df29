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

mod beside_rsync;
mod disks;
mod hosts;
mod kills;
mod lab;
mod paths;
mod ssh;
mod swaps;
mod system;
