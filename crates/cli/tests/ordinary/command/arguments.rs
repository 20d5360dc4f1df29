//! The command line as users and scripts meet it: words in, words, events and statuses out.

use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::support;
use crate::support::home::{Home, Outcome, outcome};
use crate::support::schema;

/// A run must end with this status and say each of these parts on standard error.
fn expect(outcome: &Outcome, status: i32, parts: &[&str], row: &str) {
    assert_eq!(outcome.status, status, "{row}: {outcome:?}");
    for part in parts {
        assert!(outcome.err.contains(part), "{row}: no {part:?} in: {}", outcome.err);
    }
    assert!(!outcome.err.contains("panicked"), "{row}: {}", outcome.err);
}

#[test]
fn wrong_words_are_refused_with_a_hint() {
    let home = Home::new();
    home.file("a", 10);
    for (words, parts) in [
        ("copy", &["required", "SRC"][..]),
        ("copy a", &["required", "DST"]),
        (
            "copy a b --request-size 1M",
            &["--request-size", "write 1MiB (powers of 1024) or 1MB (powers of 1000)"],
        ),
        ("copy a b --request-size 512", &["write 512B"]),
        ("copy a b --request-size 100B", &["multiple of 1 KiB"]),
        ("copy a b --request-size 1GiB", &["64 MiB"]),
        ("copy a b --bwlimit 10M", &["--bwlimit", "write 10MiB"]),
        ("copy a b --bwlimit 4bit", &["--bwlimit", "never end"]),
        ("copy a b --depth 0", &["--depth", "1..=4096"]),
        ("copy a b --sink-depth 4097", &["--sink-depth", "1..=4096"]),
        ("copy a b --lanes 257", &["--lanes", "1..=256"]),
        ("copy a b --lanes 256 --depth 4096 --request-size 64MiB", &["of memory"]),
        ("copy a b --depht 3", &["--depht", "similar argument exists: '--depth'"]),
        ("copy a b --engine urin", &["similar value exists: 'uring'"]),
        ("copy a b --sync sometimes", &["possible values: end, each, none"]),
        ("copy a b --progress sometimes", &[]),
        ("copy -Q a b", &["-Q"]),
        ("copy --max-delete 3 a b", &["--delete"]),
        ("copi a b", &["similar subcommands exist", "'copy'"]),
        ("copy host:a pump://x:1/b", &["both places are on other hosts"]),
        ("copy null:10G b", &["write 10GiB"]),
        ("copy - - b", &["standard input", "once"]),
        ("copy -T a a b", &["-T"]),
        ("copy --json a -", &["--json", "standard output"]),
        ("verify a", &["required", "<B>"]),
        ("lab run cpu --set depth", &["write for example depth=1,2,4"]),
        ("lab run cpu --repeats 0", &["--repeats"]),
        ("completions tcsh", &["possible values: bash"]),
        ("man nothing", &["no manual page for 'nothing'"]),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        expect(&home.pump(&words), 2, parts, &words.join(" "));
        assert_eq!(home.names(), ["a"], "nothing is written by: {}", words.join(" "));
    }
}

#[test]
fn wrong_values_in_the_environment_name_the_variable() {
    let home = Home::new();
    home.file("a", 10);
    for (variable, value, part) in [
        ("PUMP_DEPTH", "x", "write a whole number"),
        ("PUMP_REQUEST_SIZE", "1M", "write 1MiB"),
        ("PUMP_ENGINE", "urin", "uring"),
        ("PUMP_VERIFY", "perhaps", "boolean"),
        ("PUMP_PROGRESS", "sometimes", "always"),
        ("PUMP_BWLIMIT", "fast", "is not a size"),
        ("PUMP_SYNC", "", "end"),
    ] {
        let refused = home.pump_with((variable, value), &["copy", "a", "b"]);
        expect(&refused, 2, &[&format!("environment variable {variable}"), part], variable);
    }
    assert_eq!(home.names(), ["a"]);
}

#[test]
fn the_environment_is_obeyed_and_the_command_line_comes_before_it() {
    let home = Home::new();
    home.file("a", 10);
    let planned = home.pump_with(("PUMP_DRY_RUN", "1"), &["copy", "a", "b"]);
    expect(&planned, 0, &[], "PUMP_DRY_RUN");
    assert!(planned.out.starts_with("'a' -> 'b' (10 bytes"), "{planned:?}");
    for words in [&["copy", "a", "b", "--depth", "3"][..], &["copy", "--depth=3", "a", "b"]] {
        expect(&home.pump_with(("PUMP_DEPTH", "x"), words), 0, &[], "a bad value that is not used");
    }
    let both = home.pump_with(("PUMP_DEPTH", "3"), &["copy", "--json", "--sink-depth", "1", "a", "c"]);
    let report = schema::checked(&both.out).pop().expect("a report");
    assert_eq!((&report["source_depth"], &report["sink_depth"]), (&3.into(), &1.into()));
}

