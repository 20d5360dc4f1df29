//! The program of 0.1.0, built from this repository's history: this version is tested beside it.
//!
//! Must not know: what is tested with it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::steps::{Step, Steps, succeeds};

/// Names the program for the tests; whoever has one sets it.
pub const VARIABLE: &str = "DATAPUMP_BINARY_OF_BEFORE";
/// The last commit of 0.1.0.
const COMMIT: &str = "d284a9a08f06";
const NAME: &str = "0.1.0 beside this version";

/// The program: the one that the variable names, or one that is built below `target`, which takes as long as a release.
pub fn program(steps: &mut Steps, target: &Path, may_build: bool) -> Result<Option<PathBuf>> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return Ok(Some(path.into()));
    }
    if !may_build {
        steps.say(&format!("== left to --full: {NAME} ({VARIABLE} may name a program of 0.1.0)"))?;
        return Ok(None);
    }
    if !succeeds(&format!("git cat-file -e {COMMIT}^{{commit}}")) {
        steps.cannot(NAME, &format!("this clone has no commit {COMMIT}: fetch the whole history"))?;
        return Ok(None);
    }
    let folder = target.join("before");
    let (source, build, at) = (folder.join("source"), folder.join("build"), folder.display());
    std::fs::create_dir_all(&source)?;
    let manifest = source.join("Cargo.toml");
    for line in [
        format!("git archive --output={at}/source.tar {COMMIT}"),
        format!("tar --extract --file={at}/source.tar --directory={}", source.display()),
        format!(
            "CARGO_TARGET_DIR={} cargo build --release --locked -p pump --manifest-path {}",
            build.display(),
            manifest.display()
        ),
    ] {
        steps.run(&Step::new("the program of 0.1.0", &line))?;
    }
    Ok(Some(build.join("release/pump")))
}
