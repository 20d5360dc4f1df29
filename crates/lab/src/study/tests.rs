//! Tests of the study format: a table of wrong files with their messages, levels, order and changes.

use super::*;

const JOB: &str = r#"
name = "tiny"
title = "t"
repeats = 3
[factors]
request_size = ["4KiB", "64KiB"]
engine = ["inline", "uring"]
[job]
source = "null:1MiB"
target = "null:"
request_size = "{request_size}"
engine = "{engine}"
"#;

const COMMANDS: &str = r#"
name = "tiny"
title = "t"
prepare = [{ step = "make_source", size = "{size}" }, { step = "new_target" }, { step = "wait_quiet" }]
check = ["same_content"]
baselines = [{ command = "cp" }]
[factors]
size = ["64KiB", "1MiB"]
[command.levels]
pump = "{pump} copy {source} {target}"
cp = "cp {source} {target}"
odd = "true"
[[exception]]
where = { command = ["odd"] }
check = []
[[exception]]
where = { command = ["odd"], size = ["1MiB"] }
skip = true
[[exception]]
where = { size = ["64KiB"] }
repeats = 20
[quick]
repeats = 2
warmup = 0
[quick.factors]
size = ["4KiB"]
"#;

const STEPS: [&str; 12] = [
    "make_source",
    "make_tree",
    "use_tree",
    "new_target",
    "new_host",
    "new_relay",
    "new_path",
    "run",
    "cold_source",
    "warm_source",
    "warm_target",
    "wait_quiet",
];

const TREES: &str = r#"
name = "tiny"
title = "t"
prepare = [
  { step = "make_tree", files = "{files}", smallest = "1KiB", largest = "64KiB" }, { step = "new_target" },
  { step = "run", command = "cp -a {source} {target}" }, { step = "warm_target" },
]
check = ["same_tree", "nothing_written"]
[factors]
files = [10, 20]
[command.levels]
rsync = "rsync -a {source}/ {target}/"
"#;

const RELAYS: &str = r#"
name = "tiny"
title = "t"
prepare = [{ step = "new_host" }, { step = "new_relay", rtt = "{rtt}", jitter = "1ms", rate = "1Gbit" }]
[factors]
rtt = ["0ms", "20ms"]
[command.levels]
nc = "nc 127.0.0.1 {relay_port}"
"#;

fn parse(text: &str) -> Result<Study, StudyError> {
    Study::parse("my.toml", text, &Changes::default())
}

fn changed(text: &str, changes: Changes) -> Study {
    Study::parse("my.toml", text, &changes).expect("in order")
}

/// Checks rows of what is replaced in the text, by what, and hints that the message must have.
fn refuses(text: &str, rows: &[(&str, &str, &[&str])]) {
    for (from, to, hints) in rows {
        assert!(text.contains(from), "the table's own text: {from}");
        let error = parse(&text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.starts_with("study my.toml: "), "{to}: {error}");
        hints.iter().for_each(|hint| assert!(error.contains(hint), "{to}: {error}"));
    }
}

