//! The programs that runs are of: this one, or two of which the runs of a study are compared, and their builds.
//!
//! Two that are compared are two levels of the factor `binary`. Must not know: how a run is performed.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, bail};

use crate::row::Row;
use crate::study::{BINARY, BINARY_LEVELS, Cell, Level};

/// Digits of a hash that stand for a build: 64 bits.
const HASH_DIGITS: usize = 16;

/// A program and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// Its commit, or the hash of its file.
    pub build: String,
    /// Whether it is another one than this: its jobs are run by it, not here.
    pub is_other: bool,
}

/// One program, or two that are compared.
#[derive(Clone, Debug)]
pub struct Programs(Vec<Program>);

impl Programs {
    /// This program, of this build if it is known; commands may be given another file of it.
    pub fn this(path: Option<&Path>, build: Option<&str>) -> anyhow::Result<Programs> {
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => std::env::current_exe().context("find this program's own file")?,
        };
        let build = build.map_or_else(|| own_hash().clone(), str::to_owned);
        Ok(Programs(vec![Program { path, build, is_other: false }]))
    }

    /// Two that are compared.
    ///
    /// Errors: a file that is not there, or does not run as `pump --version`.
    pub fn two(paths: &[PathBuf; 2]) -> anyhow::Result<Programs> {
        Ok(Programs(paths.iter().map(|path| Program::other(path)).collect::<anyhow::Result<_>>()?))
    }

    /// The program of a cell's runs.
    pub fn program_of(&self, cell: &Cell) -> &Program {
        self.of_levels(&cell.levels)
    }

    fn of_levels(&self, levels: &BTreeMap<String, Level>) -> &Program {
        let is_second = levels.get(BINARY) == Some(&Level::from(BINARY_LEVELS[1]));
        &self.0[usize::from(is_second) % self.0.len()]
    }

    /// Rows of a program that was built anew would be taken for those of the new one.
    ///
    /// Errors: a row of two that are compared is of another build than the program is now.
    pub fn check_builds(&self, done: &[Row], out: &Path) -> anyhow::Result<()> {
        let other = done.iter().filter(|_| self.0.len() > 1).find_map(|row| {
            let program = self.of_levels(&row.asked);
            (row.build != program.build).then_some((row, program))
        });
        let Some((row, program)) = other else { return Ok(()) };
        bail!(
            "{} has rows of the build {}, and {} is {}; name another file with --out",
            out.display(),
            row.build,
            program.path.display(),
            program.build
        )
    }

    /// All of them.
    pub fn all(&self) -> &[Program] {
        &self.0
    }
}

impl Program {
    fn other(path: &Path) -> anyhow::Result<Program> {
        let path = std::fs::canonicalize(path).with_context(|| format!("the program {}", path.display()))?;
        let said = version_of(&path).with_context(|| format!("run {} --version", path.display()))?;
        if !said.starts_with("pump ") {
            bail!("{}: this is not a pump: --version says '{}'", path.display(), first_line(&said));
        }
        let build = build_in(&said).map_or_else(|| hash_of(&path), |build| Ok(build.into()))?;
        Ok(Program { path, build, is_other: true })
    }
}

/// The first line of what a program prints in the place of a version.
fn first_line(said: &str) -> String {
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    datapump::shown(line.trim().as_bytes())
}

/// The beginning of what it prints.
fn version_of(path: &Path) -> anyhow::Result<String> {
    const BYTES_MAX: u64 = 4096;
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut said = String::new();
    child.stdout.take().context("no output")?.take(BYTES_MAX).read_to_string(&mut said)?;
    child.wait()?;
    Ok(said)
}

/// `45bb31102f00` of `pump 0.1.0 (45bb31102f00)`; versions before 0.2 do not say it.
fn build_in(said: &str) -> Option<&str> {
    said.lines().next()?.split_once('(')?.1.strip_suffix(')')
}

/// The build of this program where nothing else tells it. Its file is read once.
pub fn own_hash() -> &'static String {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let path = std::env::current_exe().map_err(anyhow::Error::from);
        path.and_then(|path| hash_of(&path)).unwrap_or_else(|_| "unknown".into())
    })
}

/// `blake3:` and the first digits of the hash of a file.
fn hash_of(path: &Path) -> anyhow::Result<String> {
    let read = || format!("read {}", path.display());
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(path).with_context(read)?).with_context(read)?;
    Ok(format!("blake3:{}", &hasher.finalize().to_hex()[..HASH_DIGITS]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_its_build_or_is_known_by_its_file() {
        for (said, build) in [
            ("pump 0.1.0 (45bb31102f00-dirty)\nfeatures: x (y)\n", Some("45bb31102f00-dirty")),
            ("pump 0.1.0\nfeatures: x (y)\n", None),
            ("", None),
        ] {
            assert_eq!(build_in(said), build, "{said}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "").expect("room");
        assert_eq!(hash_of(&path).expect("readable"), "blake3:af1349b9f5f9a1a6");
        assert!(Programs::two(&["/nothing/here".into(), path]).is_err());
        let other = Program::other(Path::new("/bin/sh"));
        assert!(other.is_err(), "{other:?}");
    }

    #[test]
    fn another_program_is_refused_in_one_line() {
        for (said, line) in [
            ("cp (GNU coreutils) 9.4\nCopyright (C) 2023\nLicense GPLv3+\n", "cp (GNU coreutils) 9.4"),
            ("\n \n hello \nworld", "hello"),
            ("", ""),
        ] {
            assert_eq!(first_line(said), line, "{said}");
        }
    }

    #[test]
    fn a_cell_says_which_of_two_programs_it_is_of() {
        let program = |name: &str| Program { path: name.into(), build: name.into(), is_other: true };
        let cell = |level: Option<&str>| Cell {
            levels: level.into_iter().map(|level| (BINARY.to_owned(), Level::from(level))).collect(),
            repeats: 1,
            check: Vec::new(),
        };
        let two = Programs(vec![program("one"), program("other")]);
        assert_eq!(
            (two.program_of(&cell(Some("a"))), two.program_of(&cell(Some("b")))),
            (&program("one"), &program("other"))
        );
        let one = Programs(vec![program("one")]);
        assert_eq!(one.program_of(&cell(None)), &program("one"));
    }
}
