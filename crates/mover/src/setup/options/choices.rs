//! Choices that options have: the engine, how it waits, direct I/O, syncs.
//!
//! Must not know: flags' names, what a choice costs.

use serde::{Deserialize, Serialize};

/// A choice that the program makes unless told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// The measured rule decides.
    #[default]
    Auto,
    /// Required: it is an error if it cannot be had.
    Always,
    /// Forbidden.
    Never,
}

/// The engine asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineChoice {
    /// The first that works: uring, threads, inline.
    #[default]
    Auto,
    /// io_uring(7), or the next that works.
    Uring,
    /// Threads, or the next that works.
    Threads,
    /// One request at a time.
    Inline,
}

/// How a lane waits when nothing is complete. The inline engine has nothing in flight and never waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitChoice {
    /// Asleep in the kernel.
    #[default]
    Kernel,
    /// Awake, looking again and again: a CPU for the time of being woken.
    Spin,
    /// Asleep at an eventfd(2), with poll(2).
    Eventfd,
}

/// When data are put on stable storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sync {
    /// Before the job ends with status 0.
    #[default]
    End,
    /// Before each name appears. For single files the same as `End`: each is synced before its rename.
    Each,
    /// Never asked for: as cp.
    None,
}

datapump_core::in_words! {
    Choice is "choice" {
        Auto "auto" "The program decides by a measured rule"
        Always "always" "Required: an error where it cannot be had"
        Never "never" "Forbidden"
    }
}

datapump_core::in_words! {
    EngineChoice is "engine" {
        Auto "auto" "The first that works here"
        Uring "uring" "io_uring: many requests with one system call"
        Threads "threads" "One thread for each request in flight"
        Inline "inline" "One request at a time"
    }
}

datapump_core::in_words! {
    WaitChoice is "way to wait" {
        Kernel "kernel" "Asleep in the kernel"
        Spin "spin" "Awake: looks again and again, and uses up a CPU"
        Eventfd "eventfd" "Asleep at an eventfd, for studies"
    }
}

datapump_core::in_words! {
    Sync is "kind of sync" {
        End "end" "Before the command ends"
        Each "each" "Before each name appears"
        None "none" "Never asked for"
    }
}