#[test]
fn a_copy_reports_on_standard_error_and_nothing_on_standard_output() {
    let home = Home::new();
    let content = home.file("a", 3_000_000);
    let copied = home.pump(&["copy", "a", "b"]);
    expect(&copied, 0, &["a -> b: 2.9 MiB in "], "copy");
    assert!(!copied.err.contains("ns/request"), "{copied:?}");
    let verbose = home.pump(&["copy", "-v", "a", "b"]);
    expect(&verbose, 0, &["3,000,000 bytes, ", " ns/request"], "copy -v");
    assert_eq!(copied.out, "");
    assert_eq!(std::fs::read(home.path("b")).expect("the copy"), content);
    let quiet = home.pump(&["copy", "-q", "a", "b"]);
    assert_eq!((quiet.status, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""));
    let verbose = home.pump(&["copy", "-v", "a", "b"]);
    expect(&verbose, 0, &["engine: asked auto, got ", "direct: asked auto, got ", "b: 3000000 bytes"], "-v");
}

#[test]
fn events_have_the_form_of_the_schema() {
    let home = Home::new();
    home.file("a", 100_000);
    home.file("b", 100_001);
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff\n");
    home.file(odd, 5);
    std::fs::create_dir(home.path("folder")).expect("a folder");
    for (words, status, names) in [
        ("copy --json a c", 0, "start file report"),
        ("copy --json --verify a b folder", 0, "start file file report"),
        ("copy --json --bad a c", 2, "problem report"),
        ("copy --json nothing c", 1, "start problem report"),
        ("copy --json a nothing folder", 23, "start problem file report"),
        ("copy --json null:1MiB null:", 0, "start file report"),
        ("copy --json -n a c", 0, "start plan report"),
        ("copy --json -n nothing c", 1, "start problem report"),
        ("copy --json host:a pump://x:1/c", 2, "start problem report"),
        ("copy --json a -", 2, "problem report"),
        ("copy --json a a", 2, "start problem report"),
        ("verify --json --content-only a c", 0, "start file report"),
        ("verify --json a b", 1, ""),
        ("verify --json a nothing", 2, "start problem report"),
        ("hash --json a b", 0, "start file file report"),
        ("hash --json nothing a", 23, "start problem file report"),
        ("doctor --json", 0, ""),
        ("doctor --json nothing", 1, ""),
    ] {
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(run.status, status, "{words}: {run:?}");
        let events = schema::checked(&run.out);
        let found: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
        assert_eq!(events.last().expect("a report")["exit_status"], status, "{words}");
        if !names.is_empty() {
            let mut expected: Vec<&str> = names.split(' ').collect();
            let mut found: Vec<&str> = found.iter().copied().filter(|name| *name != "progress").collect();
            // Problems and files may come in any order between the first and the last event.
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{words}");
        }
    }
    let run = home.pump(&["hash".as_ref(), "--json".as_ref(), odd]);
    assert_eq!(schema::checked(&run.out)[1]["path_bytes"], "b2Rk/wo=");
}

#[test]
fn hashes_are_printed_as_b3sum_prints_them() {
    let home = Home::new();
    home.file("plain", 1_000_000);
    home.file("new\nline", 0);
    home.file("back\\slash", 3);
    let words = ["plain", "new\nline", "back\\slash"];
    let ours = home.pump(&[&["hash"], &words[..]].concat());
    assert_eq!(ours.status, 0, "{ours:?}");
    let lines: Vec<&str> = ours.out.lines().collect();
    let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
    assert_eq!(lines[1], format!("\\{empty}  new\\nline"));
    assert!(lines[2].starts_with('\\') && lines[2].ends_with("  back\\\\slash"), "{}", lines[2]);
    let mut theirs = std::process::Command::new("b3sum");
    theirs.args(words).current_dir(home.path(""));
    // Where b3sum is installed the comparison is with itself.
    if theirs.stdout(Stdio::null()).status().is_ok() {
        assert_eq!(outcome(theirs, b"").out, ours.out);
    }
    for words in [&["hash", "plain", "--lanes", "3"][..], &["hash", "--request-size", "1KiB", "plain"]] {
        assert_eq!(home.pump(words).out.lines().next(), Some(lines[0]), "{words:?}");
    }
}

