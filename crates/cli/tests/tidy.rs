//! Style as a test: lengths, headers, words, and where `unsafe`, clocks and a second copy loop may stand.
//!
//! Every rule is a function from a file to its violations, and has its own test below with planted violations.
//! Must not know: what the code does; it reads text.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

mod tidy_parts;

use tidy_parts::circles::no_circles;
use tidy_parts::items;
use tidy_parts::rules::{self, FILE_RULES};
use tidy_parts::sentences::sentences;
use tidy_parts::text::File;

/// Folders whose files are not ours, or not sources; `target` only where no source lies.
const SKIPPED: [&str; 6] = [".git", "target", "corpus", "artifacts", "coverage", "dist"];

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, "", &mut files);
    let rust = files.iter().filter(|file| file.is_rust()).count();
    assert!(rust >= 10, "only {rust} Rust files found under {}", root.display());

    let violations = violations(&files);
    let mut list = String::new();
    for violation in &violations {
        writeln!(list, "  {violation}").unwrap();
    }
    assert!(violations.is_empty(), "{} violations in {rust} Rust files:\n{list}", violations.len());
}

/// A new sentence is read before it is said: `DATAPUMP_WRITE_SENTENCES=1 cargo test -p pump --test tidy sentence`
/// writes the file, and the change shows it.
#[test]
fn every_sentence_is_in_the_snapshot() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, "", &mut files);
    let said = sentences(files.iter().filter(|file| rules::is_product(file)));
    let path = root.join("docs/sentences.txt");
    if std::env::var_os("DATAPUMP_WRITE_SENTENCES").is_some() {
        fs::write(&path, &said).expect("room");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = said.lines().zip(kept.lines()).find(|(said, kept)| said != kept);
    assert!(said == kept, "docs/sentences.txt is not what the program says, first in {differs:?}");
}

/// All violations of all rules, sorted by file.
fn violations(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for rule in FILE_RULES {
            rule(file, &mut found);
        }
    }
    rules::every_module_is_declared(files, &mut found);
    rules::wider_tests_are_left_out(files, &mut found);
    rules::rooms_are_small(files, &mut found);
    items::type_names_are_unique(files, &mut found);
    rules::dependencies_point_one_way(files, &mut found);
    no_circles(files, &mut found);
    found.sort();
    found
}

/// Reads every text file below `folder`, in the order of names.
fn collect(root: &Path, folder: &str, files: &mut Vec<File>) {
    let mut names: Vec<_> = fs::read_dir(root.join(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.unwrap())
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?)))
        .collect();
    names.sort_by(|one, other| one.0.cmp(&other.0));
    for (name, kind) in names {
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let is_skipped = SKIPPED.contains(&name.as_str()) && !folder.contains("/src");
        if kind.is_dir() && !is_skipped {
            collect(root, &path, files);
        } else if kind.is_file() && is_text(&name) {
            // A file that is not UTF-8 is data, whatever its name says.
            if let Ok(text) = fs::read_to_string(root.join(&path)) {
                files.push(File::new(&path, &text));
            }
        }
    }
}

fn is_text(name: &str) -> bool {
    match name.rsplit_once('.') {
        Some((_, ending)) => {
            ["rs", "toml", "md", "sh", "csv", "json", "jsonl", "txt", "html"].contains(&ending)
        }
        None => name == "run",
    }
}

/// The violations of one planted file that is otherwise in order.
fn planted(path: &str, text: &str) -> Vec<String> {
    let header = "//! Does one thing. Must not know: the rest.\n\n";
    let file = File::new(path, &format!("{header}{text}"));
    let mut found = Vec::new();
    for rule in FILE_RULES {
        rule(&file, &mut found);
    }
    found
}

/// Checks rows of path, text, and the one violation expected (empty: none).
fn check(rows: &[(&str, &str, &str)]) {
    for (path, text, expected) in rows {
        let found = planted(path, text);
        if expected.is_empty() {
            assert!(found.is_empty(), "{path}: {text:?} is in order, but: {found:?}");
        } else {
            assert!(
                found.len() == 1 && found[0].contains(expected),
                "{path}: {text:?} should give one {expected:?}, gave {found:?}"
            );
        }
    }
}

