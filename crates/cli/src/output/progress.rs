//! Shows how far a job is: a bar on a terminal; plain lines or events elsewhere, if they were requested.
//!
//! Must not know: what the job does.

use std::io::{IsTerminal, stderr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use datapump::units::{bytes_words, counted, rate_words, with_commas};
use datapump::{Choice, Phase, Snapshot, Watch};
use rustix::termios::tcgetwinsize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::args::OutputArguments;
use crate::output::Output;
use crate::output::json;
use crate::output::meter::{MeterReading, ProgressMeter};

/// A bar is redrawn five times a second: fast enough to look alive.
const BAR_PERIOD: Duration = Duration::from_millis(200);
/// Events, and lines that were asked for.
const ASKED_PERIOD: Duration = Duration::from_secs(1);
/// Lines on a terminal that keeps what was drawn.
const DUMB_PERIOD: Duration = Duration::from_secs(5);
/// The width of a terminal that does not say how wide it is.
const COLUMNS: usize = 80;
/// A shorter bar shows nothing that the percentage does not say.
const BAR_COLUMNS_MIN: usize = 10;
/// The end of a name, beside a bar: of a fixed length, so that the bar keeps its own.
const NAME_COLUMNS: usize = 24;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Not at all.
    Nothing,
    /// A bar on the terminal.
    Bar,
    /// Plain lines on standard error, this far apart.
    Lines(Duration),
    /// Events on standard output, this far apart.
    Events(Duration),
}

/// Where messages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageReader {
    Terminal,
    /// A terminal that keeps what was drawn: lines are for it.
    DumbTerminal,
    /// A file, a pipe, cron's mail.
    NoTerminal,
}

/// Chooses by the flags and the terminal.
pub fn shown(arguments: &OutputArguments) -> Shown {
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    let reader = match (stderr().is_terminal(), is_dumb) {
        (true, false) => MessageReader::Terminal,
        (true, true) => MessageReader::DumbTerminal,
        (false, _) => MessageReader::NoTerminal,
    };
    choose(arguments.progress, arguments.json, arguments.quiet, reader)
}

fn choose(progress: Choice, json: bool, quiet: bool, reader: MessageReader) -> Shown {
    match (progress, reader) {
        (Choice::Never, _) => Shown::Nothing,
        (Choice::Auto, _) if quiet => Shown::Nothing,
        _ if json => Shown::Events(ASKED_PERIOD),
        (_, MessageReader::Terminal) => Shown::Bar,
        (Choice::Always, _) => Shown::Lines(ASKED_PERIOD),
        (Choice::Auto, MessageReader::DumbTerminal) => Shown::Lines(DUMB_PERIOD),
        (Choice::Auto, MessageReader::NoTerminal) => Shown::Nothing,
    }
}

/// Shows progress until the other side of `ended` is dropped, and a line whenever somebody `asked` (SIGUSR1).
pub fn show(how: Shown, watch: &Watch, output: &Output, asked: &AtomicBool, ended: &Receiver<()>) {
    let period = match how {
        Shown::Bar | Shown::Nothing => Duration::ZERO,
        Shown::Lines(period) | Shown::Events(period) => period,
    };
    let (start, mut shown) = (Instant::now(), Duration::ZERO);
    let mut meter = ProgressMeter::default();
    meter.read(0, &watch.snapshot());
    while ended.recv_timeout(BAR_PERIOD) == Err(RecvTimeoutError::Timeout) {
        let elapsed = start.elapsed();
        let snapshot = watch.snapshot();
        let reading = meter.read(elapsed.as_nanos() as u64, &snapshot);
        let at_hand = name_at_hand(watch, &reading);
        if asked.swap(false, Ordering::Relaxed) {
            output.line_of_moment(&line(&reading, at_hand.as_deref()));
        }
        if elapsed.saturating_sub(shown) < period {
            continue;
        }
        shown = elapsed;
        // Nothing is drawn over the question of an ssh that connects.
        match how {
            Shown::Bar if !has_begun(&snapshot) => {}
            Shown::Bar => output.draw_bar(move || bar_line(&reading, at_hand.as_deref(), columns())),
            Shown::Events(_) => output.result_of_moment(&json::progress(&reading, at_hand.as_deref())),
            Shown::Lines(_) => output.line_of_moment(&line(&reading, at_hand.as_deref())),
            Shown::Nothing => {}
        }
    }
    output.remove_bar();
}

