//! A moment before a run, by the clock that file systems take their times from and by one that nobody sets.
//!
//! Must not know: what happens after the moment.

use std::time::{Duration, Instant, SystemTime};

/// A file system takes its times from a clock that may be a tick of 10 ms behind.
const TICK: Duration = Duration::from_millis(10);

/// A clock that is kept right by slewing differs by no more than this part: adjtimex(2) allows 500 ppm.
const SLEW_ONE_OF: u32 = 1000;

/// A moment by two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    clock: SystemTime,
    counter: Instant,
}

impl Moment {
    /// Later than all that was written until now.
    pub fn after_all_that_was_written() -> Moment {
        std::thread::sleep(2 * TICK);
        Moment::now()
    }

    /// Now.
    pub fn now() -> Moment {
        Moment { clock: SystemTime::now(), counter: Instant::now() }
    }

    /// The earliest time that a file system can have given since to what was written.
    ///
    /// Errors: the clock was set back since, so that there is none.
    pub fn earliest(&self) -> Result<SystemTime, String> {
        self.earliest_at(&Moment::now())
    }

    fn earliest_at(&self, now: &Moment) -> Result<SystemTime, String> {
        let elapsed = now.counter - self.counter;
        let expected = self.clock + elapsed - elapsed / SLEW_ONE_OF;
        match expected.duration_since(now.clock) {
            Ok(back) if back >= TICK => Err(format!(
                "the clock was set back by {:.1} s meanwhile, so that it cannot be told whether anything was written",
                back.as_secs_f64()
            )),
            _ => Ok(self.clock - TICK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_is_found_out() {
        let start = Moment::now();
        for (elapsed_ms, by_clock_ms, told) in [
            (1000, 1000, None),
            (1000, 995, None),
            (60_000, 59_970, None),
            (1000, 900_000, None),
            (1000, 500, Some("the clock was set back by 0.5 s meanwhile")),
            (1000, -3_600_000, Some("the clock was set back by 3601.0 s meanwhile")),
        ] {
            let size = Duration::from_millis(i64::unsigned_abs(by_clock_ms));
            let clock = if by_clock_ms < 0 { start.clock - size } else { start.clock + size };
            let now = Moment { clock, counter: start.counter + Duration::from_millis(elapsed_ms) };
            match (start.earliest_at(&now), told) {
                (Ok(earliest), None) => assert_eq!(earliest, start.clock - TICK),
                (Err(words), Some(told)) => assert!(words.starts_with(told), "{words}"),
                (got, _) => panic!("{elapsed_ms} ms, {by_clock_ms} ms by the clock: {got:?}"),
            }
        }
    }
}
