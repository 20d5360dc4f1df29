//! What counts of the soaker's threads say: CPU = CPUs × elapsed − soaked − background, and whether that
//! can be believed.
//!
//! **Soaked** is the number of blocks that the threads counted times the *pace*: what a block takes of the thread's own
//! CPU clock when nothing comes between, the fastest tenth of the blocks just before. Why not something else:
//!
//! - The thread's CPU clock alone: the kernel lets it run on during interrupts (0.06 to 0.18 s of them in 4 GiB
//!   of direct reads), and an interrupt is work for the run, not time left over. A block that was interrupted
//!   took longer.
//! - Blocks for each second of *wall* time: other work on the machine lowers that, and the run's CPU time comes out
//!   negative.
//! - A pace calibrated once before the run: clock frequency, the neighbour on the same core and a hypervisor change it
//!   by more from second to second than is to be measured. The pace of the moment follows them.
//!
//! What a hypervisor takes away in the midst of a block cannot be told from an interrupt by counting; it is looked for,
//! and the result is then marked as noisy.
//!
//! Must not know: threads, clocks, files of the kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Statement S19: two calibrations that differ by more than this share of one CPU are noisy.
const CALIBRATIONS_DIFFER_MAX: f64 = 0.02;
/// The largest share of one CPU that a hypervisor may have taken.
pub const STOLEN_MAX: f64 = 0.02;
/// Interrupts are told in ticks of 10 ms, sampled: as much may be missing in a run of a second.
const UNEXPLAINED_MAX: f64 = 0.05;
/// The kernel reports the time of a process up to a tick late.
const TICK_NS: i64 = 10_000_000;
/// Where less than this share of all CPUs is left over, a run takes from others what they had before.
const LEFT_MIN: f64 = 0.05;
/// Others that use less than this share of one CPU have nothing to lose.
const BACKGROUND_MIN: f64 = 0.05;

/// What one thread of the soaker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Rounds of its loop.
    pub iterations: u64,
    /// How long it ran by the kernel's clock of its CPU time.
    pub clock_ns: u64,
    /// How long it would have run for as much without interrupts.
    pub soaked_ns: u64,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// How long it lasted.
    pub elapsed_ns: u64,
    /// CPU time that was left to the soaker.
    pub soaked_ns: u64,
    /// CPU time that all others used, for each second.
    pub background_ns_per_s: i64,
}

/// The CPU time of one run by the soaker, with its calibration. The page ROWS.md says what the fields mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// What calibrations without the run have found.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    calibrations: Vec<Calibration>,
    iterations_per_cpu_s: f64,
    /// CPU time of others for each nanosecond.
    background: f64,
}

impl Calibrated {
    /// The background is the mean of the calibrations.
    pub fn from_windows(windows: &[Window]) -> Calibrated {
        let sum = |of: fn(&Window) -> i64| windows.iter().map(of).sum::<i64>() as f64;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Calibrated {
            calibrations: windows.iter().map(Calibration::from_window).collect(),
            iterations_per_cpu_s: 1e9 * share(sum(Window::iterations), sum(Window::clock_ns)),
            background: share(sum(Window::used_ns), sum(|window| window.elapsed_ns as i64)),
        }
    }

    /// The CPU time that was left over in a run, and what follows from it.
    pub fn soaked(&self, run: &Window, conditions: &Conditions) -> (u64, Soaked) {
        let cpu_ns = run.used_ns() - (self.background * run.elapsed_ns as f64).round() as i64;
        let all = run.threads.len() == conditions.allowed;
        let why = self.doubts(run, conditions);
        let soaked = Soaked {
            cpus: run.threads.len() as u32,
            of_cpus: conditions.allowed as u32,
            elapsed_ns: run.elapsed_ns,
            clock_ns: run.clock_ns() as u64,
            cpu_ns: all.then_some(cpu_ns),
            remainder_ns: None,
            background_ns_per_s: per_s(self.background),
            iterations_per_cpu_s: self.iterations_per_cpu_s,
            calibrations: self.calibrations.clone(),
            interrupts_ns: run.interrupts_ns,
            stolen_ns: run.stolen_ns,
            fallback: conditions.fallback.clone(),
            noisy: !why.is_empty(),
            why,
        };
        (run.soaked_ns() as u64, soaked)
    }