const MODULE: &str = "crates/datapump/src/walk.rs";
const CORE: &str = "crates/core/src/plan.rs";
const ENGINE: &str = "crates/engine/src/engine/uring.rs";

#[test]
fn long_files_are_found() {
    for (path, lines, expected) in [
        (MODULE, 600, 0),
        (MODULE, 601, 1),
        ("crates/datapump/tests/walk.rs", 700, 0),
        ("crates/datapump/tests/walk.rs", 701, 1),
    ] {
        let found = planted(path, &"const A: u8 = 1;\n".repeat(lines - 2));
        assert_eq!(found.len(), expected, "{path} with {lines} lines: {found:?}");
    }
}

#[test]
fn long_functions_are_found() {
    let of_lines =
        |lines: usize| format!("fn f(a: [u8; 2]) {{\n{}}}\n", "    g('{', \"}\");\n".repeat(lines - 2));
    let (arms, rows) = ("        1 => {}\n".repeat(99), "        g(),\n".repeat(99));
    check(&[
        (MODULE, &of_lines(64), ""),
        (MODULE, &of_lines(65), "`f` has 65 lines"),
        (MODULE, &format!("trait T {{ fn g(); }}\n{}", of_lines(64)), ""),
        (MODULE, &format!("type F = fn(u8);\n{}", of_lines(64)), ""),
        (MODULE, &format!("fn f(a: u8) -> u8 {{\n    match g(a) {{\n{}    }}\n}}\n", arms), ""),
        (MODULE, &format!("fn f() -> Vec<u8> {{\n    vec![\n{}    ]\n}}\n", rows), ""),
        (MODULE, &format!("fn f(a: u8) {{\n    match a {{\n{}    }};\n    g()\n}}\n", arms), "`f` has"),
    ]);
}

#[test]
fn many_parameters_are_found() {
    check(&[
        (
            MODULE,
            "fn f<A: Fn(u8, u8)>(&self, a: A, b: [u8; 2], c: u8, d: Vec<(u8, u8)>, e: u8, f: u8) {}\n",
            "",
        ),
        (MODULE, "fn f(a: u8, (b, c): (u8, u8), d: u8, (e, f, g, h): (u8, u8, u8, u8)) {}\n", "8 parameters"),
        (MODULE, "type F = fn(u8, u8, u8, u8, u8, u8, u8);\n", ""),
    ]);
}

#[test]
fn types_of_one_name_are_found() {
    let tree = |rows: &[(&str, &str)]| {
        let files: Vec<_> = rows.iter().map(|(path, text)| File::new(path, text)).collect();
        let mut found = Vec::new();
        items::type_names_are_unique(&files, &mut found);
        found.len()
    };
    let one = ("crates/lab/src/a.rs", "pub struct Walk;\ntrait Makes {\n    type Output;\n}\n");
    assert_eq!(
        tree(&[one, ("crates/core/src/b.rs", "enum Plan {}\ntrait Does {\n    type Output;\n}\n")]),
        0
    );
    assert_eq!(tree(&[one, ("crates/core/src/b.rs", "type Walk = u8;")]), 1);
    assert_eq!(tree(&[one, ("crates/core/src/b.rs", "mod tests { struct Walk; }")]), 0);
}

#[test]
fn long_lines_are_found() {
    let of_chars = |chars: usize| format!("// {}\n", "ä".repeat(chars - 3));
    check(&[(MODULE, &of_chars(128), ""), (MODULE, &of_chars(129), "129 characters")]);
}

