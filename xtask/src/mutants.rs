//! Plants known bugs one by one in a copy of the tree and shows which test catches each.
//!
//! A bug that no test catches fails the chore; so does one whose place is gone, or that does not build.
//! Must not know: how the tests catch bugs.

mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use table::MUTANTS;
pub use table::Mutant;

use crate::statements::{self, Mutation};

/// Seconds after which a run counts as caught, because a bug may keep the loop from ending; building included.
/// Without a bug the slower of the two suites takes about a minute on two cores.
const SECONDS_MAX: u32 = 900;

/// The suites that should catch the bugs, by column.
const SUITES: [(&str, &str); 2] = [
    ("simulation", "cargo test --release -p datapump --test simulation"),
    ("core", "cargo test -p datapump-core --no-fail-fast"),
];

/// How one suite ended.
enum Verdict {
    /// It passed.
    Passed,
    /// It failed: in which test, with which seed.
    Failed { test: String, seed: Option<String> },
    /// It did not build.
    Broken(String),
}

/// Looks whether every planted bug has exactly one place.
pub fn check(root: &Path) -> Result<()> {
    for mutant in MUTANTS {
        place(root, mutant)?;
    }
    println!("{} planted bugs, each with its place", MUTANTS.len());
    Ok(())
}

/// Plants all bugs, or the one of this name.
pub fn run(root: &Path, name: Option<&str>) -> Result<()> {
    let mutants: Vec<&Mutant> =
        MUTANTS.iter().filter(|mutant| name.is_none_or(|name| name == mutant.name)).collect();
    let names = MUTANTS.iter().map(|mutant| mutant.name).collect::<Vec<_>>().join(", ");
    ensure!(!mutants.is_empty(), "no such planted bug; there are: {names}");
    check(root)?;

    let copy = Copy::new(root)?;
    println!("without a bug, both suites must pass:");
    for (suite, line) in SUITES {
        let begun = Instant::now();
        match copy.verdict(line)? {
            Verdict::Passed => println!("  {suite}: passed in {:.0} s", begun.elapsed().as_secs_f64()),
            Verdict::Failed { test, .. } => bail!("{suite} fails without any bug: {test}"),
            Verdict::Broken(why) => bail!("{suite} does not build without any bug: {why}"),
        }
    }
    let mut survivors = Vec::new();
    println!("\n| planted bug | simulation, 1,000 seeds | tests of core |\n|---|---|---|");
    for mutant in mutants {
        let cells = copy.with(mutant, |copy| SUITES.map(|(_, line)| copy.verdict(line)))?;
        let [simulation, core] = cells.map(|cell| cell.and_then(|verdict| cell_text(&verdict, mutant)));
        let (simulation, core) = (simulation?, core?);
        println!("| {} | {simulation} | {core} |", mutant.name);
        if simulation == SURVIVED && core == SURVIVED {
            survivors.push(mutant.name);
        }
    }
    ensure!(survivors.is_empty(), "no test catches: {}", survivors.join(", "));
    Ok(())
}

const SURVIVED: &str = "–";

/// Makes these statements false by their mutations, or all that have one, and shows that the tests they name fail.
pub fn run_statements(root: &Path, ids: &[&str]) -> Result<()> {
    let mutations = statements::mutations(root)?;
    let chosen: Vec<&(String, Mutation)> =
        mutations.iter().filter(|(own, _)| ids.is_empty() || ids.contains(&own.as_str())).collect();
    let without = ids.iter().find(|id| !chosen.iter().any(|(own, _)| own == *id));
    ensure!(without.is_none(), "{} has no mutation", without.unwrap_or(&"no statement"));
    let copy = Copy::new(root)?;
    let mut survivors = Vec::new();
    for (id, mutation) in chosen {
        let lines = test_lines(root, &mutation.fails)?;
        let verdict = copy.with(&mutation.mutant(id), |copy| copy.first_failure(&lines))??;
        let cell = cell_text(&verdict, &mutation.mutant(id))?;
        println!("| {id} | {cell} | {} |", lines.join(" && "));
        if cell == SURVIVED {
            survivors.push(id.as_str());
        }
    }
    ensure!(survivors.is_empty(), "still shown when they are false: {}", survivors.join(", "));
    Ok(())
}

