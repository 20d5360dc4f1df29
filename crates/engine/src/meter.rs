//! A meter of each thread that works for a copy: its CPU time, charged to the stage that it is in.
//!
//! A thread's clock is its own, and so is its meter: it stands in thread-local memory, so that whatever the thread
//! calls can say what it is about. Where no bill was asked for there is no meter, no clock is read, and a change of the
//! stage is one look at that memory.
//!
//! A thread's clock is a call of the system: 0.8 us with what that does to the caches, 2 % of a sealed copy if it is
//! read at each change. So the first stays in each stage are measured, and of later ones a sample by chance, less what
//! the reading itself took: in its proportions the rest of the thread's time is shared out. All of it is charged.
//!
//! Must not know: what the stages are good for, what becomes of the sums.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use crate::os::linux::thread_ns;
use crate::stage::{CpuStage, METERED_MAX, Spent};

mod kernel;
mod workers;

use kernel::KernelTimes;
use workers::workers_ns;

/// So many stays in a stage are measured: seldom ones, such as a sync, all.
const MEASURED_FIRST: u32 = 256;
/// Of later ones, one in so many. A stage entered 10,000 times is 3 % off where its stays differ by their mean.
const ONE_OF: u64 = 8;

thread_local! {
    static METER: RefCell<Option<Meter>> = const { RefCell::new(None) };
}

/// One thread's.
#[derive(Debug)]
struct Meter {
    begun_ns: u64,
    stage: CpuStage,
    /// When it was entered, if this stay is measured.
    since: Option<(Why, u64)>,
    entered: [u32; METERED_MAX],
    first: Spent,
    sample: Spent,
    workers_ns: u64,
    random: u64,
    /// What a reading of the clock takes, which stays that are not measured do not have.
    reading_ns: u64,
}

/// Why a stay is measured.
#[derive(Clone, Copy, Debug)]
enum Why {
    First,
    ByChance,
}

impl Meter {
    fn new(stage: CpuStage, now_ns: u64, reading_ns: u64) -> Meter {
        Meter {
            reading_ns,
            begun_ns: now_ns,
            stage,
            since: Some((Why::First, now_ns)),
            entered: [0; METERED_MAX],
            first: Spent::default(),
            sample: Spent::default(),
            workers_ns: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Leaves the stage that it gives for another. The clock is read where a measured stay begins or ends.
    fn enter(&mut self, stage: CpuStage, clock: impl FnOnce() -> u64) -> CpuStage {
        let why = self.why(stage);
        if self.since.is_some() || why.is_some() {
            let now_ns = clock();
            self.charge(now_ns);
            self.since = why.map(|why| (why, now_ns));
        }
        std::mem::replace(&mut self.stage, stage)
    }

    fn why(&mut self, stage: CpuStage) -> Option<Why> {
        let entered = &mut self.entered[stage as usize];
        *entered = entered.saturating_add(1);
        if *entered <= MEASURED_FIRST { Some(Why::First) } else { self.by_chance().then_some(Why::ByChance) }
    }

    /// Marsaglia's xorshift: a fixed pace could keep in step with the loop.
    fn by_chance(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32).is_multiple_of(ONE_OF)
    }

    fn charge(&mut self, now_ns: u64) {
        let Some((why, since_ns)) = self.since.take() else { return };
        let stay_ns = now_ns.saturating_sub(since_ns);
        match why {
            Why::First => self.first.add(self.stage, stay_ns),
            Why::ByChance => self.sample.add(self.stage, stay_ns.saturating_sub(self.reading_ns)),
        }
    }

    /// All that the thread spent, by stage.
    fn end(mut self, now_ns: u64) -> Spent {
        self.charge(now_ns);
        let rest_ns = now_ns.saturating_sub(self.begun_ns).saturating_sub(self.first.total_ns());
        // Few came later, and none of them by chance.
        let sample = if self.sample.total_ns() == 0 { self.first } else { self.sample };
        let mut spent = self.first.plus(&sample.scaled_to(rest_ns));
        spent.add(CpuStage::Workers, self.workers_ns);
        spent
    }
}

/// This thread is in another stage until this is dropped.
#[must_use = "the stage ends with this"]
pub struct Within {
    /// None: there is no meter, or it was that stage already.
    before: Option<CpuStage>,
    /// It stays in its thread.
    _thread: PhantomData<*const ()>,
}

/// What this thread does now belongs to this stage, if it has a meter.
#[inline]
pub fn within(stage: CpuStage) -> Within {
    let before = METER.with_borrow_mut(|meter| match meter {
        Some(meter) if meter.stage != stage => Some(meter.enter(stage, thread_ns)),
        _ => None,
    });
    Within { before, _thread: PhantomData }
}

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        let Some(before) = self.before else { return };
        METER.with_borrow_mut(|meter| {
            if let Some(meter) = meter {
                meter.enter(before, thread_ns);
            }
        });
    }
}

/// Adds what the system's workers of this thread's ring have run, if it has a meter. They end with the ring.
pub fn add_workers() {
    METER.with_borrow_mut(|meter| {
        if let Some(meter) = meter {
            meter.workers_ns += workers_ns();
        }
    });
}

/// The meters of all threads of a copy on this host.
#[derive(Debug)]
pub struct Meters {
    spent: Mutex<Spent>,
    kernel: Option<KernelTimes>,
    reading_ns: u64,
}

impl Meters {
    /// Begins to measure.
    pub fn begin() -> Meters {
        Meters { spent: Mutex::default(), kernel: KernelTimes::now(), reading_ns: reading_ns() }
    }

