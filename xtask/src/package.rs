//! Packages of a release under `target/packages/`: a static program, a Debian package with manual pages and
//! completions, and their checksums. The package is made by Debian's own tool (dpkg-deb), of files that lie as they are
//! installed.
//!
//! Must not know: commands of pump, but that it prints its own manual and completions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::install;
use crate::steps::{Step, Steps};

/// Where glibc is not: the program needs nothing of the host but its kernel.
const TARGET: &str = "x86_64-unknown-linux-musl";
/// Built only: nothing here runs it.
const OTHER_TARGET: &str = "aarch64-unknown-linux-gnu";
const TOOLS: &[&str] = &["musl-tools", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "dpkg-dev"];
/// The static program, stripped.
const PROGRAM_BYTES_MAX: u64 = 15_000_000;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds the packages.
pub fn run(root: &Path) -> Result<()> {
    let mut steps = Steps::new(root, None);
    install::packages(&mut steps, TOOLS)?;
    ensure!(
        install::target(&mut steps, TARGET)?,
        "the target {TARGET} is needed: rustup target add {TARGET}"
    );
    steps.run(&of_static_program())?;
    let folder = target_folder(root).join("packages");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove '{}'", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("make '{}'", folder.display()))?;
    let program = folder.join(format!("pump-{VERSION}-x86_64-linux"));
    fs::copy(target_folder(root).join(TARGET).join("release/pump"), &program).context("copy the program")?;
    let bytes = fs::metadata(&program)?.len();
    ensure!(bytes <= PROGRAM_BYTES_MAX, "the program has {bytes} bytes, more than {PROGRAM_BYTES_MAX}");
    let package = debian_package(root, &folder, &program)?;
    checksums(&folder, &[&program, &package])?;
    for path in [&program, &package] {
        steps.say(&format!("== {} bytes: {}", fs::metadata(path)?.len(), path.display()))?;
    }
    if install::target(&mut steps, OTHER_TARGET)? {
        let linker = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc";
        let line = format!("{linker} cargo build --release --locked -p pump --target {OTHER_TARGET}");
        steps.run(&Step::new("the program for aarch64", &line))?;
    }
    steps.close()
}

/// Installs the package, uses it, and purges it: nothing of it may stay. For `wider --full`, as root.
pub fn try_package(steps: &mut Steps, root: &Path) -> Result<()> {
    let package = target_folder(root).join("packages").join(package_name());
    steps.run(&Step::new("the package is installed", &format!("dpkg -i {}", package.display())))?;
    let files = output(Command::new("dpkg").args(["-L", "pump"]))?;
    let used = used(steps);
    steps.run(&Step::new("the package is purged", "dpkg --purge pump"))?;
    used?;
    let left: Vec<&str> =
        files.lines().filter(|line| line.contains("pump") && Path::new(line).exists()).collect();
    ensure!(left.is_empty(), "left behind by the package: {left:?}");
    Ok(())
}

fn used(steps: &mut Steps) -> Result<()> {
    for line in ["/usr/bin/pump --version", "/usr/bin/pump copy null:1GiB null:", "man -w pump-copy"] {
        steps.run(&Step::new("the package is used", line))?;
    }
    Ok(())
}

fn of_static_program() -> Step {
    // Of a package with an entry of its own in the profile (`opt-level`) cargo takes `strip` from that entry alone.
    let line = format!(
        "CC_x86_64_unknown_linux_musl=musl-gcc cargo build --release --locked -p pump --target {TARGET} --config \
         profile.release.package.pump.strip=true"
    );
    Step::new("the static program", &line)
}