#[test]
fn missing_headers_are_found() {
    for (path, text, expected) in [
        (MODULE, "//! Walks. Must not know: clocks.\n", ""),
        (MODULE, "//! Walks.\n//!\n//! Must not\n//! know: clocks.\n", ""),
        (MODULE, "//! Walks.\n", "Must not know"),
        (MODULE, "use std::fs; // Must not know: clocks.\n", "header"),
        ("crates/cli/tests/copy.rs", "//! Copies.\n", ""),
        ("crates/cli/tests/copy.rs", "use std::fs;\n", "header"),
        ("crates/core/src/lib.rs", "//! All.\n#![forbid(unsafe_code)]\n", ""),
        ("crates/core/src/lib.rs", "//! All.\n", "forbid(unsafe_code)"),
        ("crates/cli/src/main.rs", "//! All. #![forbid(unsafe_code)]\n", "forbid(unsafe_code)"),
        ("crates/engine/src/lib.rs", "//! All.\n", ""),
    ] {
        let mut found = Vec::new();
        let file = File::new(path, text);
        FILE_RULES.iter().for_each(|rule| rule(&file, &mut found));
        let right = if expected.is_empty() { found.is_empty() } else { found.join(" ").contains(expected) };
        assert!(right, "{path}: {text:?} should give {expected:?}, gave {found:?}");
    }
}

#[test]
fn banned_words_are_found() {
    check(&[
        (MODULE, "fn f(src: u8) {}", "`src`: say source"),
        (MODULE, "let dst_path = 1;", "`dst_path`: say target or sink"),
        (MODULE, "struct A { read_buf: u8 }", "`read_buf`: say slot or bytes"),
        (MODULE, "let sent = Transmit { src_ip: None };", ""),
        (MODULE, "let req = 1;", "say request"),
        (MODULE, "let ctx = 1;", "say what it is"),
        (MODULE, "let cnt = 1;", "say count"),
        (MODULE, "const SRC_MAX: u8 = 1;", "say source"),
        (MODULE, "let path = PathBuf::new(); reader.fill_buf(); libc::req(); require(buffer);", ""),
        (MODULE, "let a = \"src\"; // src and dst in words\nlet b = 's'; let c = r#\"a \" buf\"#;", ""),
        (MODULE, "fn f() { todo!() }", "left unfinished"),
        (MODULE, "fn f() { unimplemented!() }", "left unfinished"),
        (MODULE, "fn f() { dbg!(1); }", "left unfinished"),
        (MODULE, concat!("// TO", "DO: later"), "left unfinished"),
        (MODULE, concat!("let a = \"FIX", "ME\";"), "left unfinished"),
        (MODULE, "fn todo() {}", ""),
        (MODULE, "/// Who reads.\nfn f() {}", "name the thing"),
        (MODULE, "    // What is read.", "name the thing"),
        (MODULE, "    // Says what is read, and who.", ""),
    ]);
}

#[test]
fn unsafe_is_found_outside_engine_and_without_a_reason() {
    check(&[
        (MODULE, "fn f() { unsafe { g() } }", "`unsafe` outside crates/engine"),
        ("crates/cli/tests/kill.rs", "// SAFETY: none.\nunsafe { g() }", "outside crates/engine"),
        (MODULE, "// unsafe\nlet a = \"unsafe\"; let unsafe_code = 1;", ""),
        (ENGINE, "fn f() { unsafe { g() } }", "without a `// SAFETY:`"),
        (ENGINE, "// SAFETY: g holds.\nunsafe { g() }", ""),
        (ENGINE, "// SAFETY: g holds,\n// and longer.\n#[inline]\nunsafe impl Send for A {}", ""),
        (ENGINE, "// SAFETY: g holds.\nlet a =\n    unsafe { g() };", ""),
        (ENGINE, "// SAFETY: g holds.\nlet a = 1;\nunsafe { g() };", "without a `// SAFETY:`"),
        (ENGINE, "// SAFETY: one.\nunsafe { g() };\nunsafe { h() };", "without a `// SAFETY:`"),
        (ENGINE, "/// # Safety\n/// The slot is free.\npub unsafe fn f() {}", ""),
        (ENGINE, "pub unsafe fn f() {}", "without a `// SAFETY:`"),
        (ENGINE, "type F = unsafe extern \"C\" fn(u8);", ""),
    ]);
}

