//! In the place of `loaded.rs` in a build that loads nothing: says what it lacks.
//!
//! Must not know: the kernel.

use crate::LoadableStack;

/// For `--version`.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (without BPF: loads nothing)");

/// Nothing, ever.
pub struct AbsentStacks;

impl AbsentStacks {
    /// Nothing is held.
    pub fn unload(self) {}
}

/// Not reached: `is_built` comes first.
pub fn load(_: &[LoadableStack]) -> Result<AbsentStacks, String> {
    is_built().map(|()| AbsentStacks)
}

/// Why not.
pub fn is_built() -> Result<(), String> {
    let needs = if cfg!(target_os = "linux") {
        "needs clang, libbpf-dev, libelf-dev, zlib1g-dev, pkg-config and make (Debian's names); then: \
         cargo build --release -p pump-stacks --features bpf-cc"
    } else {
        "is Linux's alone"
    };
    Err(format!("this build can load nothing into the kernel: it lacks the feature bpf-cc, which {needs}"))
}
