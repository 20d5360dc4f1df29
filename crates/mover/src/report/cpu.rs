//! CPU time of this process.
//!
//! Must not know: what it was spent on.

use datapump_core::verdict::Cpu;

/// CPU time of the process until now.
pub fn cpu_now() -> Cpu {
    let (user_ns, system_ns) = datapump_engine::os::linux::process_cpu_ns();
    Cpu { user_ns, system_ns }
}

/// CPU time since then.
pub fn cpu_since(start: Cpu) -> Cpu {
    let now = cpu_now();
    Cpu { user_ns: now.user_ns - start.user_ns, system_ns: now.system_ns - start.system_ns }
}