#[test]
fn clocks_threads_randomness_and_files_are_found_in_core() {
    check(&[
        (CORE, "use std::time::Duration;", "`time` in crates/core"),
        (CORE, "use std::{cmp, time::Duration};", "`time` in crates/core"),
        (CORE, "fn f(now: Instant) {}", "`Instant` in crates/core"),
        (CORE, "let a = SystemTime::now;", "`SystemTime` in crates/core"),
        (CORE, "use std::thread;", "`thread` in crates/core"),
        (CORE, "let a = rand::random;", "`rand` in crates/core"),
        (CORE, "getrandom(1);", "`getrandom` in crates/core"),
        (CORE, "use std::collections::HashMap;", "take BTreeMap"),
        (CORE, "use std::fs;", "`fs` in crates/core"),
        ("crates/core/src/problem.rs", "use std::io::ErrorKind;", ""),
        ("crates/core/src/problem.rs", "use std::fs;", "`fs` in crates/core"),
        (CORE, "let time = 1; let io = time; // Instant", ""),
        (MODULE, "use std::time::Instant;", ""),
        ("crates/core/tests/model.rs", "use std::collections::HashMap;", ""),
    ]);
}

#[test]
fn ignored_tests_and_machine_paths_are_found() {
    check(&[
        (MODULE, "#[test]\n#[ignore]\nfn f() {}", "no test is ignored"),
        (MODULE, "#[ignore = \"slow\"]\nfn f() {}", "no test is ignored"),
        (MODULE, concat!("let a = \"/wo", "rk/main\";"), "path of one machine"),
        (MODULE, concat!("// see /ro", "ot/x"), "path of one machine"),
        ("README.md", concat!("in /ro", "ot/x"), "path of one machine"),
        ("README.md", concat!("a net/wo", "rk/graph and {base}/ro", "ot/x"), ""),
    ]);
}

#[test]
fn a_second_copy_loop_and_printing_that_panics_are_found() {
    check(&[
        (MODULE, "fs::copy(a, b);", "one copy loop"),
        (MODULE, "std::io::copy(a, b);", "one copy loop"),
        (MODULE, "#[cfg(test)]\nmod tests { fn f() { fs::copy(a, b); println!(); } }", ""),
        ("crates/cli/tests/copy.rs", "fs::copy(a, b);", ""),
        (MODULE, "println!();", "panics on a closed pipe"),
        (MODULE, "eprintln!();", "panics on a closed pipe"),
        (MODULE, "writeln!(out, \"println!\");", ""),
    ]);
}

#[test]
fn a_path_below_an_open_file_and_a_second_name_for_one_are_found() {
    const NAMES: &str = "crates/files/src/disk/proc.rs";
    check(&[
        (MODULE, "let a = format!(\"/proc/self/fd/{}\", 1);", "`disk/proc.rs` alone"),
        (MODULE, "let a = Path::new(\"/dev/fd/3\");", "`disk/proc.rs` alone"),
        (MODULE, "// /proc/self/fd/N is not for here\nlet a = \"/proc/self/status\";", ""),
        ("crates/lab/src/advise/pid/files.rs", "let a = \"/proc/self/fd\";", ""),
        (NAMES, "fn path_of_open_file() { f(\"/proc/self/fd/1\"); }", ""),
        (NAMES, "fn f() { f(\"/proc/self/fd/1\"); }\nfn g() { f(\"/proc/self/fd/2\"); }", "alone"),
        (MODULE, "open(path_of_open_file(&file), flags);", ""),
        (MODULE, "let a = Path::new(&path_of_open_file(&file))\n    .join(name);", "one name"),
    ]);
}

#[test]
fn a_module_in_the_other_style_is_found() {
    check(&[
        ("crates/lab/src/report/mod.rs", "", "`crates/lab/src/report.rs` beside it"),
        ("xtask/src/mutants/mod.rs", "", "`xtask/src/mutants.rs` beside it"),
        ("crates/lab/src/report.rs", "", ""),
        ("crates/lab/src/report/chart.rs", "", ""),
        ("crates/cli/tests/support/mod.rs", "", ""),
    ]);
}

