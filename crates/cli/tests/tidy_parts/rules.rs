//! The rules. Each takes a file and adds its violations: where it is, what is wrong, what to do.
//!
//! Must not know: where files come from, how violations are shown.

use std::collections::BTreeMap;

use super::items::few_parameters;
use super::text::{File, Word};

/// A rule about one file.
pub type Rule = fn(&File, &mut Vec<String>);

/// All rules about one file.
pub const FILE_RULES: &[Rule] = &[
    short_files,
    short_functions,
    few_parameters,
    short_lines,
    headers,
    one_module_style,
    unsafe_is_forbidden_by_name,
    whole_words,
    comments_begin_with_a_thing,
    nothing_unfinished,
    unsafe_only_in_engine,
    unsafe_has_a_reason,
    core_performs_nothing,
    no_ignored_tests,
    no_machine_paths,
    one_copy_loop,
    no_printing_that_panics,
    open_files_are_named_in_one_place,
    nothing_lies_below_an_open_file,
];

const FILE_LINES_MAX: usize = 600;
const TEST_FILE_LINES_MAX: usize = 700;
const FUNCTION_LINES_MAX: usize = 64;
// rustfmt breaks code at 110; comments and strings get a little more.
const LINE_CHARS_MAX: usize = 128;

/// Short forms, and the word to write.
const WORDS: [(&str, &str); 6] = [
    ("src", "source"),
    ("dst", "target or sink"),
    ("buf", "slot or bytes"),
    ("req", "request"),
    ("ctx", "what it is"),
    ("cnt", "count"),
];

/// Fields of others that a value cannot be made without: `quinn_udp::Transmit`.
const FOREIGN_FIELDS: [&str; 1] = ["src_ip"];

/// What `core` must not name, and what it does instead.
const CORE_WORDS: [(&str, &str); 9] = [
    ("Instant", "take what the caller measured"),
    ("SystemTime", "take what the caller measured"),
    ("thread", "let the owner have the threads"),
    ("rand", "take the random source as an argument"),
    ("getrandom", "take the random source as an argument"),
    ("RandomState", "take BTreeMap"),
    ("DefaultHasher", "take BTreeMap"),
    ("HashMap", "take BTreeMap: its order does not change from run to run"),
    ("HashSet", "take BTreeSet: its order does not change from run to run"),
];

/// Modules of the standard library that perform something.
const CORE_MODULES: [&str; 7] = ["time", "fs", "net", "io", "process", "env", "os"];

/// Files of core that use values of such a module, and call nothing that performs: the class and the words of an error
/// number, a duration.
const CORE_VALUES: [(&str, &str); 2] = [("problem.rs", "io"), ("units.rs", "time")];

/// The floors of the house, from the ground: a crate names crates of lower floors alone.
const FLOORS: [&[&str]; 8] = [
    &["core", "engine"],
    &["files", "transport", "netlab"],
    &["mover"],
    &["trees"],
    &["sessions"],
    &["datapump"],
    &["lab"],
    &["cli"],
];

/// Libraries that perform, and crates of lower floors, that a crate may not depend on.
const NOT_NAMED: [(&str, &[&str]); 2] = [
    ("core", &["rustix", "libc", "io-uring", "crossbeam-channel", "rand", "getrandom"]),
    ("lab", &["datapump-core"]),
];

fn tell(found: &mut Vec<String>, file: &File, line: usize, what: impl std::fmt::Display) {
    found.push(format!("{}:{line}: {what}", file.path));
}

fn is_test(file: &File) -> bool {
    file.path.contains("/tests/") || file.path.ends_with("/tests.rs")
}

/// Is it part of a crate's product?
pub fn is_product(file: &File) -> bool {
    file.path.starts_with("crates/") && file.path.contains("/src/") && file.is_rust() && !is_test(file)
}

fn is_crate_root(file: &File) -> bool {
    file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs")
}

