//! The limit of its rate that a program was given, by its command line and its environment.
//!
//! Must not know: how fast the program is.

use datapump::units::parse_rate;

/// Flags that limit a rate, with their value behind them or behind `=`: of pump, rsync and rclone, curl and wget, pv.
const RATE_FLAGS: [&str; 3] = ["--bwlimit", "--limit-rate", "--rate-limit"];
/// Letters that do, by program.
const RATE_LETTERS: [(&str, &str); 2] = [("scp", "-l"), ("pv", "-L")];
/// Variables that do, by program.
const RATE_VARIABLES: [(&str, &str); 2] = [("pump", "PUMP_BWLIMIT"), ("rclone", "RCLONE_BWLIMIT")];
/// Bytes per second of a number without unit, by program: KiB of rsync and rclone, kbit of scp. Of others it is bytes.
const RATE_UNITS: [(&str, f64); 3] = [("rsync", 1024.0), ("rclone", 1024.0), ("scp", 125.0)];
/// Powers of 1024, also without `iB` behind them.
const POWERS: &str = "BKMGT";

/// A limit of a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimit {
    /// As it was given: `--bwlimit 10MiB`.
    pub words: String,
    /// Its figure; none where it is written in another way than those that are known here.
    pub bytes_per_second: Option<f64>,
}

/// The limit that a program was given: by its arguments (cmdline), else by its environment (environ). 0 is none.
pub fn rate_limit(program: &str, arguments: &[u8], environment: &[u8]) -> Option<RateLimit> {
    let words = |bytes: &[u8]| -> Vec<String> {
        bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    };
    let of_program = |known: &(&'static str, &'static str)| (known.0 == program).then_some(known.1);
    let flags: Vec<&str> = RATE_FLAGS.into_iter().chain(RATE_LETTERS.iter().filter_map(of_program)).collect();
    let words_given = words(arguments);
    let typed: Vec<&String> = words_given.iter().take_while(|word| *word != "--").collect();
    let mut given = typed.iter().enumerate().filter_map(|(number, word)| match typed.get(number + 1) {
        Some(value) if flags.contains(&word.as_str()) => Some(format!("{word} {value}")),
        _ => flags.iter().any(|flag| word.starts_with(&format!("{flag}="))).then(|| (*word).clone()),
    });
    let variables: Vec<&str> = RATE_VARIABLES.iter().filter_map(of_program).collect();
    let is_limit = |word: &String| word.split_once('=').is_some_and(|(name, _)| variables.contains(&name));
    let limit = given.next_back().or_else(|| words(environment).into_iter().find(is_limit))?;
    let value = limit.split(['=', ' ']).next_back().unwrap_or_default();
    let bytes_per_second = bytes_per_second(program, value);
    (bytes_per_second != Some(0.0)).then_some(RateLimit { words: limit, bytes_per_second })
}

/// A limit as its program reads it. `None` for other forms, such as a timetable of rclone.
fn bytes_per_second(program: &str, value: &str) -> Option<f64> {
    let digits = value.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let (number, unit) = (number.parse::<f64>().ok()?, unit.to_uppercase());
    if unit.is_empty() {
        let known = RATE_UNITS.iter().find(|known| known.0 == program);
        return Some(number * known.map_or(1.0, |known| known.1));
    }
    if let Ok(rate) = parse_rate(value) {
        return Some(rate as f64);
    }
    let letter = unit.chars().next()?;
    let power = POWERS.find(letter).filter(|_| [1, 3].contains(&unit.len()))?;
    Some(number * 1024_f64.powi(power as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_a_rate_is_found_where_it_was_given() {
        let mib = 1_048_576.0;
        for (program, arguments, environment, expected) in [
            ("pump", "pump copy --bwlimit 10MiB a b", "", Some(("--bwlimit 10MiB", 10.0 * mib))),
            ("pump", "pump copy a b --bwlimit=5MB", "PUMP_BWLIMIT=1MB", Some(("--bwlimit=5MB", 5e6))),
            ("pump", "pump copy a b --bwlimit 80Mbit", "", Some(("--bwlimit 80Mbit", 1e7))),
            ("pump", "pump copy a b", "HOME=/ PUMP_BWLIMIT=1MB", Some(("PUMP_BWLIMIT=1MB", 1e6))),
            ("rsync", "rsync --bwlimit=1 --bwlimit=2 a b", "PUMP_BWLIMIT=1MB", Some(("--bwlimit=2", 2048.0))),
            ("rsync", "rsync --bwlimit=1.5m a b", "", Some(("--bwlimit=1.5m", 1.5 * mib))),
            ("scp", "scp -l 800 a b", "", Some(("-l 800", 1e5))),
            ("ls", "ls -l 800", "PUMP_BWLIMIT=1MB", None),
            ("curl", "curl --limit-rate 1M u", "", Some(("--limit-rate 1M", mib))),
            ("pump", "pump copy -- --bwlimit 1", "", None),
            ("pump", "pump copy --bwlimit", "", None),
            ("pump", "pump copy --bwlimit 0 a b", "", None),
            ("pump", "", "", None),
        ] {
            let [arguments, environment] = [arguments, environment].map(|it| it.replace(' ', "\0"));
            let found = rate_limit(program, arguments.as_bytes(), environment.as_bytes());
            let expected = expected.map(|(words, speed): (&str, f64)| (words.to_string(), Some(speed)));
            let found = found.map(|it| (it.words, it.bytes_per_second));
            assert_eq!(found, expected, "{program} {arguments:?} {environment:?}");
        }
        let timetable = rate_limit("rclone", b"rclone\0--bwlimit\x0008:00,512k", b"").expect("a limit");
        assert_eq!(timetable.bytes_per_second, None, "{timetable:?}");
    }
}