#[test]
fn crowded_folders_are_found() {
    let crowd = |count: u32| {
        let name = |number| format!("crates/lab/src/rows/n{number}.rs");
        let mut files: Vec<_> = (0..count).map(|number| File::new(&name(number), "")).collect();
        files.push(File::new("crates/lab/src/rows/inner/one.rs", ""));
        let mut found = Vec::new();
        rules::rooms_are_small(&files, &mut found);
        found
    };
    assert_eq!(crowd(12), [""; 0]);
    assert_eq!(crowd(13), ["crates/lab/src/rows: 13 files, at most 12: give some a room of their own"]);
}

#[test]
fn wider_tests_that_would_run_each_time_are_found() {
    let tree = |manifest: &str| {
        let mut found = Vec::new();
        rules::wider_tests_are_left_out(&[File::new("crates/cli/Cargo.toml", manifest)], &mut found);
        found
    };
    let found = ["crates/cli/Cargo.toml: the test wider is not left out (test = false)"];
    let entry = "[[test]]\nname = \"wider\"\npath = \"tests/wider/main.rs\"\n";
    assert_eq!(tree(&format!("{entry}test = false\n")), [""; 0]);
    assert_eq!(tree(entry), found);
    assert_eq!(tree(""), found);
}

#[test]
fn undeclared_modules_are_found() {
    let tree = |rows: &[(&str, &str)]| {
        let files: Vec<_> = rows.iter().map(|(path, text)| File::new(path, text)).collect();
        let mut found = Vec::new();
        rules::every_module_is_declared(&files, &mut found);
        found
    };
    let lib = ("crates/lab/src/lib.rs", "pub mod row; mod report; #[path = \"odd_name.rs\"] mod odd;");
    assert_eq!(tree(&[lib, ("crates/lab/src/row.rs", ""), ("crates/lab/src/report/mod.rs", "")]), [""; 0]);
    assert_eq!(tree(&[lib, ("crates/lab/src/odd_name.rs", "")]), [""; 0]);
    assert_eq!(tree(&[lib, ("crates/lab/src/dead.rs", "mod dead_too;")]).len(), 1);
    assert_eq!(tree(&[lib, ("crates/cli/src/row.rs", "")]).len(), 1, "declared by another crate only");
    let main = ("crates/cli/tests/wider/main.rs", "mod room;");
    assert_eq!(tree(&[main, ("crates/cli/tests/wider/room.rs", "")]), [""; 0]);
    assert_eq!(tree(&[main, ("crates/cli/tests/wider/lists.rs", "")]).len(), 1);
}

#[test]
fn dependencies_against_the_arrows_are_found() {
    for (path, text, expected) in [
        ("crates/lab/Cargo.toml", "[dependencies]\ndatapump.workspace = true\n", 0),
        ("crates/core/Cargo.toml", "[dependencies]\ndatapump-engine.workspace = true\n", 1),
        ("crates/core/Cargo.toml", "[dependencies]\nrustix.workspace = true\n", 1),
        ("crates/core/Cargo.toml", "[dev-dependencies]\nproptest.workspace = true\n", 0),
        ("crates/engine/Cargo.toml", "[dependencies]\ndatapump-core.workspace = true\n", 1),
        ("crates/datapump/Cargo.toml", "[dependencies]\ndatapump-lab = { path = \"../lab\" }\n", 1),
        ("crates/trees/Cargo.toml", "[dependencies]\ndatapump-mover.workspace = true\n", 0),
        ("crates/trees/Cargo.toml", "[dependencies]\ndatapump-sessions.workspace = true\n", 1),
        ("crates/mover/Cargo.toml", "[dependencies]\ndatapump-trees.workspace = true\n", 1),
        ("crates/files/Cargo.toml", "[dependencies]\ndatapump-transport.workspace = true\n", 1),
        ("crates/lab/Cargo.toml", "[dependencies]\ndatapump-core.workspace = true\n", 1),
        ("crates/lab/Cargo.toml", "[dependencies]\ndatapump-netlab.workspace = true\n", 0),
        ("crates/netlab/Cargo.toml", "[dependencies]\ndatapump-lab.workspace = true\n", 1),
    ] {
        let mut found = Vec::new();
        rules::dependencies_point_one_way(&[File::new(path, text)], &mut found);
        assert_eq!(found.len(), expected, "{path}: {text:?} gave {found:?}");
    }
}
