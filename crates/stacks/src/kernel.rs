//! Checks what the kernel has, and who may load something into it.
//!
//! Must not know: how an algorithm is loaded.

use crate::LoadableStack;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The names of what connections may use, in this network namespace as in all others.
pub fn available() -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(AVAILABLE).map_err(|error| format!("{AVAILABLE}: {error}"))?;
    Ok(text.split_whitespace().map(String::from).collect())
}

/// Before anything else: the kernel's own answer to others says only that something is not permitted.
pub fn root_only() -> Result<(), String> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err("only root loads something into the kernel".into())
    }
}

/// Nothing is called unloaded that is there.
pub fn has_none_of(stacks: &[LoadableStack]) -> Result<(), String> {
    let available = available()?;
    match stacks.iter().find(|stack| available.iter().any(|name| name == stack.as_str())) {
        Some(stack) => {
            Err(format!("{} is still in the kernel: somebody else loaded it, too", stack.as_str()))
        }
        None => Ok(()),
    }
}