fn short_files(file: &File, found: &mut Vec<String>) {
    let max = if is_test(file) { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    let lines = file.text.lines().count();
    if file.is_rust() && lines > max {
        tell(found, file, max, format_args!("{lines} lines, at most {max}: split the file"));
    }
}

fn short_functions(file: &File, found: &mut Vec<String>) {
    for word in file.words().iter().filter(|word| word.text == "fn") {
        let Some(end) = body_end(file, *word) else { continue };
        let lines = file.line_of(end) - word.line + 1;
        if lines > FUNCTION_LINES_MAX && !is_one_table(&file.code[word.start..end]) {
            let name: String =
                file.behind(*word).chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let what =
                format!("`{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}: split the function");
            tell(found, file, word.line, what);
        }
    }
}

/// Where the body of this `fn` closes; `None` for a type or a declaration without a body.
fn body_end(file: &File, word: Word<'_>) -> Option<usize> {
    if file.behind(word).starts_with('(') {
        return None;
    }
    let (mut brackets, mut braces) = (0, 0);
    for (at, byte) in file.code.bytes().enumerate().skip(word.start) {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets -= 1,
            b';' if brackets == 0 && braces == 0 => return None,
            b'{' => braces += 1,
            b'}' => braces -= 1,
            _ => continue,
        }
        if byte == b'}' && braces == 0 && brackets == 0 {
            return Some(at);
        }
    }
    None
}

/// A function that is one `match` or one table is as long as what it tells apart.
fn is_one_table(function: &str) -> bool {
    let body = function.split_once('{').map_or("", |(_, body)| body.trim());
    let is_list = ["[", "&[", "vec!["].iter().any(|start| body.starts_with(start));
    let open = if is_list { body.find('[') } else { body.find('{').filter(|_| body.starts_with("match ")) };
    open.is_some_and(|open| group_end(body, open) == Some(body.len()))
}