#[test]
fn wrong_studies_of_jobs_say_file_key_and_what_to_write() {
    refuses(
        JOB,
        &[
            ("name = \"tiny\"", "nam = \"tiny\"", &["line 2: unknown key `nam`; write one of `name`"]),
            ("name = \"tiny\"", "name = \"My Study\"", &["name: 'My Study'", "write small letters"]),
            ("title = \"t\"", "", &["my.toml: `title = \"…\"` is missing; add it"]),
            ("request_size = [", "request_sizes = [", &["factors.request_sizes: no factor", "write one of"]),
            ("[\"4KiB\", \"64KiB\"]", "[]", &["factors.request_size: the list is empty"]),
            ("[\"4KiB\", \"64KiB\"]", "[0.5]", &["line 6: this must be", "in quotes", "not 0.5"]),
            ("repeats = 3", "repeats = -3", &["line 4: repeats must be a whole number from 0 to 4294967295"]),
            ("\"64KiB\"", "\"99B\"", &["job: the request size must be a multiple of 1 KiB"]),
            ("[\"4KiB\", \"64KiB\"]", "[\"4KiB\", \"4KiB\"]", &["'4KiB' stands there twice"]),
            ("\"64KiB\"", "\"64K\"", &["job.request_size: ", "write 64KiB"]),
            ("\"uring\"", "\"ring\"", &["job.engine: 'ring' is no engine; write auto, uring"]),
            ("\"{engine}\"", "\"{lanes}\"", &["job.engine: {lanes} is neither a factor nor prepared"]),
            ("\"null:\"", "\"{target}\"", &["job.target: {target} is neither"]),
            ("[job]", "[jop]", &["unknown key `jop`"]),
            ("engine = \"{engine}\"", "speed = 1", &["unknown key `speed`", "`request_size`"]),
            ("repeats = 3", "repeats = 0", &["repeats: nothing would be run"]),
            ("repeats = 3", "run_takes = \"long\"", &["run_takes: 'long' is not a duration"]),
            ("repeats = 3", "repeats = 90000", &["factors: 360000 runs are more than 86400"]),
            (
                "[factors]",
                "[factors]\nsoaker = [\"all\"]",
                &["factors.soaker: 'all' is none of off, on, half"],
            ),
            ("title = \"t\"", "title = \"t\"\nprobes = [\"soker\"]", &["unknown word `soker`", "`soaker`"]),
            ("title = \"t\"", "title = \"t\"\nprobes = [\"tcp\"]", &["probes: 'tcp' is of a [command]"]),
            ("[factors]", "[factors]\ncommand = [\"x\"]", &["factors.command: a [job] has no commands"]),
            ("repeats = 3", "check = [\"same_content\"]", &["check: ", "make_source and new_target"]),
        ],
    );
}

/// Twenty levels of each of ten factors are 400 TB of cells.
#[test]
fn combinations_are_counted_before_they_are_made() {
    let levels: Vec<u32> = (1..=20).collect();
    let factors = &FACTORS[..10];
    let text: String = factors.iter().map(|name| format!("{name} = {levels:?}\n")).collect();
    let job = "[job]\nsource = \"null:1MiB\"\ntarget = \"null:\"\n";
    let error =
        parse(&format!("name = \"large\"\ntitle = \"t\"\n[factors]\n{text}{job}")).expect_err("too many");
    assert!(error.to_string().contains("factors: 10240000000000 combinations of levels"), "{error}");
}

#[test]
fn wrong_stop_rules_say_file_key_and_what_to_write() {
    refuses(
        JOB,
        &[
            (
                "repeats = 3",
                "stop = { narrower_than = \"3\" }",
                &["'3' is no part", "write for example \"3%\""],
            ),
            ("repeats = 3", "stop = { narrower_than = \"0%\" }", &["'0%' is no part of a figure"]),
            ("repeats = 3", "stop = { narrower = \"3%\" }", &["unknown key `narrower`", "`narrower_than`"]),
            ("repeats = 3", "stop = { narrower_than = \"3%\", of = \"speed\" }", &["`elapsed` or `ratio`"]),
            (
                "repeats = 3",
                "stop = { narrower_than = \"3%\", at_least = 2 }",
                &["stop.at_least: 2 runs have no interval; write 3 or more, or fixed repeats"],
            ),
            (
                "repeats = 3",
                "stop = { narrower_than = \"3%\", at_least = 9, at_most = 8 }",
                &["stop.at_most: 8 rounds are too few", "write 9 or more"],
            ),
            (
                "repeats = 3",
                "stop = { narrower_than = \"3%\", at_least = 3, at_most = 4 }",
                &["stop.at_most: 4 rounds are too few", "write 5 or more"],
            ),
            (
                "repeats = 3",
                "stop = { narrower_than = \"3%\", of = \"ratio\" }",
                &["stop.of: there is nothing to compare with; write baselines"],
            ),
            (
                "repeats = 3",
                "stop = { narrower_than = \"3%\" }\n[[results]]\nname = \"receive_bytes\"",
                &["stop.of: no result can be better; write better = "],
            ),
            (
                "repeats = 3",
                "repeats = 3\nstop = { narrower_than = \"3%\" }",
                &["stop: ", "either repeats or stop"],
            ),
        ],
    );
}