#[test]
fn standard_input_can_be_hashed_and_copied() {
    let home = Home::new();
    let content = home.file("a", 100_000);
    let line = home.pump(&["hash", "a"]).out.replace("  a", "  -");
    for words in [&["hash"][..], &["hash", "-"]] {
        assert_eq!(outcome(home.command(words), &content).out, line, "{words:?}");
    }
    let copied = outcome(home.command(&["copy", "-", "b"]), &content);
    expect(&copied, 0, &["97.7 KiB"], "from standard input");
    assert_eq!(std::fs::read(home.path("b")).expect("the copy"), content);
}

#[test]
fn verify_has_the_statuses_of_cmp_and_a_line_for_each_difference() {
    let home = Home::new();
    home.file("a", 5000);
    expect(&home.pump(&["copy", "a", "same"]), 0, &[], "copy");
    home.file("other", 5000);
    home.file("long", 5001);
    let set_mode = |name: &str, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(home.path(name), mode).expect("a mode can be set");
    };
    set_mode("a", 0o644);
    set_mode("other", 0o600);
    for (words, status, part) in [
        ("verify a same", 0, ""),
        ("verify --content-only a other", 0, ""),
        ("verify a other", 1, "has mode 0644, 'other' has 0600"),
        ("verify --content-only a long", 1, "a"),
        ("verify a nothing", 2, ""),
    ] {
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(run.status, status, "{words}: {run:?}");
        assert!(run.out.contains(part), "{words}: {run:?}");
        assert_eq!(run.out.is_empty(), status != 1, "{words}: {run:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure_and_a_full_device_is() {
    let home = Home::new();
    home.file("a", 10);
    let list = ["hash", "copy -n", "doctor", "completions bash", "man copy", "--help", "copy --json"];
    for words in list {
        let mut words: Vec<&str> = words.split(' ').collect();
        match words[0] {
            "hash" => words.extend(["a"; 100]),
            "copy" => words.extend(["a", "b"]),
            _ => {}
        }
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = home.command(&words);
        let closed = command.stdout(writer).stderr(Stdio::piped()).output().expect("pump was built");
        let err = String::from_utf8_lossy(&closed.stderr);
        assert_eq!(closed.status.code(), Some(0), "{words:?} into a closed pipe: {err}");
        assert!(!err.contains("panicked") && !err.contains("Broken pipe"), "{words:?}: {err}");
        if words[0] == "--help" {
            continue; // printed by clap, whose errors nobody hears of
        }
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let full = home.command(&words).stdout(full).stderr(Stdio::piped()).output().expect("pump was built");
        let err = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(1), "{words:?} to /dev/full: {err}");
        assert!(err.contains("write to standard output: No space left on device"), "{words:?}: {err}");
    }
}

