//! What a run prints: lines, events, reports, progress.

mod bill;
mod charges;
mod cut_runs;
mod done_lines;
mod dry_runs;
mod habits;
mod itemized;
mod nothing_to_do;
mod progress;
mod report_file;
mod trees;
mod unread_output;
