//! `pump lab simulate` as scripts meet it: figures, events and statuses.

use crate::support::schema;
use crate::support::{Home, Outcome, expect};

const HEADER: &str = "pool_buffers,source_latency_us,source_transfer_us,sink_latency_us,sink_transfer_us,requests,\
                      decision_period_requests,step_buffers";

fn depths(home: &Home, words: &[&str]) -> Outcome {
    home.pump(&[&["lab", "simulate", "depths"], words].concat())
}

#[test]
fn depths_of_the_reference_are_told_to_people_and_to_programs() {
    let home = Home::new();
    let run = depths(&home, &[]);
    expect(&run, 0, &[], "for people");
    for words in ["4 7 1 7 1 7 1 7 1 7 1 7", "and 489 changes more", "3 dynamic rules swing", "gains most"] {
        assert!(run.out.contains(words), "{words}: {}", run.out);
    }
    let run = depths(&home, &["--json"]);
    expect(&run, 0, &[], "for programs");
    let events = schema::checked(&run.out);
    assert_eq!(events.len(), 13);
    let grabs = &events[3];
    assert_eq!((&grabs["event"], &grabs["elapsed_s"]), (&"depths".into(), &38.973.into()));
    assert_eq!((&grabs["full_swings"], &grabs["oscillates"]), (&500.into(), &true.into()));
}

#[test]
fn a_table_of_ones_own_is_simulated_or_refused() {
    let home = Home::new();
    for (table, status, words) in [
        (format!("{HEADER}\n8,100,10,100,10,500,16,8\n"), 0, "\"decisions\":31"),
        (
            format!("{HEADER}\n1,100,10,100,10,500,16,8\n"),
            2,
            "t.csv, line 2: `pool_buffers` must be a whole number",
        ),
        ("pool\n8\n".into(), 2, "t.csv, line 1: no column `pool_buffers`"),
    ] {
        std::fs::write(home.path("t.csv"), table).expect("room");
        let run = depths(&home, &["--json", "--table", "t.csv"]);
        expect(&run, status, &[], words);
        assert!(run.out.contains(words), "{words}: {}", run.out);
        schema::checked(&run.out);
    }
    expect(&depths(&home, &["--table", "none.csv"]), 1, &["none.csv"], "no such table");
}