#[test]
fn wrong_studies_of_commands_say_file_key_and_what_to_write() {
    refuses(
        COMMANDS,
        &[
            ("[factors]", "[job]\nsource = \"-\"\ntarget = \"-\"\n[factors]", &["either [job] or [command]"]),
            ("[command.levels]", "[unused]", &["unknown key `unused`"]),
            (
                "[factors]",
                "[factors]\ncommand = [\"mv\"]",
                &["factors.command", "no 'mv'; it has cp, odd, pump"],
            ),
            (
                "{ command = \"cp\" }",
                "{ comand = \"cp\" }",
                &["baselines: 'comand' is no factor of this study"],
            ),
            ("{ command = \"cp\" }", "{ command = \"mv\" }", &["has no 'mv'"]),
            ("title = \"t\"", "title = \"t\"\nprobes = [\"latency\"]", &["probes: 'latency' is of a [job]"]),
            (
                "cp {source}",
                "cp {sorce}",
                &["command.levels.cp: {sorce} has no value", "source, target, pump"],
            ),
            ("cp {source}", "nc {port}", &["command.levels.cp: {port} has no value"]),
            ("\"make_source\"", "\"make_sauce\"", &["unknown word `make_sauce`", "`wait_quiet`"]),
            ("{ step = \"new_target\" }", "{ step = \"new_target\", x = 1 }", &["unknown key `x`"]),
            ("size = \"{size}\"", "size = \"{depth}\"", &["prepare.make_source.size: {depth} is no factor"]),
            ("[\"64KiB\", \"1MiB\"]", "[\"64KiB\", \"1M\"]", &["prepare.make_source.size", "write 1MiB"]),
            ("prepare = [", "prepare = [{ step = \"cold_source\" }, ", &["prepare: there is no source yet"]),
            ("where = { size", "where = { sizes", &["exception.where: 'sizes' is no factor"]),
            ("\"same_content\"", "\"same\"", &["unknown word `same`"]),
            (
                "[factors]",
                "[stop]\nnarrower_than = \"3%\"\n[factors]",
                &["exception.repeats: all cells are run until every interval is narrow"],
            ),
        ],
    );
}

#[test]
fn wrong_studies_of_trees_say_file_key_and_what_to_write() {
    parse(TREES).expect("in order");
    let made = "{ step = \"make_tree\", files = \"{files}\", smallest = \"1KiB\", largest = \"64KiB\" }";
    refuses(
        TREES,
        &[
            ("[10, 20]", "[\"many\"]", &["prepare.make_tree.files: 'many' is no count"]),
            ("\"{files}\"", "\"{lanes}\"", &["prepare.make_tree.files: {lanes} is no factor"]),
            ("\"64KiB\"", "\"64K\"", &["prepare.make_tree.largest: ", "write 64KiB"]),
            ("smallest", "least", &["unknown key `least`", "`smallest`"]),
            ("files = \"{files}\", ", "", &["`files = \"…\"` is missing"]),
            (made, "{ step = \"use_tree\", path = \"{path}\" }", &["prepare.use_tree.path", "such as /usr"]),
            ("-a {source} {target}", "-a {sauce} {target}", &["prepare.run.command: {sauce} has no value"]),
            ("{ step = \"run\"", "{ step = \"warm_target\" }, { step = \"run\"", &["no target yet", "run"]),
            (made, "{ step = \"make_source\", size = \"1KiB\" }", &["check: same_tree compares trees"]),
            (&format!("{made}, "), "", &["check: ", "make_source and new_target"]),
        ],
    );
}

