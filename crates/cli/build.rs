//! Finds out which commit is built, for reports and rows: `PUMP_COMMIT`, empty where there is no repository, and
//! `PUMP_VERSION`, the version with the commit behind it.

use std::process::Command;

/// What a program is made of. Documents and tests are not.
const SOURCES: [&str; 13] = [
    "crates/cli/src",
    "crates/core/src",
    "crates/datapump/src",
    "crates/engine/src",
    "crates/files/src",
    "crates/lab/src",
    "crates/lab/studies",
    "crates/mover/src",
    "crates/netlab/src",
    "crates/sessions/src",
    "crates/transport/src",
    "crates/trees/src",
    "Cargo.lock",
];

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo gives it");
    let commit = commit();
    println!("cargo::rustc-env=PUMP_COMMIT={}", commit.as_deref().unwrap_or_default());
    match commit {
        Some(commit) => println!("cargo::rustc-env=PUMP_VERSION={version} ({commit})"),
        None => println!("cargo::rustc-env=PUMP_VERSION={version}"),
    }
    SOURCES.iter().for_each(|path| println!("cargo::rerun-if-changed=../../{path}"));
    // A commit and a checkout add a line.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed=../../{log}");
    }
}

/// The commit, with `-dirty` where files have changed since; `None` where these files are in no repository of their
/// own.
fn commit() -> Option<String> {
    git(&["rev-parse", "--show-prefix"]).filter(String::is_empty)?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Another process may be at work on the repository: nothing of it is locked or written.
    let changed = git(&[&["--no-optional-locks", "status", "--porcelain", "--"], &SOURCES[..]].concat())?;
    Some(if changed.is_empty() { commit } else { commit + "-dirty" })
}

/// What git says in the root of the tree; `None` where it fails or is not there.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).current_dir("../..").output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}
