//! What counts of the soaker's threads say: CPU = CPUs × elapsed − soaked − background (SCIENCE E7), and whether that
//! can be believed.
//!
//! **Soaked** is the count of iterations over the calibrated iterations for each second that the thread ran, and not the
//! thread's CPU clock, which does nearly the same: the kernel lets the clock run on during interrupts (LIMITS §7: 0.06
//! to 0.18 s of them in 4 GiB of direct reads), and an interrupt is work for the run, not time left over. Nor is it
//! calibrated for each second of *wall* time: other work on the machine would then lower the rate, and the CPU time of
//! the run came out negative.
//!
//! The price: whatever else slows an iteration down counts as CPU time too. A lower clock frequency and a hypervisor
//! that takes the processor away cannot be told from work by counting; they are looked for, and the result is then
//! marked as noisy.
//!
//! Must not know: threads, clocks, files of the kernel.

use serde::{Deserialize, Serialize};

/// SCIENCE S19: two calibrations that differ by more than this share of one CPU are noisy.
const CALIBRATIONS_DIFFER_MAX: f64 = 0.02;
/// The same for what a hypervisor took and for an unexplained change of speed.
const STOLEN_MAX: f64 = 0.02;
/// Interrupts are told in ticks of 10 ms, sampled: as much may be missing in a run of a second.
const SLOWED_MAX: f64 = 0.05;
/// A thread that ran less than this while it was calibrated has no rate of its own.
const CLOCK_NS_MIN: u64 = 2_000_000;

/// What one thread of the soaker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Rounds of its loop.
    pub iterations: u64,
    /// How long it ran by the kernel's clock of its CPU time.
    pub clock_ns: u64,
}

/// What all threads did between two moments, and what else the kernel tells of their CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Wall time.
    pub elapsed_ns: u64,
    /// By thread.
    pub threads: Vec<Count>,
    /// Time in interrupts.
    pub interrupts_ns: u64,
    /// Time that a hypervisor gave to others.
    pub stolen_ns: u64,
}

/// Where a run takes place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// CPUs that this program may use.
    pub allowed: usize,
    /// CPUs that the machine runs.
    pub online: usize,
    /// How many CPUs' worth of time the control groups of this program may use.
    pub quota_cpus: Option<f64>,
    /// What was refused to the soaker's threads.
    pub fallback: Vec<String>,
}

/// One calibration: a short time without the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How long it lasted.
    pub elapsed_ns: u64,
    /// CPU time that was left to the soaker.
    pub soaked_ns: u64,
    /// CPU time that all others used, for each second.
    pub background_ns_per_s: i64,
}

/// The CPU time of one run by the soaker, with its calibration. The page ROWS.md says what the fields mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Soaked {
    /// CPUs with a thread of the soaker.
    pub cpus: u32,
    /// CPUs that this program may use.
    pub of_cpus: u32,
    /// Wall time.
    pub elapsed_ns: u64,
    /// CPU time of the soaker's threads by the kernel's clock.
    pub clock_ns: u64,
    /// CPU time of the run; null if not all CPUs were soaked.
    pub cpu_ns: Option<i64>,
    /// What of it neither the user's code nor the kernel on its behalf used.
    pub remainder_ns: Option<i64>,
    /// CPU time that others used while it was calibrated, for each second.
    pub background_ns_per_s: i64,
    /// Mean of the threads.
    pub iterations_per_cpu_s: f64,
    /// Both calibrations.
    pub calibrations: Vec<Calibration>,
    /// Time in interrupts during the run, on the soaked CPUs.
    pub interrupts_ns: u64,
    /// Time that a hypervisor took meanwhile.
    pub stolen_ns: u64,
    /// What was refused, and what was done instead.
    pub fallback: Vec<String>,
    /// Whether the figures are to be doubted.
    pub noisy: bool,
    /// Why.
    pub why: Vec<String>,
}