#[test]
fn wrong_relays_say_file_key_and_what_to_write() {
    parse(RELAYS).expect("in order");
    refuses(
        RELAYS,
        &[
            ("\"{rtt}\"", "\"{lanes}\"", &["prepare.new_relay.rtt: {lanes} is no factor"]),
            ("\"20ms\"", "20", &["prepare.new_relay.rtt: '20' is not a duration"]),
            ("rtt = \"{rtt}\", ", "", &["`rtt = \"…\"` is missing"]),
            ("jitter", "wobble", &["unknown key `wobble`", "`jitter`"]),
            ("1Gbit", "0bit", &["prepare.new_relay.rate: nothing would arrive"]),
            ("{ step = \"new_host\" }, ", "", &["prepare: there is no host yet; write the step new_host"]),
            ("{relay_port}", "{relay}", &["{relay} has no value", "host, port, relay_port"]),
        ],
    );
    let without = RELAYS.replacen(
        ", { step = \"new_relay\", rtt = \"{rtt}\", jitter = \"1ms\", rate = \"1Gbit\" }",
        "",
        1,
    );
    let error = parse(&without).expect_err("no relay").to_string();
    assert!(error.contains("{relay_port} has no value"), "{error}");
}

#[test]
fn a_study_that_runs_nothing_is_refused() {
    let none = parse("name = \"tiny\"\ntitle = \"t\"\n").expect_err("nothing to run").to_string();
    assert_eq!(none, "study my.toml: job: nothing is run; write a table [job] or [command.levels]");
}

#[test]
fn factors_keep_the_order_of_the_file() {
    let names = |study: &Study| study.factors.iter().map(|factor| factor.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&parse(JOB).expect("in order")), ["request_size", "engine"]);
    let study = parse(COMMANDS).expect("in order");
    assert_eq!(names(&study), ["command", "size"]);
    assert_eq!(study.levels(COMMAND), ["pump", "cp", "odd"].map(Level::from));
}

#[test]
fn exceptions_change_or_skip_cells() {
    let study = parse(COMMANDS).expect("in order");
    let rows: Vec<(String, u32, usize)> =
        study.cells().iter().map(|cell| (cell.to_string(), cell.repeats, cell.check.len())).collect();
    let row = |words: &str, repeats, checks| (words.to_string(), repeats, checks);
    assert_eq!(
        rows,
        [
            row("command=pump size=64KiB", 20, 1),
            row("command=pump size=1MiB", 10, 1),
            row("command=cp size=64KiB", 20, 1),
            row("command=cp size=1MiB", 10, 1),
            row("command=odd size=64KiB", 20, 0),
        ]
    );
}

#[test]
fn every_round_visits_every_cell_once_in_an_order_by_the_seed() {
    let order = |seed| {
        let study = changed(JOB, Changes { seed: Some(seed), ..Changes::default() });
        study.runs(&study.cells())
    };
    let runs = order(1);
    assert_eq!(runs, order(1));
    assert_ne!(runs, order(2));
    assert_eq!(runs.len(), 4 + 3 * 4, "a warm-up round and three rounds of four cells");
    assert!(runs[..4].iter().all(|run| run.repeat.is_none() && run.order.is_none()));
    for (round, runs) in runs[4..].chunks(4).enumerate() {
        let mut cells: Vec<usize> = runs.iter().map(|run| run.cell).collect();
        cells.sort_unstable();
        assert_eq!(cells, [0, 1, 2, 3], "round {round}");
        assert!(runs.iter().all(|run| run.repeat == Some(round as u32)));
    }
    let places: Vec<_> = runs[4..].iter().map(|run| run.order).collect();
    assert_eq!(places, (0..12).map(Some).collect::<Vec<_>>());
}