/// A line whenever it is called after somebody `asked` (SIGUSR1), where no progress is shown.
pub fn answer_requests(
    watch: Arc<Watch>,
    output: &Output,
    asked: Arc<AtomicBool>,
) -> Box<dyn FnMut() + Send> {
    let (start, print) = (Instant::now(), output.lines_of_moment());
    let mut meter = ProgressMeter::default();
    meter.read(0, &watch.snapshot());
    Box::new(move || {
        if asked.swap(false, Ordering::Relaxed) {
            let reading = meter.read(start.elapsed().as_nanos() as u64, &watch.snapshot());
            print(&line(&reading, name_at_hand(&watch, &reading).as_deref()));
        }
    })
}

/// The name that is at hand; none for a single file, whose name was typed.
fn name_at_hand(watch: &Watch, reading: &MeterReading) -> Option<PathBuf> {
    watch.at_hand().filter(|_| reading.found.1 > 0 && reading.phase.shown().is_none())
}

fn line(reading: &MeterReading, at_hand: Option<&Path>) -> String {
    format!("{}{}", message(reading), at_hand.map(name_words).unwrap_or_default())
}

/// Something is known of the copy: the other host has answered, and a file is open. What is counted ahead here is known
/// before that.
fn has_begun(snapshot: &Snapshot) -> bool {
    snapshot.bytes > 0 || snapshot.files_found > 0 || snapshot.names > 0 || snapshot.bytes_total.is_some()
}

/// Columns of the terminal at this moment.
fn columns() -> usize {
    let columns = tcgetwinsize(stderr()).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { COLUMNS } else { columns }
}

/// `####...... 42.0 %, 1.0 GiB, …`, one column less than there are: letters without a bar where there is no room for
/// one, or no percentage.
fn bar_line(reading: &MeterReading, at_hand: Option<&Path>, columns: usize) -> String {
    let mut words = fitting(reading, columns.saturating_sub(1));
    if let Some(name) = at_hand.filter(|_| columns >= words.width() + NAME_COLUMNS + 2 + BAR_COLUMNS_MIN) {
        let end = end_of(&shown_name(name), NAME_COLUMNS);
        words = format!("{words}, {end}{}", " ".repeat(NAME_COLUMNS.saturating_sub(end.width())));
    }
    let bar_columns = columns.saturating_sub(words.width() + 2);
    match reading.percent.filter(|_| bar_columns + 2 >= BAR_COLUMNS_MIN) {
        Some(percent) => {
            let filled = (bar_columns as f64 * percent.min(100.0) / 100.0) as usize;
            format!("{}{} {words}", "#".repeat(filled), ".".repeat(bar_columns - filled))
        }
        None => words,
    }
}

/// A line that does not wrap. How far, how fast and how much longer are worth more than how many of how many.
fn fitting(reading: &MeterReading, columns: usize) -> String {
    let narrower = [Some(bytes_words(reading.bytes)), None];
    let narrower = narrower.into_iter().map(|amount| words_beside(reading, amount, true));
    let mut all = std::iter::once(message(reading)).chain(narrower);
    let least = || cut(&words_beside(reading, None, true), columns);
    all.find(|words| words.width() <= columns).unwrap_or_else(least)
}

/// So much of a line as has room. Some letters take two columns, some none.
fn cut(words: &str, columns: usize) -> String {
    let mut left = columns;
    words.chars().take_while(|letter| takes(&mut left, *letter)).collect()
}

