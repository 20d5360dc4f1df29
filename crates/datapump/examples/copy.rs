//! Copies a file and says what limited it: `cargo run --release -p datapump --example copy -- FROM TO`.

use datapump::{Event, Job, Place};

fn main() {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [from, to] = &words[..] else {
        eprintln!("usage: copy FROM TO");
        std::process::exit(2);
    };
    let (Ok(from), Ok(to)) = (Place::parse(from), Place::parse(to)) else {
        eprintln!("these are no places");
        std::process::exit(2);
    };
    let report = Job::copy(vec![from], to).run(&|event| {
        if let Event::Problem(problem) = event {
            eprintln!("{problem}");
        }
    });
    println!("{}", report.line());
    println!("{}", report.sentence());
    std::process::exit(report.exit_status);
}
