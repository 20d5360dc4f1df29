//! `--remove-source-files` and a power cut: what stands there already is on stable storage before its source goes.

use std::process::Command;

use crate::support::{Home, PUMP, expect, noise_file, outcome};

#[test]
fn a_copy_that_stood_there_is_synced_before_its_source_goes() {
    for flags in [&[][..], &["--sync=each"]] {
        let home = Home::new();
        std::fs::create_dir(home.path("from")).expect("room");
        noise_file(&home, "from/a", 1 << 20, 1);
        expect(&home.pump(&["copy", "--sync=none", "from/", "to"]), 0, &[], "first");
        let words =
            [&["copy", "--update=differs", "--remove-source-files"], flags, &["from/", "to"]].concat();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "trace", "-e", "trace=fsync,fdatasync,syncfs,unlinkat", PUMP]);
        strace.args(&words).current_dir(home.path(""));
        expect(&outcome(strace, b""), 0, &[], "second");
        let trace = std::fs::read_to_string(home.path("trace")).expect("strace writes what it saw");
        let calls: Vec<&str> = trace.lines().collect();
        let gone = calls.iter().position(|call| call.contains("unlinkat") && call.contains("\"a\""));
        let gone = gone.unwrap_or_else(|| panic!("{flags:?}: it goes: {calls:#?}"));
        assert!(calls[..gone].iter().any(|call| call.contains("sync")), "{flags:?}: {calls:#?}");
        assert!(home.path("to/a").exists() && !home.path("from/a").exists(), "{flags:?}");
    }
}