#[test]
fn cells_with_more_repeats_have_rounds_of_their_own() {
    let study = parse(COMMANDS).expect("in order");
    let cells = study.cells();
    let runs = study.runs(&cells);
    let of = |cell: usize| runs.iter().filter(|run| run.cell == cell && run.repeat.is_some()).count() as u32;
    (0..cells.len()).for_each(|cell| assert_eq!(of(cell), cells[cell].repeats, "{}", cells[cell]));
}

#[test]
fn the_command_line_replaces_levels_repeats_and_seed() {
    let set = |name: &str, levels: &[&str]| {
        vec![(name.to_string(), levels.iter().map(|it| it.to_string()).collect())]
    };
    let study =
        changed(JOB, Changes { set: set("engine", &["inline"]), seed: Some(9), ..Changes::default() });
    assert_eq!((study.cells().len(), study.seed), (2, 9));

    let study = changed(COMMANDS, Changes { repeats: Some(1), ..Changes::default() });
    assert!(study.cells().iter().all(|cell| cell.repeats == 1));

    let study = changed(COMMANDS, Changes { quick: true, ..Changes::default() });
    assert_eq!((study.cells().len(), study.cells()[0].repeats, study.warmup), (3, 2, 0));

    let wrong = Changes { set: set("depth", &["1"]), ..Changes::default() };
    let error = Study::parse("my.toml", JOB, &wrong).expect_err("no such factor").to_string();
    assert_eq!(
        error,
        "study my.toml: --set depth: the study has no such factor; its factors are request_size, engine"
    );
}

/// A word that no command knows would run as something else, under its name.
#[test]
fn levels_that_a_study_cannot_have_are_refused() {
    let refused = |name: &str, factor: &str, level: &str| {
        let set = vec![(factor.to_string(), vec![level.to_string()])];
        let changes = Changes { set, ..Changes::default() };
        let text = builtin::find(name).expect("there is one").text;
        let study = Study::parse(name, text, &changes);
        study.map(|study| study.cells().len()).map_err(|error| error.to_string())
    };
    for (name, factor, level, words) in [
        ("seqio", "operation", "delete", "'delete' is not one of its words; the study has read, write"),
        ("seqio", "depth", "many", "'many' is not a number; the study has 1, 2, 4"),
        ("seqio", "depth", "0", "'0' is not a number"),
        ("seqio", "request_size", "64", "'64' is not a size with its unit"),
        ("seqio", "request_size", "0B", "'0B' is not a size with its unit"),
        ("readers", "readers", "0", "'0' is not a number"),
        ("readers", "stage", "fast", "'fast' is not one of its words; the study has unoptimised"),
    ] {
        let error = refused(name, factor, level).expect_err(level);
        assert!(error.contains(&format!("--set {factor}: {words}")), "{error}");
    }
    for (name, factor, level) in [
        ("seqio", "request_size", "3KiB"),
        ("seqio", "depth", "3"),
        ("seqio", "engine", "threads"),
        ("tcp-response", "loss", "1/7"),
        ("disks", "scheduler", "other"),
        ("disk-source", "caching", "buffered"),
    ] {
        assert!(refused(name, factor, level).is_ok(), "{name} {factor} {level}");
    }
}

#[test]
fn a_stop_rule_stands_instead_of_repeats_and_gives_way_to_others() {
    let text = JOB.replace("repeats = 3", "stop = { narrower_than = \"2.5%\", at_most = 20 }");
    let study = parse(&text).expect("in order");
    let rule = StopRule { narrower_than: 0.025, of: StopFigure::Elapsed, at_least: 5, at_most: 20 };
    assert_eq!((study.stop, study.repeats), (Some(rule), 20));
    let fixed = changed(&text, Changes { repeats: Some(2), ..Changes::default() });
    assert_eq!((fixed.stop, fixed.repeats), (None, 2));
    let quick = changed(&(text + "[quick]\nrepeats = 1\n"), Changes { quick: true, ..Changes::default() });
    assert_eq!((quick.stop, quick.repeats), (None, 1));
}