    /// Why the figures of a run are to be doubted.
    fn doubts(&self, run: &Window, conditions: &Conditions) -> Vec<String> {
        let doubts = [self.starved(), self.unsteady(), self.crowded(run), stolen(run), unexplained(run)];
        doubts.into_iter().flatten().chain(conditions.doubts()).collect()
    }

    /// What others use all the time is not known of CPUs that they had to themselves.
    fn starved(&self) -> Option<String> {
        let is_starved = self.iterations_per_cpu_s == 0.0;
        is_starved.then(|| "before the run, others used all CPUs: there is nothing to compare with".into())
    }

    fn unsteady(&self) -> Option<String> {
        let backgrounds = self.calibrations.iter().map(|it| it.background_ns_per_s as f64 / 1e9);
        let low = backgrounds.clone().fold(f64::INFINITY, f64::min);
        let high = backgrounds.fold(f64::NEG_INFINITY, f64::max);
        (high - low > CALIBRATIONS_DIFFER_MAX).then(|| {
            let (low, high) = (percent(low), percent(high));
            format!("before the run, others used {low} of one CPU in one calibration and {high} in the other")
        })
    }

    /// The background is what others had before the run, and not what the run left them.
    fn crowded(&self, run: &Window) -> Option<String> {
        let all = run.threads.len() as f64 * run.elapsed_ns as f64;
        let is_crowded = run.soaked_ns() as f64 <= LEFT_MIN * all && self.background > BACKGROUND_MIN;
        is_crowded.then(|| {
            let had = format!("before the run, others used {} of one CPU", percent(self.background));
            format!("{had}, and in the run nothing was left over: it may have had theirs")
        })
    }
}

