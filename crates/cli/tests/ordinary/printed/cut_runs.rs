//! What a run that was cut says: that the same command resumes only where something is kept for it.

use crate::support::running::Running;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, make_folder, noise_file};
use rustix::process::Signal;

#[test]
fn an_interrupt_tells_what_the_same_command_does() {
    let resumes = "pump: interrupted; run the same command again to resume\n";
    let over = "pump: interrupted; nothing is kept: the same command starts over\n";
    let rows = [
        ("copy a b", over),
        ("copy --no-resume a b", over),
        ("copy a null:", over),
        ("copy null:1GiB b", over),
        (
            "copy --inplace a old",
            "pump: interrupted; 'old' is half old, half new: run the same command again\n",
        ),
        ("copy --inplace a new", over),
        ("copy tree copy", resumes),
        ("mirror tree copy", resumes),
        ("verify a same", "pump: interrupted\n"),
        ("hash a", "pump: interrupted\n"),
    ];
    for (words, expected) in rows {
        let home = Home::new();
        make_folder(&home, "tree");
        for name in ["a", "same", "tree/a"] {
            noise_file(&home, name, 3 << 20, 1);
        }
        noise_file(&home, "old", 3 << 20, 2);
        let (command, places) = words.split_once(' ').expect("a command and places");
        let flags = [command, "--progress=always", "--request-size=16KiB", "--bwlimit=1kB"];
        let words: Vec<&str> = flags.into_iter().chain(places.split(' ')).collect();
        let mut running = Running::start(home.command(&words));
        running.await_progress();
        running.signal(Signal::INT);
        expect(&running.end(), 20, &[expected], places);
        if expected == resumes {
            for [one, other] in [["tree", "copy"], ["copy", "tree"]] {
                let differs =
                    "compare 'copy/.pump-job': is the list of an unfinished copy; run its command again";
                expect(&home.pump(&["verify", one, other]), 1, &[differs], places);
            }
        }
    }
}

#[test]
fn a_lost_connection_tells_what_the_same_command_does() {
    let other = "pump: connection lost; run the same command again: it resumes what the other host kept\n";
    let here = "pump: connection lost; run the same command again to resume\n";
    for (way, expected) in [(Way::Pushed, other), (Way::Pulled, here)] {
        let home = Home::new();
        let (row, mut hosts) = (format!("{way:?}"), TwoHosts::new(&home, way));
        make_folder(&home, &hosts.source("tree"));
        noise_file(&home, &hosts.source("tree/a"), 3 << 20, 1);
        let flags =
            ["copy", "--progress=always", "--request-size=16KiB", "--bwlimit=100kB", "--retry-for=0s"];
        let mut running = Running::start(hosts.line(&flags, &["tree"], "to"));
        running.await_bytes();
        hosts.end_server();
        expect(&running.end(), 10, &[expected], &row);
        let run = hosts.pump(&flags, &["tree"], "to");
        expect(&run, 10, &["connection refused"], &row);
        assert!(!run.err.contains("connection lost;"), "no connection: {run:?}");
    }
}