#[test]
fn the_page_names_every_factor_step_and_key() {
    let page = include_str!("../../STUDIES.md");
    FACTORS.iter().for_each(|name| assert!(page.contains(&format!("`{name}`")), "{name}"));
    for written in [COMMANDS, JOB, TREES] {
        let keys = written.lines().filter_map(|line| line.split([' ', '=']).next()).filter(|key| {
            ["name", "title", "prepare", "check", "baselines", "repeats", "warmup"].contains(key)
                || key.starts_with('[')
        });
        keys.for_each(|key| assert!(page.contains(key), "{key}"));
    }
    for step in STEPS {
        assert!(page.contains(&format!("step = \"{step}\"")), "{step}");
    }
    for key in [
        "`{relay_port}`",
        "`jitter`",
        "`rate`",
        "`levels`",
        "`stop`",
        "narrower_than = ",
        "of = \"ratio\"",
        "`at_least`",
        "`at_most`",
        "`[[chosen]]`",
        "`[full]`",
    ] {
        assert!(page.contains(key), "{key}");
    }
    for check in ["same_content", "same_tree", "nothing_written"] {
        assert!(page.contains(&format!("`{check}`")), "{check}");
    }
}

#[test]
fn chosen_cells_are_run_and_the_others_with_full() {
    let text = COMMANDS_OF_TWO.to_string()
        + "[[chosen]]\ndepth = [1]\n[[chosen]]\nsize = [\"2MiB\"]\ndepth = [4, 8]\n[full]\nrepeats = 1\n";
    let cells = |changes: Changes| {
        let cells = changed(&text, changes).cells();
        let repeats = cells[0].repeats;
        (cells.iter().map(ToString::to_string).collect::<Vec<_>>(), repeats)
    };
    let chosen = ["depth=1 size=1MiB", "depth=1 size=2MiB", "depth=4 size=2MiB", "depth=8 size=2MiB"];
    let in_order = |mut named: Vec<String>| {
        named.sort();
        named
    };
    let (named, repeats) = cells(Changes::default());
    assert_eq!((in_order(named), repeats), (chosen.map(String::from).to_vec(), 4));
    let (named, repeats) = cells(Changes { full: true, ..Changes::default() });
    assert_eq!((named.len(), repeats), (6, 1));
    let set = |name: &str, level: &str| vec![(name.to_string(), vec![level.to_string()])];
    // A named level is chosen: of its factor nothing is left out.
    let (named, _) = cells(Changes { set: set("depth", "3"), ..Changes::default() });
    assert_eq!(in_order(named), ["depth=3 size=1MiB", "depth=3 size=2MiB"]);
    let wrong = text.replace("depth = [4, 8]", "lanes = [1]");
    let error = parse(&wrong).expect_err("no such factor").to_string();
    assert!(error.contains("chosen: 'lanes' is no factor of this study"), "{error}");
}

/// Two factors and nothing else.
const COMMANDS_OF_TWO: &str = r#"
name = "two"
title = "t"
repeats = 4
[factors]
size = ["1MiB", "2MiB"]
depth = [1, 4, 8]
[job]
source = "null:{size}"
target = "null:"
depth = "{depth}"
"#;

#[test]
fn the_probe_soaker_runs_each_cell_without_and_with_it_unless_the_factors_say_otherwise() {
    let probe = "title = \"t\"\nprobes = [\"soaker\"]";
    let probed = JOB.replacen("title = \"t\"", probe, 1);
    let written = probed.replacen("[factors]", "[factors]\nsoaker = [\"half\"]", 1);
    for (text, levels) in [(JOB, &[][..]), (&probed, &["off", "on"]), (&written, &["half"])] {
        let study = parse(text).expect("in order");
        let expected: Vec<Level> = levels.iter().map(|&level| level.into()).collect();
        assert_eq!(study.levels(SOAKER), expected, "{text}");
    }
    let set = Changes { set: vec![("soaker".into(), vec!["on".into()])], ..Changes::default() };
    assert_eq!(changed(&probed, set).levels(SOAKER), ["on".into()]);
}