/// The commands that run the one test of `file::name`. Tests of fuse-tests run the program that lies beside them, which
/// cargo does not build for them.
fn test_lines(root: &Path, test: &str) -> Result<Vec<String>> {
    let (file, name) = test.split_once("::").context("file::name")?;
    let folder =
        Path::new(file).ancestors().skip(1).find(|folder| root.join(folder).join("Cargo.toml").is_file());
    let folder = folder.with_context(|| format!("{file}: no package"))?;
    let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml"))?;
    let named = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let package = named.with_context(|| format!("{}: no name", folder.display()))?;
    let rest = Path::new(file).strip_prefix(folder)?;
    let mut parts = rest.iter().map(|part| part.to_string_lossy());
    let target = match (parts.next().as_deref(), parts.next()) {
        (Some("tests"), Some(target)) => format!("--test {}", target.trim_end_matches(".rs")),
        _ if root.join(folder).join("src/lib.rs").is_file() => "--lib".into(),
        _ => "--bins".into(),
    };
    let build = (package == "fuse-tests").then(|| "cargo build -p pump".to_string());
    Ok(build.into_iter().chain([format!("cargo test -p {package} {target} {name}")]).collect())
}

fn cell_text(verdict: &Verdict, mutant: &Mutant) -> Result<String> {
    Ok(match verdict {
        Verdict::Passed => SURVIVED.into(),
        Verdict::Failed { test, seed: Some(seed) } => format!("{test}, seed {seed}"),
        Verdict::Failed { test, seed: None } => test.clone(),
        Verdict::Broken(why) => bail!("the planted bug {:?} does not build: {why}", mutant.name),
    })
}

/// The one file that has the mutant's text, once.
fn place(root: &Path, mutant: &Mutant) -> Result<PathBuf> {
    let mut places = Vec::new();
    for file in rust_files(&root.join(mutant.place))? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let count = text.matches(mutant.find).count();
        places.extend(std::iter::repeat_n(file, count));
    }
    match places.len() {
        1 => Ok(places.remove(0)),
        count => bail!(
            "the planted bug {:?} has {count} places in {}, not one; give it the text as it stands now:\n{}",
            mutant.name,
            mutant.place,
            mutant.find
        ),
    }
}