/// So much of the end of a name.
fn end_of(name: &str, columns: usize) -> String {
    if name.width() <= columns {
        return name.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let end = name.char_indices().rev().take_while(|(_, letter)| takes(&mut left, *letter)).last();
    format!("…{}", &name[end.map_or(name.len(), |(at, _)| at)..])
}

/// Takes the columns of a letter, if there are as many.
fn takes(left: &mut usize, letter: char) -> bool {
    let rest = left.checked_sub(letter.width().unwrap_or(0));
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// For a terminal.
fn shown_name(name: &Path) -> String {
    datapump::shown(name.as_os_str().as_bytes())
}

/// `, at 'a/b'`.
fn name_words(name: &Path) -> String {
    format!(", at '{}'", shown_name(name))
}

/// `42.0 %, 1.0 GiB, 340 MiB/s, 12 s to 15 s left`; behind the bytes the phase: `deleting 1,204 of 30,000`.
fn message(reading: &MeterReading) -> String {
    words_beside(reading, Some(amount_words(reading)), false)
}

/// The words beside the bar, with this amount or none.
fn words_beside(reading: &MeterReading, amount: Option<String>, is_narrow: bool) -> String {
    if let Some(phase) = reading.phase.shown() {
        let phase = match (reading.phase, reading.deleted) {
            (Phase::Deleting, (0, 0)) => "nothing removed yet".into(),
            (Phase::Deleting, (deleted, 0)) => format!("{phase} {}", with_commas(deleted)),
            (Phase::Deleting, (deleted, all)) => {
                format!("{phase} {} of {}", with_commas(deleted), with_commas(all))
            }
            _ => phase.into(),
        };
        return amount.into_iter().chain([phase]).collect::<Vec<_>>().join(", ");
    }
    let percent = reading.percent.map(|percent| format!("{percent:.1} %"));
    let left = reading.time_left_s.map(|(low, high)| left_words(low, high, is_narrow));
    // Where names are all that goes by, no byte moves.
    let rate = (!reading.only_compares).then(|| rate_words(reading.rate_bytes_per_second));
    let parts = [percent, amount, rate, left];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `12 s to 15 s left`; narrow `12 to 15 s left`.
fn left_words(low: f64, high: f64, is_narrow: bool) -> String {
    let (low, high) = (time_words(low.round()), time_words(high.round()));
    if low == high {
        return format!("{high} left");
    }
    let parted = low.split_once(' ').filter(|(_, unit)| is_narrow && high.ends_with(*unit));
    format!("{} to {high} left", parted.map_or(low.as_str(), |(number, _)| number))
}

/// `1.0 GiB`; of a tree `1.0 GiB of 2.0 GiB, 3 of 17 files`, and `at least 2.0 GiB` while it is walked. Where nothing
/// to copy was found, `1.0 GiB compared, 3 of 17 names`.
fn amount_words(reading: &MeterReading) -> String {
    let bytes = bytes_words(reading.bytes);
    if reading.only_compares {
        return format!("{bytes} compared, {}", names_words(reading));
    }
    let (found_bytes, found_files) = reading.found;
    if found_files == 0 {
        return bytes;
    }
    let least = if reading.bytes_total.is_some() { "" } else { "at least " };
    let (done, found) = (with_commas(reading.files), with_commas(found_files));
    format!("{bytes} of {least}{}, {done} of {least}{found} files", bytes_words(found_bytes))
}

/// `12,400 of 46,700 names`; `12,400 names` where that is all, or nobody knows.
fn names_words(reading: &MeterReading) -> String {
    match reading.names_total.filter(|total| *total > reading.names) {
        Some(total) => format!("{} of {} names", with_commas(reading.names), with_commas(total)),
        None => counted(reading.names, "name"),
    }
}

/// Seconds for people: `45 s`, `12 min`, `3.5 h`.
fn time_words(seconds: f64) -> String {
    match seconds {
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use datapump::TreeCounts;

    use super::*;

    #[test]
    fn progress_is_for_terminals_unless_it_is_requested() {
        use MessageReader::{DumbTerminal, NoTerminal, Terminal};
        for (progress, json, quiet, reader, expected) in [
            (Choice::Auto, false, false, Terminal, Shown::Bar),
            (Choice::Auto, false, false, DumbTerminal, Shown::Lines(DUMB_PERIOD)),
            (Choice::Auto, false, false, NoTerminal, Shown::Nothing),
            (Choice::Auto, false, true, Terminal, Shown::Nothing),
            (Choice::Auto, true, false, Terminal, Shown::Events(ASKED_PERIOD)),
            (Choice::Auto, true, false, NoTerminal, Shown::Events(ASKED_PERIOD)),
            (Choice::Auto, true, true, Terminal, Shown::Nothing),
            (Choice::Always, false, false, NoTerminal, Shown::Lines(ASKED_PERIOD)),
            (Choice::Always, false, false, DumbTerminal, Shown::Lines(ASKED_PERIOD)),
            (Choice::Always, false, true, Terminal, Shown::Bar),
            (Choice::Always, true, true, NoTerminal, Shown::Events(ASKED_PERIOD)),
            (Choice::Never, true, false, Terminal, Shown::Nothing),
        ] {
            let row = format!("{progress:?} {json} {quiet} {reader:?}");
            assert_eq!(choose(progress, json, quiet, reader), expected, "{row}");
        }
    }

    #[test]
    fn a_bar_takes_one_column_less_than_there_are() {
        let reading = MeterReading {
            bytes: 1 << 30,
            percent: Some(50.0),
            rate_bytes_per_second: 1.36e9,
            ..MeterReading::default()
        };
        let line = |columns| bar_line(&reading, None, columns);
        assert_eq!(line(41), "######...... 50.0 %, 1.0 GiB, 1.27 GiB/s");
        for columns in 0..200 {
            let name = Path::new("a/写真/long-name-of-a-file-that-is-copied.bin");
            for at_hand in [None, Some(name)] {
                let line = bar_line(&reading, at_hand, columns);
                assert!(line.width() < columns.max(1), "{columns}: {line}");
            }
        }
    }

    #[test]
    fn nothing_is_drawn_before_something_is_known() {
        let nothing = Snapshot::default();
        assert!(!has_begun(&nothing));
        let counted = TreeCounts { files: 7, bytes: 7000, names: Some(9) };
        assert!(!has_begun(&Snapshot { counted: Some(counted), ..nothing }), "ssh may still ask");
        assert!(has_begun(&Snapshot { names: 1, ..nothing }));
        assert!(has_begun(&Snapshot { bytes_total: Some(0), ..nothing }));
        assert!(has_begun(&Snapshot { files_found: 1, ..nothing }));
        assert!(has_begun(&Snapshot { bytes: 1, ..nothing }));
    }

    #[test]
    fn readings_are_put_into_words() {
        let reading = MeterReading {
            bytes: 1 << 30,
            bytes_total: Some(2 << 30),
            files: 0,
            found: (0, 0),
            percent: Some(50.0),
            rate_bytes_per_second: 1.36e9,
            time_left_s: Some((11.6, 15.2)),
            ..MeterReading::default()
        };
        assert_eq!(message(&reading), "50.0 %, 1.0 GiB, 1.27 GiB/s, 12 s to 15 s left");
        let unknown = MeterReading { bytes_total: None, percent: None, time_left_s: None, ..reading };
        assert_eq!(message(&unknown), "1.0 GiB, 1.27 GiB/s");
        let walked = MeterReading { found: (3 << 30, 1200), files: 7, ..unknown };
        assert_eq!(message(&walked), "1.0 GiB of at least 3.0 GiB, 7 of at least 1,200 files, 1.27 GiB/s");
        let deleting =
            MeterReading { phase: Phase::Deleting, deleted: (1204, 30_000), ..MeterReading::default() };
        assert_eq!(message(&deleting), "0 B, deleting 1,204 of 30,000");
        let compared =
            MeterReading { bytes: 3 << 29, names: 12_400, only_compares: true, ..MeterReading::default() };
        assert_eq!(message(&compared), "1.5 GiB compared, 12,400 names");
        let of_all = MeterReading { names_total: Some(46_700), percent: Some(26.5), ..compared.clone() };
        assert_eq!(message(&of_all), "26.5 %, 1.5 GiB compared, 12,400 of 46,700 names");
        let looks = MeterReading { phase: Phase::Deleting, ..of_all.clone() };
        assert_eq!(message(&looks), "1.5 GiB compared, 12,400 of 46,700 names, nothing removed yet");
        let removes = MeterReading { names: 46_700, deleted: (1204, 30_000), ..looks };
        assert_eq!(message(&removes), "1.5 GiB compared, 46,700 names, deleting 1,204 of 30,000");
        let syncing = MeterReading { phase: Phase::Syncing, bytes: 1 << 20, ..MeterReading::default() };
        assert_eq!(message(&syncing), "1.0 MiB, syncing");
        for (reading, columns, expected) in [
            (&reading, 46, "50.0 %, 1.0 GiB, 1.27 GiB/s, 12 s to 15 s left"),
            (&reading, 44, "50.0 %, 1.0 GiB, 1.27 GiB/s, 12 to 15 s left"),
            (&reading, 39, "50.0 %, 1.27 GiB/s, 12 to 15 s left"),
            (&reading, 20, "50.0 %, 1.27 GiB/s, "),
            (&walked, 39, "1.0 GiB, 1.27 GiB/s"),
            (&deleting, 29, "0 B, deleting 1,204 of 30,000"),
            (&deleting, 28, "deleting 1,204 of 30,000"),
        ] {
            assert_eq!(fitting(reading, columns), expected);
        }
        assert_eq!(left_words(100.0, 900.0, true), "100 s to 15 min left");
        assert_eq!((cut("写真.jpg", 5), cut("写真", 3)), ("写真.".into(), "写".into()));
        assert_eq!((end_of("a/写真", 5), end_of("写真.j", 6)), ("…写真".into(), "写真.j".into()));
        assert_eq!(cut("50.0 %, 1.0 GiB", 8), "50.0 %, ");
        assert_eq!((end_of("a/b.dat", 7), end_of("a/b.dat", 6)), ("a/b.dat".into(), "…b.dat".into()));
        assert_eq!(time_words(600.0), "10 min");
        assert_eq!(time_words(12_600.0), "3.5 h");
    }
}
