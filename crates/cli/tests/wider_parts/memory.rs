//! The memory that a process takes.

/// The most that it has had so far; `None` if it has ended.
pub fn memory_max_bytes(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    Some(kibibytes << 10)
}

/// What a server takes besides its budget: the program, threads and their stacks, what a session keeps. A build with
/// debug information and checks takes more than the real one.
pub const BESIDES_BYTES: u64 = 64 << 20;