/// Behind the bracket that closes this one.
fn group_end(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

fn short_lines(file: &File, found: &mut Vec<String>) {
    for (index, line) in file.text.lines().enumerate().filter(|_| file.is_rust()) {
        let chars = line.chars().count();
        if chars > LINE_CHARS_MAX {
            tell(found, file, index + 1, format_args!("{chars} characters, at most {LINE_CHARS_MAX}"));
        }
    }
}

fn headers(file: &File, found: &mut Vec<String>) {
    if !file.is_rust() {
        return;
    }
    let header: Vec<_> = file.text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    if header.is_empty() {
        tell(found, file, 1, "no header: begin with `//!` and say what the file does");
    } else if is_product(file) && !is_crate_root(file) && !words_of(&header).contains("Must not know") {
        tell(found, file, 1, "the header does not say `Must not know: …`");
    }
}

fn words_of(lines: &[&str]) -> String {
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn unsafe_is_forbidden_by_name(file: &File, found: &mut Vec<String>) {
    let ours = is_crate_root(file) && !file.path.starts_with("crates/engine/");
    if ours && !file.code.contains("#![forbid(unsafe_code)]") {
        tell(found, file, 1, "no `#![forbid(unsafe_code)]`: only crates/engine may do without");
    }
}

fn whole_words(file: &File, found: &mut Vec<String>) {
    for word in file.words() {
        let before = file.before(word.start);
        // A name behind `.` or `::` was given elsewhere: by us, where it is found, or by a stranger.
        let given_elsewhere = (before.ends_with('.') && !before.ends_with(".."))
            || before.ends_with("::")
            || FOREIGN_FIELDS.contains(&word.text);
        let short =
            WORDS.iter().find(|(short, _)| word.text.to_lowercase().split('_').any(|part| part == *short));
        if let (Some((_, instead)), false) = (short, given_elsewhere) {
            tell(found, file, word.line, format_args!("`{}`: say {instead}", word.text));
        }
    }
}

/// "Who is stopped does not wait" hides what it is about: a cancelled call returns at once.
fn comments_begin_with_a_thing(file: &File, found: &mut Vec<String>) {
    for (index, line) in file.comments.lines().enumerate() {
        let words = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        if let Some(start) =
            ["Who ", "Whoever ", "What is ", "Told "].iter().find(|it| words.starts_with(**it))
        {
            tell(found, file, index + 1, format_args!("a comment begins with `{start}`: name the thing"));
        }
    }
}

fn nothing_unfinished(file: &File, found: &mut Vec<String>) {
    for word in file.words() {
        let is_macro = file.behind(word).starts_with('!') && !file.behind(word).starts_with("!=");
        if is_macro && ["todo", "unimplemented", "dbg"].contains(&word.text) {
            tell(found, file, word.line, format_args!("`{}!`: left unfinished", word.text));
        }
    }
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    for (index, line) in file.text.lines().enumerate().filter(|_| file.is_rust()) {
        if line.split(|c: char| !c.is_alphanumeric()).any(|word| marks.contains(&word)) {
            tell(found, file, index + 1, "left unfinished: do it, or open an issue");
        }
    }
}

fn unsafe_only_in_engine(file: &File, found: &mut Vec<String>) {
    if file.path.starts_with("crates/engine/") {
        return;
    }
    for word in file.words().iter().filter(|word| word.text == "unsafe") {
        tell(found, file, word.line, "`unsafe` outside crates/engine: give engine a safe function for it");
    }
}

fn unsafe_has_a_reason(file: &File, found: &mut Vec<String>) {
    if !file.path.starts_with("crates/engine/") {
        return;
    }
    let code: Vec<_> = file.code.lines().collect();
    let comments: Vec<_> = file.comments.lines().collect();
    for word in file.words().iter().filter(|word| word.text == "unsafe") {
        if !is_type(file, *word) && !has_reason(&code, &comments, word.line - 1) {
            tell(
                found,
                file,
                word.line,
                "`unsafe` without a `// SAFETY:` comment: name what holds and who keeps it",
            );
        }
    }
}

/// Is this the type of a function, and no function?
fn is_type(file: &File, word: Word<'_>) -> bool {
    let rest = file.behind(word).trim_start_matches("extern").trim_start();
    rest.strip_prefix("fn").is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// Looks in the line itself, in the earlier lines of the statement, and in the comment above it.
fn has_reason(code: &[&str], comments: &[&str], line: usize) -> bool {
    let says = |index: usize| comments[index].contains("SAFETY:") || comments[index].contains("# Safety");
    if says(line) {
        return true;
    }
    for index in (0..line).rev() {
        let statement = code[index].trim();
        let ended = statement.ends_with([';', '{', '}', ',']) && !statement.starts_with("#[");
        let blank = statement.is_empty() && comments[index].trim().is_empty();
        if ended || blank {
            return false;
        }
        if says(index) {
            return true;
        }
    }
    false
}

fn core_performs_nothing(file: &File, found: &mut Vec<String>) {
    if !file.path.starts_with("crates/core/src/") {
        return;
    }
    for word in file.words() {
        if let Some((_, instead)) = CORE_WORDS.iter().find(|(banned, _)| *banned == word.text) {
            tell(found, file, word.line, format_args!("`{}` in crates/core: {instead}", word.text));
        }
        let from_std = file.before(word.start).ends_with("std::") || file.behind(word).starts_with("::");
        let is_value = CORE_VALUES.iter().any(|(of, what)| file.path.ends_with(of) && *what == word.text);
        if from_std && CORE_MODULES.contains(&word.text) && !is_value {
            let what = format!("`{}` in crates/core: it decides and performs nothing", word.text);
            tell(found, file, word.line, what);
        }
    }
}

fn no_ignored_tests(file: &File, found: &mut Vec<String>) {
    for (start, _) in file.code.match_indices("#[ignore") {
        let line = file.line_of(start);
        tell(found, file, line, "no test is ignored: repair it, or make it one of the wider tests");
    }
}

fn no_machine_paths(file: &File, found: &mut Vec<String>) {
    for path in [concat!("/wo", "rk/"), concat!("/ro", "ot/")] {
        for (start, _) in file.text.match_indices(path) {
            let before = file.text[..start].chars().next_back().unwrap_or(' ');
            let relative = before.is_alphanumeric() || "_.-*~})]>".contains(before);
            if !relative {
                tell(found, file, file.line_of(start), format_args!("`{path}`: a path of one machine"));
            }
        }
    }
}

fn one_copy_loop(file: &File, found: &mut Vec<String>) {
    for call in ["fs::copy(", "io::copy("].iter().filter(|_| is_product(file)) {
        for (start, _) in file.code.match_indices(call).filter(|(start, _)| *start < file.tests_start()) {
            tell(
                found,
                file,
                file.line_of(start),
                format_args!("`{call})`: there is one copy loop, and this is not it"),
            );
        }
    }
}

fn no_printing_that_panics(file: &File, found: &mut Vec<String>) {
    for word in file.words().iter().filter(|word| is_product(file) && word.start < file.tests_start()) {
        let prints = ["print", "println", "eprint", "eprintln"].contains(&word.text);
        if prints && file.behind(*word).starts_with('!') {
            let what =
                format!("`{}!` panics on a closed pipe: take `writeln!` and look at the error", word.text);
            tell(found, file, word.line, what);
        }
    }
}

/// The one file of the mover that names open files, and its function.
const NAMES_OPEN_FILES: &str = "crates/files/src/disk/proc.rs";
const NAME_OF_OPEN_FILE: &str = "path_of_open_file(";

fn is_mover(file: &File) -> bool {
    let crates = [
        "crates/datapump/",
        "crates/files/",
        "crates/mover/",
        "crates/sessions/",
        "crates/transport/",
        "crates/trees/",
    ];
    is_product(file) && crates.iter().any(|path| file.path.starts_with(path))
}

/// What stands in literals too: only comments may name it.
fn open_files_are_named_in_one_place(file: &File, found: &mut Vec<String>) {
    let named = ["/self/fd", "/thread-self/fd", "/dev/fd"].into_iter().filter(|_| is_mover(file));
    let places = named.flat_map(|name| file.text.match_indices(name).map(|(start, _)| start));
    let places =
        places.filter(|&start| file.comments[start..].starts_with(' ') && start < file.tests_start());
    let allowed = if file.path == NAMES_OPEN_FILES { 1 } else { 0 };
    for start in places.skip(allowed) {
        let what = "an open file is named in `disk/proc.rs` alone: take its `path_of_open_file`, or a handle";
        tell(found, file, file.line_of(start), what);
    }
}

/// A module's text is `x.rs`, and what is inside of it lies in `x/`.
///
/// Below `tests/`, cargo takes each `x.rs` for a test of its own: a module with a folder has to be `x/mod.rs` there.
fn one_module_style(file: &File, found: &mut Vec<String>) {
    let is_meant = file.path.contains("/src/");
    if let Some(folder) = file.path.strip_suffix("/mod.rs").filter(|_| is_meant) {
        tell(
            found,
            file,
            1,
            format_args!("a module with a folder is `{folder}.rs` beside it, not `mod.rs` in it"),
        );
    }
}

/// A path below an open folder is resolved anew, and led elsewhere by whoever may change names there.
fn nothing_lies_below_an_open_file(file: &File, found: &mut Vec<String>) {
    let is_meant = is_mover(file) && file.path != NAMES_OPEN_FILES;
    for (start, _) in file.code.match_indices(NAME_OF_OPEN_FILE).filter(|_| is_meant) {
        let statement = file.code[start..].split([';', '}']).next().unwrap_or_default();
        if [".join(", ".push(", "format!", "concat"].iter().any(|call| statement.contains(call)) {
            let what = "nothing is opened below an open file by a path: go by its handle and one name";
            tell(found, file, file.line_of(start), what);
        }
    }
}

/// A folder with more files than these is no room in which something is found at a glance.
const ROOM_FILES_MAX: usize = 12;

/// Folders of sources have few files; what belongs together lies in one of its own.
pub fn rooms_are_small(files: &[File], found: &mut Vec<String>) {
    let mut rooms: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust() && file.path.contains("/src/")) {
        *rooms.entry(file.path.rsplit_once('/').map_or("", |(room, _)| room)).or_default() += 1;
    }
    for (room, count) in rooms.into_iter().filter(|(_, count)| *count > ROOM_FILES_MAX) {
        found.push(format!("{room}: {count} files, at most {ROOM_FILES_MAX}: give some a room of their own"));
    }
}

/// `cargo test` would run the wider tests if the manifest did not leave them out.
pub fn wider_tests_are_left_out(files: &[File], found: &mut Vec<String>) {
    let manifest = files.iter().find(|file| file.path == "crates/cli/Cargo.toml");
    let told = manifest.map_or("", |file| &file.text);
    if !told.contains("[[test]]\nname = \"wider\"\npath = \"tests/wider/main.rs\"\ntest = false\n") {
        found.push("crates/cli/Cargo.toml: the test wider is not left out (test = false)".to_owned());
    }
}

/// A file that no `mod` names is never compiled.
pub fn every_module_is_declared(files: &[File], found: &mut Vec<String>) {
    let area = |file: &File| {
        let within = if file.path.contains("/src/") { "/src/" } else { "/tests/" };
        file.path.split_inclusive(within).next().unwrap_or_default().to_owned()
    };
    // What each names is found once, not once for every module: that took half a minute.
    let rust = files.iter().filter(|file| file.is_rust());
    let naming: Vec<_> =
        rust.map(|file| (file, area(file), behind_mod(file), file.text.contains("#[path"))).collect();
    let modules = files.iter().filter(|file| is_module(file));
    for module in modules {
        let path =
            module.path.strip_suffix("/mod.rs").or(module.path.strip_suffix(".rs")).unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let own_name = module.path.rsplit('/').next().unwrap_or_default();
        let own_area = area(module);
        let declared =
            naming.iter().filter(|(_, area, ..)| *area == own_area).any(|(file, _, named, has_paths)| {
                named.iter().any(|rest| starts_with_word(rest, name))
                    || *has_paths && file.text.contains(&format!("{own_name}\"]"))
            });
        if !declared {
            tell(found, module, 1, format_args!("no `mod {name};` names this file: it is dead"));
        }
    }
}

/// The code behind each `mod`.
fn behind_mod(file: &File) -> Vec<&str> {
    let words = file.words();
    words.into_iter().filter(|word| word.text == "mod").map(|word| file.behind(word)).collect()
}

fn is_module(file: &File) -> bool {
    let own_program = file.path.contains("/src/bin/") || is_crate_root(file);
    let folders = ["/tests/ordinary/", "/tests/wider/"];
    let of_tests = folders.iter().any(|it| file.path.contains(it)) && !file.path.ends_with("/main.rs");
    file.is_rust() && (file.path.contains("/src/") || of_tests) && !own_program
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let rest = text.strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The crates know each other in one direction only.
pub fn dependencies_point_one_way(files: &[File], found: &mut Vec<String>) {
    for file in files {
        let folder = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml"));
        let Some((folder, floor)) = folder.and_then(|folder| Some((folder, floor_of(folder)?))) else {
            continue;
        };
        for (index, line) in file.text.lines().enumerate() {
            let dependency = line.split(['.', '=', ' ']).next().unwrap_or_default();
            let is_above = folder_of(dependency).and_then(floor_of).is_some_and(|other| other >= floor);
            let is_banned =
                NOT_NAMED.iter().any(|(name, banned)| *name == folder && banned.contains(&dependency));
            if is_above || is_banned {
                tell(
                    found,
                    file,
                    index + 1,
                    format!("`{dependency}`: crates/{folder} must not depend on it"),
                );
            }
        }
    }
}

fn floor_of(folder: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&folder))
}

/// The folder of one of our crates.
fn folder_of(dependency: &str) -> Option<&str> {
    match dependency {
        "pump" => Some("cli"),
        "datapump" => Some("datapump"),
        other => other.strip_prefix("datapump-"),
    }
}