pub fn target_folder(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

fn package_name() -> String {
    format!("pump_{VERSION}_amd64.deb")
}

/// Lays the files out as they are installed, and packs them.
fn debian_package(root: &Path, folder: &Path, program: &Path) -> Result<PathBuf> {
    let tree = folder.join("tree");
    put(&tree, "usr/bin/pump", &fs::read(program)?, 0o755)?;
    for path in pages(program)? {
        let name = if path.is_empty() { "pump".to_string() } else { format!("pump-{}", path.join("-")) };
        let page = output(Command::new(program).arg("man").args(&path))?;
        put(&tree, &format!("usr/share/man/man1/{name}.1"), page.as_bytes(), 0o644)?;
    }
    for (shell, path) in [
        ("bash", "usr/share/bash-completion/completions/pump"),
        ("zsh", "usr/share/zsh/vendor-completions/_pump"),
        ("fish", "usr/share/fish/vendor_completions.d/pump.fish"),
    ] {
        let words = output(Command::new(program).args(["completions", shell]))?;
        put(&tree, path, words.as_bytes(), 0o644)?;
    }
    put(&tree, "usr/share/doc/pump/changelog", &fs::read(root.join("CHANGELOG.md"))?, 0o644)?;
    put(&tree, "usr/share/doc/pump/copyright", copyright(root)?.as_bytes(), 0o644)?;
    let pages = tree.join("usr/share/man/man1");
    gzip(&[pages, tree.join("usr/share/doc/pump/changelog")])?;
    put(&tree, "DEBIAN/control", control(&tree)?.as_bytes(), 0o644)?;
    let package = folder.join(package_name());
    let mut pack = Command::new("dpkg-deb");
    output(pack.args(["--root-owner-group", "--build"]).arg(&tree).arg(&package))?;
    fs::remove_dir_all(&tree)?;
    Ok(package)
}

fn put(tree: &Path, path: &str, content: &[u8], mode: u32) -> Result<()> {
    let path = tree.join(path);
    let folder = path.parent().expect("it lies in a folder");
    fs::create_dir_all(folder).with_context(|| format!("make '{}'", folder.display()))?;
    fs::write(&path, content).with_context(|| format!("write '{}'", path.display()))?;
    Ok(fs::set_permissions(&path, fs::Permissions::from_mode(mode))?)
}

/// The commands that have a page of the manual, each by its words: of pump itself none. Commands stand indented under a
/// heading in the help of the one that they belong to.
fn pages(program: &Path) -> Result<Vec<Vec<String>>> {
    let (mut pages, mut waiting) = (Vec::new(), vec![Vec::<String>::new()]);
    while let Some(path) = waiting.pop() {
        let help = output(Command::new(program).args(&path).arg("--help"))?;
        let below = commands(&help).into_iter().filter(|name| name != "help");
        waiting.extend(below.map(|name| [&path[..], &[name]].concat()));
        pages.push(path);
    }
    Ok(pages)
}

fn commands(help: &str) -> Vec<String> {
    let behind = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = behind.take_while(|line| !line.is_empty());
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    listed.filter(is_name).filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn copyright(root: &Path) -> Result<String> {
    let header = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
                  Upstream-Name: Datapump\n\nFiles: *\nLicense: MIT or Apache-2.0\n\n";
    let texts = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| fs::read_to_string(root.join(name)));
    let [mit, apache] = texts;
    Ok(format!("{header}{}\n{}", mit.context("LICENSE-MIT")?, apache.context("LICENSE-APACHE")?))
}

/// As debian-policy wants it: names and times of compressed files are not kept.
fn gzip(paths: &[PathBuf]) -> Result<()> {
    output(Command::new("gzip").args(["-9", "-n", "-r"]).args(paths)).map(drop)
}

fn control(tree: &Path) -> Result<String> {
    let bytes = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(tree))?;
    let kib = bytes.split_whitespace().next().context("du prints a size")?;
    Ok(format!(
        "Package: pump\nVersion: {VERSION}\nArchitecture: amd64\nMaintainer: The Datapump authors <pump@localhost>\n\
         Installed-Size: {kib}\nSection: utils\nPriority: optional\n\
         Description: moves data between disks, and says which part limits it\n \
         Copies files and folders on one host or between two, safely and as fast as the\n \
         slowest part between them allows, and measures each part.\n"
    ))
}

/// In the form that `sha256sum --check` reads.
fn checksums(folder: &Path, files: &[&PathBuf]) -> Result<()> {
    let names = files.iter().filter_map(|path| path.file_name());
    let sums = output(Command::new("sha256sum").args(names).current_dir(folder))?;
    fs::write(folder.join("SHA256SUMS"), sums).context("write SHA256SUMS")
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?} cannot be started"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn commands_stand_indented_below_their_heading() {
        let listed =
            "  copy         Copy files\n  mirror       Make a\n               copy\n  help         Print\n";
        let help = format!("Moves data\n\nCommands:\n{listed}\nOptions:\n  -h, --help\n");
        assert_eq!(commands(&help), ["copy", "mirror", "help"]);
        assert!(commands("Print hashes\n\nOptions:\n  -h\n").is_empty());
    }
}
