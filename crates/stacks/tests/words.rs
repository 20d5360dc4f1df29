//! What `pump-stacks` says where it loads nothing. What it loads is tested by the wider tests (`wider/paths/stacks.rs`).

use std::process::Command;

/// Status and all that it said.
fn run(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pump-stacks")).args(words).output().expect("it was built");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

#[test]
fn a_build_that_loads_nothing_says_what_it_lacks() {
    if cfg!(feature = "bpf-cc") {
        return eprintln!("not tested: this build has the feature bpf-cc");
    }
    for words in [&[][..], &["highspeed"], &["--with-parent", "scalable", "highspeed"]] {
        let (status, text) = run(words);
        assert_eq!(status, Some(1), "{text}");
        let parts = ["pump-stacks: this build can load nothing", "lacks the feature bpf-cc", "needs clang"];
        for part in [&parts[..], &["cargo build --release -p pump-stacks --features bpf-cc\n"]].concat() {
            assert!(text.contains(part), "no {part:?} in: {text}");
        }
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert!(run(&["--version"]).1.contains("(without BPF: loads nothing)"));
}

#[test]
fn help_says_what_stays_and_what_goes() {
    let (status, text) = run(&["--help"]);
    assert_eq!(status, Some(0));
    for part in ["Connections that use one keep it until they are closed", "--with-parent", "Default: off."] {
        assert!(text.replace('\n', " ").contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn an_unknown_algorithm_is_refused() {
    let (status, text) = run(&["westwood"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("invalid value 'westwood'") && text.contains("highspeed, scalable"), "{text}");
}