/// Iterations of each thread for each nanosecond that it ran.
#[derive(Clone, Debug, PartialEq)]
struct Rates(Vec<f64>);

/// What calibrations without load have found.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    rates: Rates,
    calibrations: Vec<Calibration>,
    background: f64,
    starved: usize,
}

impl Calibrated {
    /// Both calibrations together give the rates. `None` if no thread could run at all.
    pub fn of(windows: &[Window]) -> Option<Calibrated> {
        let sums =
            windows.iter().map(|window| window.threads.clone()).reduce(|one, other| plus(&one, &other))?;
        let starved = sums.iter().filter(|sum| sum.clock_ns < CLOCK_NS_MIN).count();
        let rates = Rates::of(&sums)?;
        let calibrations: Vec<Calibration> = windows.iter().map(|window| rates.calibration(window)).collect();
        let used: f64 = windows.iter().map(|window| rates.used_ns(window)).sum();
        let elapsed: u64 = windows.iter().map(|window| window.elapsed_ns).sum();
        Some(Calibrated { rates, calibrations, background: used / elapsed.max(1) as f64, starved })
    }

    /// The CPU time that was left over in a run, and what follows from it.
    pub fn soaked(&self, run: &Window, conditions: &Conditions) -> (u64, Soaked) {
        let soaked_ns = self.rates.soaked_ns(run);
        let cpu_ns = self.rates.used_ns(run) - self.background * run.elapsed_ns as f64;
        let all = run.threads.len() == conditions.allowed;
        let why = self.doubts(run, conditions);
        let soaked = Soaked {
            cpus: run.threads.len() as u32,
            of_cpus: conditions.allowed as u32,
            elapsed_ns: run.elapsed_ns,
            clock_ns: run.clock_ns(),
            cpu_ns: all.then_some(cpu_ns.round() as i64),
            remainder_ns: None,
            background_ns_per_s: per_s(self.background),
            iterations_per_cpu_s: self.rates.mean() * 1e9,
            calibrations: self.calibrations.clone(),
            interrupts_ns: run.interrupts_ns,
            stolen_ns: run.stolen_ns,
            fallback: conditions.fallback.clone(),
            noisy: !why.is_empty(),
            why,
        };
        (soaked_ns.round() as u64, soaked)
    }

    /// Why the figures of a run are to be doubted.
    fn doubts(&self, run: &Window, conditions: &Conditions) -> Vec<String> {
        let doubts = [self.unsteady(), self.starved(), stolen(run), self.changed_speed(run)];
        doubts.into_iter().flatten().chain(conditions.doubts()).collect()
    }

    fn unsteady(&self) -> Option<String> {
        let backgrounds = self.calibrations.iter().map(|it| it.background_ns_per_s as f64 / 1e9);
        let low = backgrounds.clone().fold(f64::INFINITY, f64::min);
        let high = backgrounds.fold(f64::NEG_INFINITY, f64::max);
        (high - low > CALIBRATIONS_DIFFER_MAX).then(|| {
            let (low, high) = (percent(low), percent(high));
            format!("before the run, others used {low} of one CPU, then {high}: the machine is not quiet")
        })
    }

    fn starved(&self) -> Option<String> {
        let (starved, all) = (self.starved, self.rates.0.len());
        (starved > 0)
            .then(|| format!("others left nothing of {starved} of {all} CPUs while it was calibrated"))
    }

    /// Iterations that the clock of the threads cannot account for.
    fn changed_speed(&self, run: &Window) -> Option<String> {
        let clock = run.clock_ns() as f64;
        let missing = clock - self.rates.soaked_ns(run);
        let explained = (run.interrupts_ns + run.stolen_ns) as f64;
        let elapsed = run.elapsed_ns as f64;
        if -missing > STOLEN_MAX * elapsed {
            let faster = percent(-missing / clock.max(1.0));
            return Some(format!("the processors were {faster} faster than when they were calibrated"));
        }
        (missing - explained > SLOWED_MAX * elapsed).then(|| {
            let slower = percent((missing - explained) / clock.max(1.0));
            format!(
                "the processors were {slower} slower than when they were calibrated, and interrupts do not explain it"
            )
        })
    }
}