fn rust_files(place: &Path) -> Result<Vec<PathBuf>> {
    if place.is_file() {
        return Ok(vec![place.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(place).with_context(|| place.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// A copy of the tree with its own target folder; removed when dropped.
struct Copy {
    root: PathBuf,
}

impl Copy {
    fn new(root: &Path) -> Result<Copy> {
        let copy =
            Copy { root: std::env::temp_dir().join(format!("datapump-mutants-{}", std::process::id())) };
        copy_tree(root, &copy.root).context("the copy of the tree")?;
        Ok(copy)
    }

    /// Does something while the bug is planted.
    fn with<T>(&self, mutant: &Mutant, act: impl FnOnce(&Copy) -> T) -> Result<T> {
        let file = place(&self.root, mutant)?;
        let before = fs::read_to_string(&file)?;
        fs::write(&file, before.replacen(mutant.find, mutant.replacement, 1))?;
        let outcome = act(self);
        fs::write(&file, before)?;
        Ok(outcome)
    }

    /// How the first of these commands ended that did not pass.
    fn first_failure(&self, lines: &[String]) -> Result<Verdict> {
        for line in lines {
            match self.verdict(line)? {
                Verdict::Passed => {}
                other => return Ok(other),
            }
        }
        Ok(Verdict::Passed)
    }

    fn verdict(&self, line: &str) -> Result<Verdict> {
        let output = Command::new("timeout")
            .args(["--kill-after=5", &SECONDS_MAX.to_string()])
            .args(line.split_whitespace())
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            // Building is most of the time; the loop itself is short.
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .env("DATAPUMP_SEEDS", "1000")
            .stdin(Stdio::null())
            .output()
            .context("timeout")?;
        if output.status.success() {
            return Ok(Verdict::Passed);
        }
        let text = [output.stdout, output.stderr].concat();
        Ok(read_failure(&String::from_utf8_lossy(&text), output.status.code()))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What stays behind is a temporary folder; there is nobody to tell.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    // Among sources `target` is a module.
    let is_source = from.components().any(|part| part.as_os_str() == "src");
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let is_skipped = [".git", "target", "dist"].iter().any(|skipped| name == *skipped);
        if kind.is_dir() && (is_source || !is_skipped) {
            copy_tree(&entry.path(), &to.join(&name))?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

/// What the output of a failed suite says.
fn read_failure(text: &str, status: Option<i32>) -> Verdict {
    if let Some(error) =
        text.lines().find(|line| line.contains("error") && line.contains("could not compile"))
    {
        return Verdict::Broken(error.trim().into());
    }
    let failed = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    match text.lines().find_map(failed) {
        Some(test) => Verdict::Failed { test, seed: seed(text) },
        // Killed by the time limit: 124, or 137 if it did not listen.
        None if matches!(status, Some(124 | 137)) => {
            Verdict::Failed { test: format!("no end within {SECONDS_MAX} s"), seed: seed(text) }
        }
        None if text.contains("SIGABRT") || text.contains("SIGSEGV") => {
            Verdict::Failed { test: "the test program died by a signal".into(), seed: seed(text) }
        }
        None => Verdict::Broken(text.lines().last().unwrap_or("no output").into()),
    }
}

/// The first seed that the output names as `DATAPUMP_SEED=7041` or `seed 7041`.
fn seed(text: &str) -> Option<String> {
    ["DATAPUMP_SEED=", "seed "].into_iter().find_map(|mark| {
        text.split(mark).skip(1).find_map(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            (!digits.is_empty()).then_some(digits)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{MUTANTS, Verdict, check, read_failure, seed};

    #[test]
    fn every_planted_bug_has_its_place_and_its_name() {
        check(&crate::root()).unwrap();
        for (index, mutant) in MUTANTS.iter().enumerate() {
            assert_ne!(mutant.find, mutant.replacement, "{}", mutant.name);
            let same = MUTANTS[..index].iter().find(|other| other.name == mutant.name);
            assert!(same.is_none(), "two planted bugs are called {}", mutant.name);
        }
    }

    #[test]
    fn the_command_of_a_test_names_its_package_and_target() {
        for (test, line) in [
            ("crates/core/src/pump.rs::one", "cargo test -p datapump-core --lib one"),
            ("crates/core/tests/copy_loop.rs::one", "cargo test -p datapump-core --test copy_loop one"),
            ("crates/cli/tests/ordinary/lab/cost.rs::one", "cargo test -p pump --test ordinary one"),
            ("crates/cli/src/args.rs::one", "cargo test -p pump --bins one"),
            (
                "fuse-tests/tests/pages.rs::one",
                "cargo build -p pump && cargo test -p fuse-tests --test pages one",
            ),
        ] {
            assert_eq!(super::test_lines(&crate::root(), test).unwrap().join(" && "), line);
        }
    }

    #[test]
    fn failures_are_read() {
        for (text, status, expected) in [
            ("test any_order ... FAILED\nreplay: DATAPUMP_SEED=7041 cargo test", 101, "any_order seed 7041"),
            ("test a ... ok\ntest b ... FAILED\nseeds differ", 101, "b"),
            ("error: could not compile `datapump-core` (lib) due to 1 previous error", 101, "broken"),
            ("running 3 tests", 124, "no end within 900 s"),
            ("error: no test target named `simulation`", 101, "broken"),
        ] {
            let told = match read_failure(text, Some(status)) {
                Verdict::Passed => "passed".into(),
                Verdict::Failed { test, seed: Some(seed) } => format!("{test} seed {seed}"),
                Verdict::Failed { test, seed: None } => test,
                Verdict::Broken(_) => "broken".into(),
            };
            assert_eq!(told, expected, "{text}");
        }
    }

    #[test]
    fn seeds_are_found() {
        for (text, expected) in
            [("at seed 12: differs", Some("12")), ("seed x, seed 3", Some("3")), ("none", None)]
        {
            assert_eq!(seed(text).as_deref(), expected, "{text}");
        }
    }
}