    /// This thread has a meter until this is dropped, and is in this stage.
    pub fn here(&self, stage: CpuStage) -> Here<'_> {
        let is_first = METER.with_borrow(Option::is_none);
        if is_first {
            METER.set(Some(Meter::new(stage, thread_ns(), self.reading_ns)));
        }
        Here { meters: self, is_first, within: Some(within(stage)) }
    }

    /// What threads spent whose meters have ended.
    pub fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the system's own threads spent until now; none where they cannot be seen, as in a container.
    pub fn kernel_ns(&self) -> Option<u64> {
        self.kernel.as_ref().and_then(|before| Some(KernelTimes::now()?.since_ns(before)))
    }
}

/// What a reading of a thread's clock takes: the least of several, as the others were interrupted.
fn reading_ns() -> u64 {
    let between = |_| {
        let before_ns = thread_ns();
        thread_ns().saturating_sub(before_ns)
    };
    (0..16).map(between).min().unwrap_or(0)
}

/// A meter of this thread.
#[must_use = "the meter ends with this"]
pub struct Here<'meters> {
    meters: &'meters Meters,
    /// Another of the same thread has the meter otherwise.
    is_first: bool,
    within: Option<Within>,
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.within.take();
        if !self.is_first {
            return;
        }
        if let Some(meter) = METER.take() {
            let mut sum = self.meters.spent.lock().unwrap_or_else(PoisonError::into_inner);
            *sum = sum.plus(&meter.end(thread_ns()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(parts: &[(CpuStage, u64)]) -> Spent {
        let mut sum = Spent::default();
        parts.iter().for_each(|&(stage, ns)| sum.add(stage, ns));
        sum
    }

    #[test]
    fn what_passed_is_charged_to_the_stage_until_then() {
        use CpuStage::{Hash, Loop, Read, Write};
        for (what, changes, expected) in [
            ("one change", &[(Read, 10), (Loop, 25)][..], &[(Loop, 10), (Read, 15)][..]),
            (
                "one within another",
                &[(Read, 5), (Hash, 7), (Read, 20), (Loop, 21)],
                &[(Loop, 5), (Read, 3), (Hash, 13)],
            ),
            ("nothing passed", &[(Write, 0), (Loop, 0)], &[]),
            ("a clock that steps back", &[(Read, 10), (Loop, 8), (Write, 9)], &[(Loop, 11)]),
        ] {
            let mut meter = Meter::new(Loop, 0, 0);
            changes.iter().for_each(|&(stage, now_ns)| {
                meter.enter(stage, || now_ns);
            });
            assert_eq!(meter.first, spent(expected), "{what}");
        }
    }

    /// A loop of ten thousand blocks, and a sync at its end, at which the sync is one stay in its stage.
    #[test]
    fn a_sample_stands_for_all_and_what_is_seldom_is_measured() {
        use CpuStage::{Hash, Loop, Read, Sync, Write};
        const READING_NS: u64 = 300;
        let (mut now_ns, mut readings) = (0_u64, 0);
        let mut meter = Meter::new(Loop, 0, READING_NS);
        for block in 0..10_000_u64 {
            for (stage, stay_ns) in [(Read, 300 + block % 7 * 100), (Loop, 50), (Hash, 2_000), (Write, 500)] {
                meter.enter(stage, || {
                    readings += 1;
                    now_ns += READING_NS;
                    now_ns
                });
                now_ns += stay_ns;
            }
        }
        meter.enter(Sync, || now_ns);
        now_ns += 5_000_000;
        meter.enter(Loop, || now_ns);
        let spent = meter.end(now_ns);
        assert!(now_ns - spent.total_ns() < 10, "all is charged: {spent:?} of {now_ns}");
        assert_eq!(spent.0[Sync as usize], 5_000_000, "seldom");
        assert!(readings < 12_000, "{readings} of 40000 changes");
        // All readings are spread over the stages as their time is.
        for (stage, expected_ns) in [(Read, 6_000_000_f64), (Loop, 500_000.0), (Hash, 2e7), (Write, 5e6)] {
            let (share, expected) = (spent.0[stage as usize] as f64 / now_ns as f64, expected_ns / 36.5e6);
            assert!((share - expected).abs() < 0.015, "{stage:?}: {share} for {expected}");
        }
    }

    /// Computes until the thread's clock has moved on.
    fn compute() {
        let start_ns = thread_ns();
        while thread_ns() == start_ns {}
    }

    #[test]
    fn a_thread_without_a_meter_is_in_no_stage() {
        let stage = within(CpuStage::Hash);
        compute();
        drop(stage);
        assert!(METER.with_borrow(Option::is_none));
    }

    #[test]
    fn stages_end_where_they_began_and_all_time_is_charged_once() {
        let meters = Meters::begin();
        let start_ns = thread_ns();
        {
            let _here = meters.here(CpuStage::Metadata);
            let _hash = within(CpuStage::Hash);
            compute();
            {
                let _again = within(CpuStage::Hash);
                let _inner = meters.here(CpuStage::Read);
                compute();
            }
            compute();
        }
        let (spent, passed_ns) = (meters.spent(), thread_ns() - start_ns);
        for stage in [CpuStage::Hash, CpuStage::Read] {
            assert!(spent.0[stage as usize] > 0, "{stage:?}: {spent:?}");
        }
        assert!(spent.total_ns() <= passed_ns, "{spent:?} of {passed_ns}");
        assert!(METER.with_borrow(Option::is_none));
    }

    #[test]
    fn threads_add_up() {
        let meters = Meters::begin();
        std::thread::scope(|scope| {
            for stage in [CpuStage::Send, CpuStage::Receive] {
                let meters = &meters;
                scope.spawn(move || {
                    let _here = meters.here(stage);
                    compute();
                });
            }
        });
        let spent = meters.spent();
        assert!(spent.0[CpuStage::Send as usize] > 0 && spent.0[CpuStage::Receive as usize] > 0, "{spent:?}");
    }
}
