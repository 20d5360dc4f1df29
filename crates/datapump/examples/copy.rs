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
    match Job::copy(vec![from], to).run(&print_problem) {
        Ok(report) => println!("{}\n{}", report.line(), report.sentence()),
        Err(failed) => std::process::exit(failed.report.exit_status),
    }
}

fn print_problem(event: Event) {
    if let Event::Problem(problem) = event {
        eprintln!("{problem}");
    }
}
