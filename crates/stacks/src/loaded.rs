//! Algorithms in the kernel, for as long as this process holds them.
//!
//! Each is a struct_ops with a link that is pinned nowhere: the kernel drops it with the process, however that ends.
//! Must not know: what the algorithms do; who may load them; when they are to go.

use clap::ValueEnum as _;
use libbpf_rs::{ErrorExt as _, Link, MapCore as _, ObjectBuilder, OpenObject, PrintLevel, set_print};

use crate::LoadableStack;

/// For `--version`.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (with BPF)");

/// Compiled by `build.rs`.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stacks.bpf.o"));

/// What holds them.
pub struct LoadedStacks {
    links: Vec<Link>,
}

impl LoadedStacks {
    /// As the kernel does if this process is killed.
    pub fn unload(self) {
        drop(self.links);
    }
}

/// Loads each of them, or none.
///
/// Errors: what the kernel says.
pub fn load(stacks: &[LoadableStack]) -> Result<LoadedStacks, String> {
    // What goes wrong is told once, by the error.
    set_print(None::<(PrintLevel, fn(PrintLevel, String))>);
    if stacks.is_empty() {
        return Ok(LoadedStacks { links: Vec::new() });
    }
    let mut object = open(stacks).map_err(refused)?.load().map_err(refused)?;
    let is_named = |name: &str| stacks.iter().any(|stack| stack.as_str() == name);
    let named = object.maps_mut().filter(|map| map.name().to_str().is_some_and(is_named));
    let links = named.map(|mut map| map.attach_struct_ops()).collect::<Result<_, _>>();
    Ok(LoadedStacks { links: links.map_err(refused)? })
}

/// This one can.
pub fn is_built() -> Result<(), String> {
    Ok(())
}

/// The kernel is given no program of an algorithm that was not asked for.
fn open(stacks: &[LoadableStack]) -> libbpf_rs::Result<OpenObject> {
    let mut object = ObjectBuilder::default().open_memory(OBJECT)?;
    let others: Vec<_> = LoadableStack::value_variants().iter().filter(|it| !stacks.contains(it)).collect();
    for mut map in object.maps_mut() {
        if others.iter().any(|other| map.name() == other.as_str()) {
            map.set_autocreate(false)?;
        }
    }
    Ok(object)
}

fn refused(error: libbpf_rs::Error) -> String {
    let error = error.context("the kernel does not take the BPF");
    format!(
        "{error:#}; it takes Linux 6.4, CAP_BPF, CAP_NET_ADMIN, BTF (/sys/kernel/btf/vmlinux) and a BPF JIT"
    )
}
