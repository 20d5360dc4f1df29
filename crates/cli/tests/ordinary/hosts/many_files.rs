//! Many files that are named, between hosts of which one may open few: each is opened when its turn comes.

use crate::support::serving::Serving;
use crate::support::{Home, after, expect, make_folder, outcome};

const FILES: usize = 1000;
/// Open files of the side that is held back.
const FEW: &str = "ulimit -n 256";

fn names(folder: &str) -> Vec<String> {
    (0..FILES).map(|number| format!("{folder}n{number:04}")).collect()
}

fn has_all(home: &Home, folder: &str, row: &str) {
    for (number, name) in names(folder).iter().enumerate() {
        let content = std::fs::read_to_string(home.path(name)).unwrap_or_default();
        assert_eq!(content, number.to_string(), "{row}: {name}");
    }
}

/// A folder of files, and one that is empty; files of a few bytes are sent before they are requested.
fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "served");
    make_folder(&home, "served/many");
    names("served/many/").iter().enumerate().for_each(|(number, name)| {
        std::fs::write(home.path(name), number.to_string()).expect("room");
    });
    home
}

#[test]
fn many_files_are_pulled_from_a_host_that_may_open_few() {
    let home = home();
    let serving = Serving::start(after(&home, FEW, &["serve", "served", "--ticket-file", "ticket"]));
    for read_ahead in ["--read-ahead=always", "--read-ahead=never"] {
        let _ = std::fs::remove_dir_all(home.path("out"));
        make_folder(&home, "out");
        let sources: Vec<String> = names("many/").iter().map(|name| serving.at(name)).collect();
        let words = ["copy", "--ticket-file=ticket", "--sync=none", read_ahead];
        let words: Vec<&str> =
            words.into_iter().chain(sources.iter().map(String::as_str)).chain(["out/"]).collect();
        expect(&home.pump(&words), 0, &[], read_ahead);
        has_all(&home, "out/", read_ahead);
    }
}

#[test]
fn many_folders_are_pulled_from_a_host_that_may_open_few() {
    let home = Home::new();
    for number in 0..FILES {
        std::fs::create_dir_all(home.path(format!("served/n{number:04}"))).expect("room");
        std::fs::write(home.path(format!("served/n{number:04}/file")), "content").expect("room");
    }
    make_folder(&home, "out");
    let serving = Serving::start(after(&home, FEW, &["serve", "served", "--ticket-file", "ticket"]));
    let sources: Vec<String> = names("").iter().map(|name| serving.at(name)).collect();
    let words = ["copy", "--ticket-file=ticket", "--sync=none", "--read-ahead=always"];
    let words: Vec<&str> =
        words.into_iter().chain(sources.iter().map(String::as_str)).chain(["out/"]).collect();
    expect(&home.pump(&words), 0, &[], "folders");
    for name in names("out/") {
        assert!(home.path(&name).join("file").exists(), "{name}");
    }
}

#[test]
fn many_files_are_pushed_where_either_side_may_open_few() {
    for (row, is_client) in [("the client may open few", true), ("the server may open few", false)] {
        let home = home();
        make_folder(&home, "served/out");
        let serve = ["serve", "served", "--ticket-file", "ticket"];
        let serving =
            if is_client { Serving::new(&home, &[]) } else { Serving::start(after(&home, FEW, &serve)) };
        let (target, sources) = (serving.at("out/"), names("served/many/"));
        let words = ["copy", "--ticket-file=ticket", "--sync=none", "--read-ahead=always"];
        let words: Vec<&str> =
            words.into_iter().chain(sources.iter().map(String::as_str)).chain([&*target]).collect();
        let run = if is_client { outcome(after(&home, FEW, &words), &[]) } else { home.pump(&words) };
        expect(&run, 0, &[], row);
        has_all(&home, "served/out/", row);
    }
}
