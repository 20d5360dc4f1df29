//! Installs what the wider suites need: Debian packages, targets, cargo-fuzz. Quiet unless it fails.
//!
//! Must not know: which suite needs what.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, bail};

use crate::steps::{Steps, succeeds};

/// Installs the packages that are not there; what cannot be had is noted, and the tests that need it say so.
pub fn packages(steps: &mut Steps, names: &[&str]) -> Result<()> {
    let absent: Vec<&str> = names.iter().copied().filter(|name| !has_package(name)).collect();
    if absent.is_empty() {
        return steps.say(&format!("== packages: all there: {}", names.join(" ")));
    }
    if !succeeds("apt-get --version") {
        return steps
            .cannot(&format!("packages {}", absent.join(" ")), "no apt-get here: install them by hand");
    }
    if output("id -u").trim() != "0" {
        return steps.cannot(&format!("packages {}", absent.join(" ")), "not root: install them by hand");
    }
    let begun = Instant::now();
    let updated = quietly("apt-get -qq update");
    // All at once, and one by one only if that fails: one unknown name would keep all others away.
    if quietly(&install_line(&absent)).is_err() {
        for name in &absent {
            if let Err(error) = quietly(&install_line(&[name])) {
                let list = if updated.is_ok() { "" } else { " (the package lists could not be updated)" };
                steps.cannot(&format!("package {name}"), &format!("{error}{list}"))?;
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    steps.say(&format!("== packages: installed {} in {seconds:.1} s", absent.join(" ")))
}

/// Adds a target to the toolchain in use; false when it cannot be had.
pub fn target(steps: &mut Steps, name: &str) -> Result<bool> {
    if output("rustc --print sysroot").trim().is_empty() {
        bail!("no rustc");
    }
    if succeeds(&format!("ls {}/lib/rustlib/{name}/lib", output("rustc --print sysroot").trim())) {
        return Ok(true);
    }
    if !succeeds("rustup --version") {
        steps.cannot(&format!("target {name}"), "not installed, and no rustup to install it")?;
        return Ok(false);
    }
    match quietly(&format!("rustup target add {name}")) {
        Ok(()) => Ok(true),
        Err(error) => {
            steps.cannot(&format!("target {name}"), &error.to_string())?;
            Ok(false)
        }
    }
}

/// A nightly toolchain and cargo-fuzz; false when they cannot be had.
pub fn fuzzer(steps: &mut Steps) -> Result<bool> {
    let needed = [
        ("cargo +nightly --version", "rustup toolchain install nightly --profile minimal"),
        ("cargo +nightly fuzz --version", "cargo install --debug --locked cargo-fuzz"),
    ];
    for (probe, install) in needed {
        if succeeds(probe) {
            continue;
        }
        if let Err(error) = quietly(install) {
            steps.cannot("fuzz targets", &error.to_string())?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// The names of the fuzz targets.
pub fn fuzz_targets() -> Vec<String> {
    output("cargo +nightly fuzz list").split_whitespace().map(String::from).collect()
}

fn has_package(name: &str) -> bool {
    let status = output(&format!("dpkg-query --show --showformat=${{db:Status-Status}} {name}"));
    status.trim() == "installed"
}

fn install_line(names: &[&str]) -> String {
    format!(
        "DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends {}",
        names.join(" ")
    )
}

fn output(line: &str) -> String {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Runs a command and shows nothing; the error has the last lines that it printed.
fn quietly(line: &str) -> Result<()> {
    let output = Command::new("env").args(line.split_whitespace()).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut last: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    last.reverse();
    bail!("`{line}` failed ({}): {}", output.status, last.join(" | "))
}
