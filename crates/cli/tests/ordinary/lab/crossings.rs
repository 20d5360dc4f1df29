//! `pump lab memory` and `pump lab fit --model crossings` by the real binary: what they refuse.

use crate::support::{Home, expect};

#[test]
fn what_a_cache_holds_and_rows_without_crossings_are_refused() {
    let home = Home::new();
    match std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache") {
        Ok(_) => expect(&home.pump(&["lab", "memory", "--size=1KiB"]), 2, &["cache", "--size="], "small"),
        Err(error) => eprintln!("not tested: the system tells of no cache: {error}"),
    }
    std::fs::write(home.path("none.jsonl"), "").expect("room");
    let run = home.pump(&["lab", "fit", "none.jsonl", "--model=crossings"]);
    expect(&run, 2, &["none.jsonl", "run the study crossings"], "no rows");
    let run = home.pump(&["lab", "fit", "no.jsonl", "--model=crossings"]);
    expect(&run, 1, &["no.jsonl", "No such file"], "no file");
}
