//! The studies that come with the program.
//!
//! Must not know: what is in them.

pub(crate) mod listed;
pub(crate) mod similar;

/// A study that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// The question that it and those around it answer.
    pub question: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($question:literal: $($name:literal),*;)*) => {
        /// All of them, in the order of a list.
        pub const STUDIES: &[BuiltIn] = &[$($(BuiltIn {
            question: $question,
            name: $name,
            text: include_str!(concat!("../../studies/", $name, ".toml")),
        }),*),*];
    };
}

built_in!(
    "Which request size, and which depth?":
        "depth", "disk-source", "disk-sink", "disk-sink-growth", "seqio", "seqio-sync", "seqio-fio",
        "tune";
    "What do a byte, a request and a wait cost?":
        "cpu", "cpu-waits", "waits-paced", "network", "network-parts", "remote-tls-cost", "bill-cost",
        "soaker-perturbation";
    "Do the parts predict the copy?":
        "parts-and-whole", "known-disks", "explain-prediction";
    "Is it the disk, or memory?":
        "disks", "stripe", "disk-net", "crossings", "access", "access-network";
    "Is it the network?":
        "udp-latency", "udp-throughput", "tcp-response", "tcp-recovery", "tcp-buffers", "tcp-sharing",
        "request-response", "applications";
    "How many readers?":
        "readers", "readers-paced";
    "How long does it take beside cp, rsync and others, on one host?":
        "peers-local-file", "peers-local-file-warm", "peers-local-file-nosync",
        "peers-local-file-verify", "peers-local-tree", "peers-local-tree-cold", "peers-local-tree-usr",
        "peers-local-tree-mixed", "peers-local-tree-update", "peers-local-tree-verify";
    "And between two?":
        "peers-remote-file", "peers-remote-tree", "start-remote", "resume-remote", "distance-file",
        "distance-tree", "distance-update", "distance-delete", "distance-backup";
    "Does it hold for large files, and for many?":
        "growth-size", "growth-files";
);

/// The study of this name.
pub fn find(name: &str) -> Option<BuiltIn> {
    STUDIES.iter().copied().find(|study| study.name == name)
}

#[cfg(test)]
mod tests;