/// Blocks that took longer than their pace, without interrupts that the kernel knows of.
fn unexplained(run: &Window) -> Option<String> {
    let missing = run.clock_ns() - run.soaked_ns() - (run.interrupts_ns + run.stolen_ns) as i64;
    let share = missing as f64 / run.elapsed_ns.max(1) as f64;
    (share > UNEXPLAINED_MAX).then(|| {
        let share = percent(share);
        format!(
            "{share} of one CPU went to neither programs nor interrupts, as if a hypervisor took it unseen"
        )
    })
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

impl Calibration {
    fn from_window(window: &Window) -> Calibration {
        Calibration {
            elapsed_ns: window.elapsed_ns,
            soaked_ns: window.soaked_ns() as u64,
            background_ns_per_s: per_s(window.used_ns() as f64 / window.elapsed_ns.max(1) as f64),
        }
    }
}

impl Window {
    fn iterations(&self) -> i64 {
        self.threads.iter().map(|count| count.iterations as i64).sum()
    }

    fn clock_ns(&self) -> i64 {
        self.threads.iter().map(|count| count.clock_ns as i64).sum()
    }

    fn soaked_ns(&self) -> i64 {
        self.threads.iter().map(|count| count.soaked_ns as i64).sum()
    }

    /// What others than the soaker had of its CPUs.
    fn used_ns(&self) -> i64 {
        self.threads.len() as i64 * self.elapsed_ns as i64 - self.soaked_ns()
    }
}

/// How many blocks a pace is taken from, and which of them: some are interrupted, and seldom nine of ten.
pub const PACE_BLOCKS: usize = 128;
const PACE_PLACE: usize = PACE_BLOCKS / 10;

/// What a block takes when nothing comes between.
pub fn pace_ns(mut blocks: [u64; PACE_BLOCKS]) -> u64 {
    *blocks.select_nth_unstable(PACE_PLACE).1
}

impl Soaked {
    /// User, system and remainder add up to the total exactly; a total that is below the first two by more than the noise
    /// is marked (statement S21).
    pub fn with_remainder(mut self, user_ns: Option<u64>, system_ns: Option<u64>) -> Soaked {
        let own = user_ns.zip(system_ns).map(|(user, system)| (user + system) as i64);
        self.remainder_ns = self.cpu_ns.zip(own).map(|(cpu, own)| cpu - own);
        if let Some(missing) = self.remainder_ns.map(|rest| -rest).filter(|rest| *rest > self.noise_ns()) {
            let share = percent(missing as f64 / self.elapsed_ns.max(1) as f64);
            self.noisy = true;
            self.why.push(format!("user and system time are {share} of one CPU more than the whole"));
        }
        self
    }

    /// The error that a total may have: the difference between calibrations, and a tick for each CPU.
    fn noise_ns(&self) -> i64 {
        let backgrounds = || self.calibrations.iter().map(|it| it.background_ns_per_s);
        let apart_ns_per_s = backgrounds().max().unwrap_or(0) - backgrounds().min().unwrap_or(0);
        let share = (apart_ns_per_s as f64 / 1e9).max(CALIBRATIONS_DIFFER_MAX);
        (share * self.elapsed_ns as f64) as i64 + TICK_NS * i64::from(self.cpus)
    }
}

/// The user time and system time of a process without that of the soaker's threads, which are always in user mode.
/// The kernel tells the process's time up to a tick late for each thread that runs: where the user time is shorter than
/// the soaker's, the rest is taken from the system time, so that the sum stays right.
pub fn without_soaker(user_ns: u64, system_ns: u64, clock_ns: u64) -> (u64, u64) {
    let rest = clock_ns.saturating_sub(user_ns);
    (user_ns.saturating_sub(clock_ns), system_ns.saturating_sub(rest))
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
            Count { iterations: clock_ns * RATE, clock_ns, soaked_ns: clock_ns }
        };
        Window { elapsed_ns: S, threads: used.map(count).to_vec(), ..Window::default() }
    }

    fn calibrated(first: f64, second_one: f64) -> Calibrated {
        Calibrated::from_windows(&[second([first, 0.0]), second([0.0, second_one])])
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
    fn what_had_nothing_before_the_run_is_not_calibrated() {
        let (_, soaked) =
            Calibrated::from_windows(&[second([1.0, 1.0])]).soaked(&second([0.0, 0.0]), &quiet());
        assert!(soaked.why.concat().contains("others used all CPUs"), "{:?}", soaked.why);
        let (_, soaked) =
            Calibrated::from_windows(&[second([1.0, 0.9])]).soaked(&second([0.0, 0.0]), &quiet());
        assert!(!soaked.why.concat().contains("others used all CPUs"), "{:?}", soaked.why);
    }

    #[test]
    fn the_background_is_scaled_to_the_time_of_the_run() {
        let mut run = second([0.5, 0.2]);
        run.elapsed_ns *= 3;
        run.threads.iter_mut().for_each(|count| {
            count.iterations *= 3;
            count.clock_ns *= 3;
            count.soaked_ns *= 3;
        });
        let (_, soaked) = calibrated(0.2, 0.2).soaked(&run, &quiet());
        assert_eq!(soaked.cpu_ns, Some(3 * S as i64 / 2));
    }

    #[test]
    fn interrupts_that_the_clock_of_a_thread_does_not_see_are_found_by_counting() {
        let mut run = second([0.0, 0.0]);
        run.threads[0].soaked_ns -= S / 10; // a tenth of a second in interrupts
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

    /// The total is not below user and system time by more than the noise, else the row is marked.
    #[test]
    fn s21_a_total_below_user_and_system_time_is_noisy() {
        // Half a second of CPU time: 2 % of one CPU and a tick for each of two may be missing.
        for (user, noisy) in [(500_000_000, false), (539_000_000, false), (541_000_000, true)] {
            let (_, soaked) = calibrated(0.0, 0.0).soaked(&second([0.5, 0.0]), &quiet());
            let soaked = soaked.with_remainder(Some(user), Some(0));
            assert_eq!(soaked.noisy, noisy, "{user}: {:?}", soaked.why);
            assert!(!noisy || soaked.why.concat().contains("4.1 % of one CPU more than the whole"));
        }
        // Calibrations that differ by more are as much noise.
        let (_, soaked) = calibrated(0.1, 0.0).soaked(&second([0.5, 0.05]), &quiet());
        let before = soaked.why.len();
        assert_eq!(soaked.with_remainder(Some(610_000_000), Some(0)).why.len(), before);
    }

    /// Statement S21 of the rows that are kept: a total that is below user and system time by more than the noise is
    /// in a row that says that it is noisy, or is found now.
    #[test]
    fn s21_kept_totals_are_not_below_user_and_system_time() {
        let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/");
        let mut quiet_rows = 0;
        for name in ["access-resident", "crossings", "disk-net", "seqio", "soaker-loopback"] {
            let rows = crate::row::read_rows(format!("{bench}{name}.jsonl").as_ref()).expect("rows");
            for row in rows.iter().filter(|row| row.is_completed()) {
                let Some(soaker) = row.soaker.clone().filter(|it| !it.noisy && it.remainder_ns.is_some())
                else {
                    continue;
                };
                let parts = (row.user_ns.unwrap_or(0) + row.system_ns.unwrap_or(0)) as i64;
                assert_eq!(soaker.remainder_ns.map(|rest| rest + parts), soaker.cpu_ns, "{name}");
                let soaker = soaker.with_remainder(row.user_ns, row.system_ns);
                assert!(!soaker.noisy, "{name}: {:?} {:?}", row.asked, soaker.why);
                quiet_rows += 1;
            }
        }
        assert!(quiet_rows > 100, "{quiet_rows}");
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
            (|run, _| run.threads[1].soaked_ns -= S / 10, "10.0 % of one CPU went to neither"),
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
    fn a_run_that_may_have_taken_from_others_is_told() {
        for (background, used, noisy) in [
            (0.0, [1.0, 1.0], false), // all CPUs, but nobody else wanted them
            (0.5, [1.0, 0.85], false),
            (0.5, [1.0, 1.0], true),
            (0.5, [0.98, 0.98], true),
        ] {
            let (_, soaked) = calibrated(background, background).soaked(&second(used), &quiet());
            assert_eq!(soaked.noisy, noisy, "{background} {used:?}: {:?}", soaked.why);
            assert!(
                !noisy || soaked.why.concat().contains("others used 50.0 % of one CPU"),
                "{:?}",
                soaked.why
            );
        }
    }

    #[test]
    fn the_pace_is_that_of_blocks_that_were_not_interrupted() {
        for (interrupted_of_ten, pace) in [(0, 20_000), (5, 20_000), (8, 20_000), (10, 27_000)] {
            let block = |at| if at % 10 < interrupted_of_ten { 27_000 } else { 20_000 };
            assert_eq!(pace_ns(std::array::from_fn(block)), pace, "{interrupted_of_ten} of ten");
        }
    }

    #[test]
    fn one_cpu_is_enough_and_half_of_them_give_no_total() {
        let one =
            Window { threads: second([0.25, 0.0]).threads[..1].to_vec(), elapsed_ns: S, ..Window::default() };
        let idle = Window { threads: second([0.0, 0.0]).threads[..1].to_vec(), ..one.clone() };
        let known = Calibrated::from_windows(&[idle.clone(), idle]);
        for (allowed, cpu_ns) in [(1, Some(S as i64 / 4)), (2, None)] {
            let conditions = Conditions { allowed, online: allowed, ..Conditions::default() };
            let (soaked_ns, soaked) = known.soaked(&one, &conditions);
            assert_eq!((soaked.cpu_ns, soaked_ns), (cpu_ns, S * 3 / 4));
            assert_eq!((soaked.cpus, soaked.of_cpus), (1, allowed as u32));
        }
    }
}