#[test]
fn the_first_signal_drains_and_the_command_ends_with_status_20() {
    let home = Home::new();
    home.file("a", 10_000_000);
    for signal in ["INT", "TERM"] {
        let mut command = home.command(&["copy", "--json", "--bwlimit", "100kB", "a", "b"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("pump was built");
        let mut out = String::new();
        let mut stdout = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        std::io::BufRead::read_line(&mut stdout, &mut out).expect("the start");
        // The start is printed before signals are taken over; the first progress comes after.
        std::io::BufRead::read_line(&mut stdout, &mut out).expect("progress");
        let kill = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill is installed").success());
        std::io::Read::read_to_string(&mut stdout, &mut out).expect("the rest");
        assert_eq!(support::home::status(&mut child), 20, "{signal}: {out}");
        assert_eq!(schema::checked(&out).last().expect("a report")["exit_status"], 20, "{signal}");
        assert_eq!(home.names(), ["a"], "{signal}: nothing is left");
    }
}

#[test]
fn names_cannot_move_the_cursor() {
    let home = Home::new();
    for words in
        [&["copy", "no\x1b[2Jfile", "b"][..], &["copy", "-n", "no\x1b[2Jfile", "b"], &["doctor", "\x1b[2J"]]
    {
        let run = home.pump(words);
        assert_eq!(run.status, 1, "{run:?}");
        assert!(!run.err.contains('\x1b') && run.err.contains("\\u{1b}"), "{run:?}");
    }
}

#[test]
fn studies_are_listed_shown_run_and_viewed() {
    let home = Home::new();
    let list = home.pump(&["lab", "list"]);
    assert!(list.status == 0 && list.out.contains("cpu  "), "{list:?}");
    assert!(home.pump(&["lab", "show", "cpu"]).out.contains("request_size"));
    for words in [["lab", "show", "peers-locl-file"], ["lab", "run", "peers-locl-file"]] {
        expect(&home.pump(&words), 2, &["no built-in study", "'peers-local-file'"], "a misspelt study");
    }
    expect(&home.pump(&["lab", "show", "nothing"]), 2, &["no built-in study", "pump lab list"], "lab show");
    expect(&home.pump(&["lab", "run", "nothing"]), 2, &["nothing"], "lab run nothing");
    expect(&home.pump(&["lab", "run", "cpu", "--set", "colour=red"]), 2, &["colour"], "an unknown factor");
    expect(&home.pump(&["lab", "view", "nothing"]), 1, &["nothing"], "lab view");
    let run = home.pump(&["lab", "run", "cpu", "--quick", "--repeats", "1", "--out", "rows.jsonl", "--json"]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(schema::checked(&run.out)[0]["event"], "summary");
    let view = home.pump(&["lab", "view", "rows.jsonl"]);
    assert!(view.status == 0 && view.out.contains("cpu"), "{view:?}");
    assert_eq!(home.names(), ["rows.jsonl"]);
}

#[test]
fn rows_are_compared_with_a_verdict_for_each_cell_and_overall() {
    let home = Home::new();
    let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench");
    let (cpu, file) = (format!("{bench}/cpu.jsonl"), format!("{bench}/peers-local-file.jsonl"));
    let run = home.pump(&["lab", "compare", &cpu, &cpu]);
    expect(&run, 0, &[], "A against itself");
    assert!(run.out.contains("note: A and B are the same file"), "{run:?}");
    assert!(run.out.contains("above 1 B is faster") && run.out.contains("no difference shown"), "{run:?}");
    let json = home.pump(&["lab", "compare", "--json", "--metric", "cpu", &cpu, &cpu]);
    let event = &schema::checked(&json.out)[0];
    assert_eq!((json.status, &event["event"], &event["metric"]), (0, &"comparison".into(), &"cpu".into()));
    let cells = event["cells"].as_array().expect("cells");
    for judged in cells.iter().chain([&event["overall"]]) {
        assert_eq!(
            (&judged["verdict"], judged["ratio"].as_f64()),
            (&"no difference shown".into(), Some(1.0))
        );
        assert!(judged["ratio_low"].as_f64() <= Some(1.0) && judged["ratio_high"].as_f64() >= Some(1.0));
    }
    let first: String = std::fs::read_to_string(&cpu).expect("rows").lines().take(1).collect();
    std::fs::write(home.path("one.jsonl"), format!("{first}\n")).expect("room");
    for (words, status, hints) in [
        (["one.jsonl", "one.jsonl"], 1, &["nothing could be judged: that takes three runs"][..]),
        ([&cpu, &file], 2, &["no cell is in both files", "cpu (", "peers-local-file (", "and 4 more"]),
        ([&cpu, "nothing"], 1, &["nothing"]),
    ] {
        expect(&home.pump(&["lab", "compare", words[0], words[1]]), status, hints, words[1]);
    }
    let rows = std::fs::read(&cpu).expect("rows");
    std::fs::write(home.path("torn.jsonl"), &rows[..rows.len() - 100]).expect("room");
    let torn = home.pump(&["lab", "compare", &cpu, "torn.jsonl"]);
    let apart = "nothing could be judged: not interleaved; how much one session differs from the next is not known here";
    let hints = ["torn.jsonl: ", "bytes of a torn last line left out", apart, "--a BINARY --b BINARY"];
    expect(&torn, 1, &hints, "a torn file, and one session on each side");
    assert!(torn.out.contains("10 and 9"), "{torn:?}");
    let wrong = home.pump(&["lab", "compare", "--metric", "speed", &cpu, &cpu]);
    expect(&wrong, 2, &["'speed' cannot be compared; write elapsed"], "an unknown metric");
}

#[test]
fn demo_copies_a_file_and_leaves_nothing() {
    let home = Home::new();
    home.file("a", 3_000_000);
    let run = home.pump(&["demo", "a"]);
    expect(&run, 0, &[], "demo");
    assert!(run.out.starts_with("Sending a over TLS") && run.out.contains("\n2.9 MiB in "), "{run:?}");
    assert!(run.out.contains("\nRead back and compared: the same."), "{run:?}");
    assert_eq!(home.names(), ["a"]);
    assert_eq!(home.pump(&["demo", "nothing"]).status, 1);
    let events = schema::checked(&home.pump(&["demo", "--json", "a"]).out);
    assert_eq!(events.last().expect("a report")["exit_status"], 0);
    assert_eq!(home.names(), ["a"]);
}

#[test]
fn doctor_names_each_part_of_this_host() {
    let home = Home::new();
    let run = home.pump(&["doctor", "."]);
    assert_eq!(run.status, 0, "{run:?}");
    for part in
        ["engine uring", "engine threads", "engine inline", "locked memory", "open files", "direct I/O"]
    {
        assert!(run.out.contains(part), "no {part}: {}", run.out);
    }
    for part in ["reflink", "file system", "room", "online discard"] {
        assert!(run.out.contains(part), "no {part}: {}", run.out);
    }
    assert!(home.names().is_empty(), "doctor leaves nothing");
}

#[test]
fn completions_help_and_man_page_know_every_flag() {
    let home = Home::new();
    let help = home.pump(&["copy", "--help=all"]).out;
    let page = home.pump(&["man", "copy"]).out.replace("\\-", "-");
    let scripts: Vec<String> = ["bash", "zsh", "fish", "powershell", "elvish"]
        .iter()
        .map(|shell| home.pump(&["completions", shell]).out)
        .collect();
    let flags: Vec<&str> =
        help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 3).collect();
    assert!(flags.len() > 20, "{flags:?}");
    let name_of = |flag: &str| {
        flag.trim_start_matches('-').split(['[', ']', '=', ';', ':', '.', ',', ')']).next().map(str::to_owned)
    };
    for flag in flags.into_iter().filter_map(name_of) {
        assert!(page.contains(&format!("--{flag}")), "the manual page lacks --{flag}");
        for script in &scripts {
            assert!(script.contains(&flag), "completions lack {flag}");
        }
    }
    for part in ["PUMP_DEPTH", "Example: pump copy --depth", "pump 0."] {
        assert!(page.contains(part), "the manual page lacks {part}");
    }
    assert!(home.pump(&["man", "lab", "run"]).out.contains("pump\\-lab\\-run"));
}

#[test]
fn help_and_version() {
    let home = Home::new();
    for (words, parts) in [
        (&["--help"][..], &["Exit status:", "PUMP_SOME_FLAG", "doctor"][..]),
        (&["copy", "--help=all"], &["Examples:", "What:", "How:", "Tuning:", "Output:", "[env: PUMP_DEPTH]"]),
        (&["copy", "--help"], &["Examples:", "--dry-run", "--help=network", "Exit status:"]),
        (&["copy", "--help=network"], &["--ssh", "--congestion"]),
        (&["help", "topics"], &["pump copy --help=tuning", "pump doctor --help"]),
        (&["--version"], &["pump 0.", "features: "]),
    ] {
        let run = home.pump(words);
        assert_eq!(run.status, 0, "{run:?}");
        parts.iter().for_each(|part| assert!(run.out.contains(part), "no {part} in {}", run.out));
    }
    let help = home.pump(&["copy", "--help=all"]).out;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("A folder that is not empty is replaced by a file of the source only with --delete:")
    );
    let with_value = home.pump_with(("PUMP_DEPTH", "3"), &["copy", "--help"]).out;
    assert_eq!(with_value, home.pump(&["copy", "--help"]).out, "help does not change with the environment");
    let no_color = home.pump_with(("CLICOLOR_FORCE", "1"), &["copy", "--help"]).out;
    assert!(!no_color.contains('\x1b'), "no colour");
}

/// As sha256sum -c has it.
#[test]
fn a_list_that_names_no_file_checks_nothing() {
    let home = Home::new();
    home.file("a", 10);
    std::fs::write(home.path("empty"), "").expect("room");
    std::fs::write(home.path("blank"), "\n\n").expect("room");
    let good = home.pump(&["hash", "a"]);
    std::fs::write(home.path("good"), &good.out).expect("room");
    for line in ["hash -c empty", "hash -c blank", "hash -c -", "hash --quiet -c empty", "hash -c good empty"]
    {
        let run = home.pump(&line.split(' ').collect::<Vec<_>>());
        expect(&run, 1, &["nothing was checked"], line);
    }
    expect(&home.pump(&["hash", "-c", "good"]), 0, &[], "it names a file");
}
