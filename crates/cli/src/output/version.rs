//! Version and build of this program.
//!
//! Must not know: where that is told.

/// `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Version, build, features and system: what a report of a problem should name.
pub const LONG_VERSION: &str = concat!(
    env!("PUMP_VERSION"),
    "\nfeatures: engines uring threads inline; hash blake3; TLS 1.3; \
     places path - null: ssh pump: http: stripe:; events v1"
);

/// The commit, with `-dirty` where files had changed since; without a repository the hash of this program's file.
pub fn build() -> &'static str {
    const COMMIT: &str = env!("PUMP_COMMIT");
    if COMMIT.is_empty() { datapump_lab::own_hash() } else { COMMIT }
}