/// What a hypervisor took is no work of the run, and counts as if it were.
fn stolen(run: &Window) -> Option<String> {
    let share = run.stolen_ns as f64 / run.elapsed_ns.max(1) as f64;
    (share > STOLEN_MAX)
        .then(|| format!("a hypervisor took {} of one CPU away, which counts as used", percent(share)))
}

impl Conditions {
    fn doubts(&self) -> impl Iterator<Item = String> {
        let Conditions { allowed, online, .. } = *self;
        let quota = self.quota_cpus.filter(|&quota| quota < allowed as f64).map(|quota| {
            format!("a control group allows {quota:.2} of {allowed} CPUs: what it withholds counts as used")
        });
        let hidden = (allowed < online).then(|| {
            format!("this program may use {allowed} of {online} CPUs: what runs on the others is not seen")
        });
        [quota, hidden].into_iter().flatten()
    }
}

impl Rates {
    /// A thread that could not run is taken to be like the others.
    fn of(sums: &[Count]) -> Option<Rates> {
        let rate = |sum: &Count| sum.iterations as f64 / sum.clock_ns as f64;
        let own = |sum: &Count| (sum.clock_ns >= CLOCK_NS_MIN).then(|| rate(sum));
        let known: Vec<f64> = sums.iter().filter_map(own).collect();
        let mean = crate::stats::mean(&known)?;
        (mean > 0.0).then(|| Rates(sums.iter().map(|sum| own(sum).unwrap_or(mean)).collect()))
    }

    fn mean(&self) -> f64 {
        crate::stats::mean(&self.0).unwrap_or(0.0)
    }

    fn soaked_ns(&self, window: &Window) -> f64 {
        window.threads.iter().zip(&self.0).map(|(count, rate)| count.iterations as f64 / rate).sum()
    }

    /// What others than the soaker had of its CPUs.
    fn used_ns(&self, window: &Window) -> f64 {
        window.threads.len() as f64 * window.elapsed_ns as f64 - self.soaked_ns(window)
    }

    fn calibration(&self, window: &Window) -> Calibration {
        Calibration {
            elapsed_ns: window.elapsed_ns,
            soaked_ns: self.soaked_ns(window).round() as u64,
            background_ns_per_s: per_s(self.used_ns(window) / window.elapsed_ns.max(1) as f64),
        }
    }
}

impl Window {
    fn clock_ns(&self) -> u64 {
        self.threads.iter().map(|count| count.clock_ns).sum()
    }
}

impl Soaked {
    /// User, system and remainder add up to the total exactly (SCIENCE S21).
    pub fn with_remainder(self, user_ns: Option<u64>, system_ns: Option<u64>) -> Soaked {
        let own = user_ns.zip(system_ns).map(|(user, system)| (user + system) as i64);
        Soaked { remainder_ns: self.cpu_ns.zip(own).map(|(cpu, own)| cpu - own), ..self }
    }
}

/// The user time and system time of a process without that of the soaker's threads, which are always in user mode.
/// The kernel tells the process's time up to a tick late for each thread that runs: where the user time is shorter than
/// the soaker's, the rest is taken from the system time, so that the sum stays right.
pub fn without_soaker(user_ns: u64, system_ns: u64, clock_ns: u64) -> (u64, u64) {
    let rest = clock_ns.saturating_sub(user_ns);
    (user_ns.saturating_sub(clock_ns), system_ns.saturating_sub(rest))
}

fn plus(one: &[Count], other: &[Count]) -> Vec<Count> {
    let sum = |(one, other): (&Count, &Count)| Count {
        iterations: one.iterations + other.iterations,
        clock_ns: one.clock_ns + other.clock_ns,
    };
    one.iter().zip(other).map(sum).collect()
}

