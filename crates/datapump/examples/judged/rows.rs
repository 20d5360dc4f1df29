//! Figures that are held against statements on the real clock: a line for people, and with `--out FILE` a line of JSON
//! for `bench/`.
//!
//! Must not know: how they were measured.

use std::process::ExitCode;

/// One figure, and the range that it must lie in.
#[derive(Clone, Debug)]
pub struct Judged {
    pub statement: &'static str,
    /// The case that was run.
    pub case: String,
    /// Name of the figure.
    pub figure: &'static str,
    pub measured: f64,
    pub least: f64,
    pub most: f64,
    /// The times of the rounds that it is from, in seconds.
    pub rounds_s: Vec<f64>,
}

impl Judged {
    pub fn holds(&self) -> bool {
        (self.least..=self.most).contains(&self.measured)
    }

    fn words(&self) -> String {
        let verdict = if self.holds() { "holds" } else { "DOES NOT HOLD" };
        let range = format!("{:.3} to {:.3}", self.least, self.most);
        let Judged { statement, case, figure, measured, .. } = self;
        format!("{statement:<4} {case:<56} {figure:<34} {measured:>7.3}  {range:<16} {verdict}")
    }

    /// Neither the case nor the figure has a character that JSON escapes.
    fn json(&self) -> String {
        let rounds: Vec<String> = self.rounds_s.iter().map(|it| format!("{it:.6}")).collect();
        format!(
            "{{\"statement\":\"{}\",\"case\":\"{}\",\"figure\":\"{}\",\"measured\":{:.5},\"least\":{:.5},\"most\":{:.5},\
             \"holds\":{},\"rounds_s\":[{}]}}",
            self.statement,
            self.case,
            self.figure,
            self.measured,
            self.least,
            self.most,
            self.holds(),
            rounds.join(",")
        )
    }
}

/// Prints all, and writes them to the file that the words `--out FILE` name. Status 1 if one does not hold.
pub fn report(all: &[Judged]) -> ExitCode {
    all.iter().for_each(|judged| println!("{}", judged.words()));
    let words: Vec<String> = std::env::args().collect();
    let out = words.iter().position(|word| word == "--out").and_then(|at| words.get(at + 1));
    if let Some(file) = out {
        let text: String = all.iter().map(|judged| judged.json() + "\n").collect();
        if let Err(error) = std::fs::write(file, text) {
            eprintln!("{file}: {error}");
            return ExitCode::FAILURE;
        }
    }
    if all.iter().all(Judged::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