fn per_s(share: f64) -> i64 {
    (share * 1e9).round() as i64
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    /// Iterations for each nanosecond.
    const RATE: u64 = 3;

    /// A second on two CPUs, of which others use these shares.
    fn second(used: [f64; 2]) -> Window {
        let count = |used: f64| {
            let clock_ns = ((1.0 - used) * S as f64) as u64;
            Count { iterations: clock_ns * RATE, clock_ns }
        };
        Window { elapsed_ns: S, threads: used.map(count).to_vec(), ..Window::default() }
    }

    fn calibrated(first: f64, second_one: f64) -> Calibrated {
        Calibrated::of(&[second([first, 0.0]), second([0.0, second_one])]).expect("threads ran")
    }

    fn quiet() -> Conditions {
        Conditions { allowed: 2, online: 2, ..Conditions::default() }
    }

    #[test]
    fn the_load_of_a_run_is_what_is_neither_soaked_nor_background() {
        for (background, used, cpu_s) in [
            (0.0, [0.0, 0.0], 0.0),
            (0.0, [0.25, 0.0], 0.25),
            (0.0, [1.0, 0.5], 1.5),
            (0.1, [0.1, 0.0], 0.0),
            (0.1, [0.5, 0.6], 1.0),
            (0.25, [0.0, 0.0], -0.25), // never clamped: it says how noisy the machine is
        ] {
            let (soaked_ns, soaked) = calibrated(background, background).soaked(&second(used), &quiet());
            let cpu_ns = soaked.cpu_ns.expect("all CPUs were soaked");
            assert!((cpu_ns as f64 / 1e9 - cpu_s).abs() < 1e-6, "{background} {used:?}: {cpu_ns}");
            assert_eq!(soaked_ns, 2 * S - (used[0] * 1e9) as u64 - (used[1] * 1e9) as u64, "{used:?}");
            assert_eq!(soaked.background_ns_per_s, (background * 1e9) as i64);
            assert_eq!(soaked.iterations_per_cpu_s, RATE as f64 * 1e9);
            assert!(!soaked.noisy, "{:?}", soaked.why);
        }
    }

    #[test]
    fn the_background_is_scaled_to_the_time_of_the_run() {
        let mut run = second([0.5, 0.2]);
        run.elapsed_ns *= 3;
        run.threads.iter_mut().for_each(|count| {
            count.iterations *= 3;
            count.clock_ns *= 3;
        });
        let (_, soaked) = calibrated(0.2, 0.2).soaked(&run, &quiet());
        assert_eq!(soaked.cpu_ns, Some(3 * S as i64 / 2));
    }

    #[test]
    fn interrupts_that_the_clock_of_a_thread_does_not_see_are_found_by_counting() {
        let mut run = second([0.0, 0.0]);
        run.threads[0].iterations -= RATE * S / 10; // a tenth of a second in interrupts
        run.interrupts_ns = S / 10;
        let (_, soaked) = calibrated(0.0, 0.0).soaked(&run, &quiet());
        assert_eq!((soaked.cpu_ns, soaked.clock_ns, soaked.noisy), (Some(S as i64 / 10), 2 * S, false));
    }

    #[test]
    fn user_system_and_remainder_are_the_total() {
        let (_, soaked) = calibrated(0.0, 0.0).soaked(&second([0.5, 0.25]), &quiet());
        for (user, system, remainder) in
            [(300_000_000, 200_000_001, Some(249_999_999)), (700_000_000, 100_000_000, Some(-50_000_000))]
        {
            let whole = soaked.clone().with_remainder(Some(user), Some(system));
            assert_eq!(whole.remainder_ns, remainder);
            assert_eq!(whole.cpu_ns, remainder.map(|rest| rest + (user + system) as i64));
        }
        assert_eq!(soaked.with_remainder(None, Some(1)).remainder_ns, None);
    }

    #[test]
    fn a_process_is_told_without_the_threads_of_the_soaker() {
        for ((user, system, clock), own) in [
            ((5_000, 700, 4_000), (1_000, 700)),
            ((4_000, 700, 4_000), (0, 700)),
            ((3_900, 700, 4_000), (0, 600)),
            ((100, 100, 4_000), (0, 0)),
        ] {
            assert_eq!(without_soaker(user, system, clock), own, "{user} {system} {clock}");
        }
    }

    #[test]
    fn doubtful_conditions_are_told() {
        let changed = |change: fn(&mut Window, &mut Conditions)| {
            let (mut run, mut conditions) = (second([0.5, 0.0]), quiet());
            change(&mut run, &mut conditions);
            calibrated(0.0, 0.0).soaked(&run, &conditions).1
        };
        for (change, words) in [
            (
                (|_, on| on.quota_cpus = Some(1.5)) as fn(&mut Window, &mut Conditions),
                "allows 1.50 of 2 CPUs",
            ),
            (|_, on| on.online = 4, "may use 2 of 4 CPUs"),
            (|run, _| run.stolen_ns = S / 20, "took 5.0 % of one CPU"),
            (|run, _| run.threads[0].iterations += RATE * S / 20, "3.3 % faster"),
            (|run, _| run.threads[1].iterations -= RATE * S / 10, "6.7 % slower"),
        ] {
            let soaked = changed(change);
            assert!(soaked.noisy && soaked.why.concat().contains(words), "{words}: {:?}", soaked.why);
        }
        for change in [
            (|_, on| on.quota_cpus = Some(2.0)) as fn(&mut Window, &mut Conditions),
            (|run, _| run.stolen_ns = S / 100),
            |_, on| on.fallback.push("nice 19".into()),
        ] {
            assert_eq!(changed(change).why, [""; 0]);
        }
    }

    #[test]
    fn calibrations_that_differ_by_more_than_two_percent_of_a_cpu_are_noisy() {
        for (first, second_one, noisy) in
            [(0.0, 0.019, false), (0.0, 0.021, true), (0.30, 0.31, false), (0.31, 0.2, true)]
        {
            let (_, soaked) = calibrated(first, second_one).soaked(&second([0.5, 0.5]), &quiet());
            assert_eq!(soaked.noisy, noisy, "{first} {second_one}: {:?}", soaked.why);
            assert_eq!(soaked.calibrations.len(), 2);
        }
    }

    #[test]
    fn a_cpu_that_others_held_is_taken_to_be_like_the_rest() {
        let held = || second([0.0, 1.0]);
        let known = Calibrated::of(&[held(), held()]).expect("one thread ran");
        let (_, soaked) = known.soaked(&second([0.0, 0.5]), &quiet());
        assert_eq!(soaked.cpu_ns, Some(-(S as i64) / 2));
        assert!(soaked.why.concat().contains("nothing of 1 of 2 CPUs"), "{:?}", soaked.why);
        assert_eq!(Calibrated::of(&[second([1.0, 1.0])]), None, "no thread ran");
        assert_eq!(Calibrated::of(&[]), None);
    }

    #[test]
    fn one_cpu_is_enough_and_half_of_them_give_no_total() {
        let one =
            Window { threads: second([0.25, 0.0]).threads[..1].to_vec(), elapsed_ns: S, ..Window::default() };
        let idle = Window { threads: second([0.0, 0.0]).threads[..1].to_vec(), ..one.clone() };
        let known = Calibrated::of(&[idle.clone(), idle]).expect("the thread ran");
        for (allowed, cpu_ns) in [(1, Some(S as i64 / 4)), (2, None)] {
            let conditions = Conditions { allowed, online: allowed, ..Conditions::default() };
            let (soaked_ns, soaked) = known.soaked(&one, &conditions);
            assert_eq!((soaked.cpu_ns, soaked_ns), (cpu_ns, S * 3 / 4));
            assert_eq!((soaked.cpus, soaked.of_cpus), (1, allowed as u32));
        }
    }
}
