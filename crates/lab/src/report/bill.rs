//! CPU cost of a run: the meters around it, and their figures in its row.
//!
//! Must not know: what is run, where rows are kept.

use std::collections::BTreeMap;

use datapump_engine::os::linux::ContextSwitches;

use crate::probe::limits::stolen_ns;
use crate::probe::machine::{Group, MachineMeter, wakeups};
use crate::probe::soaked::{Soaked, without_soaker};
use crate::probe::soaker::{Coverage, Soaker};
use crate::row::Row;
use crate::study::{Level, SOAKER};

/// The meters that this host has.
#[derive(Debug)]
pub struct HostMeters {
    machine: Option<MachineMeter>,
    group: Option<Group>,
}

/// A run that is being measured.
#[derive(Debug)]
pub struct Running<'meters> {
    meters: &'meters HostMeters,
    soaker: Option<Soaker>,
    machine_ns: Option<u64>,
    group_ns: Option<u64>,
    stolen_ns: Option<u64>,
    wakeups: Option<u64>,
    soaker_switches: ContextSwitches,
}

/// What the meters say of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunBill {
    machine_cpu_ns: Option<u64>,
    machine_cpu_by: Option<String>,
    group_cpu_ns: Option<u64>,
    group_cpu_by: Option<String>,
    stolen_ns: Option<u64>,
    wakeups: Option<u64>,
    soaked: Option<(u64, Soaked)>,
    soaker_switches: ContextSwitches,
}

/// Which CPUs a cell wants soaked; `None` for no soaker.
pub fn coverage(levels: &BTreeMap<String, Level>) -> Option<Coverage> {
    match levels.get(SOAKER)?.to_string().as_str() {
        "on" => Some(Coverage::All),
        "half" => Some(Coverage::Half),
        _ => None,
    }
}

impl HostMeters {
    /// Those that can be read.
    pub fn find() -> HostMeters {
        HostMeters { machine: MachineMeter::find(), group: Group::find() }
    }

    /// Calibrates the soaker, if it is wanted, and begins to measure.
    ///
    /// Errors: a soaker that is wanted and cannot be.
    pub fn begin(&self, coverage: Option<Coverage>) -> anyhow::Result<Running<'_>> {
        let soaker = coverage.map(Soaker::start).transpose()?;
        Ok(Running {
            meters: self,
            soaker_switches: soaker.as_ref().map(Soaker::switches).unwrap_or_default(),
            soaker,
            machine_ns: self.machine_ns(),
            group_ns: self.group_ns(),
            stolen_ns: stolen_ns(),
            wakeups: wakeups(),
        })
    }

    fn machine_ns(&self) -> Option<u64> {
        self.machine.and_then(MachineMeter::read_ns)
    }

    fn group_ns(&self) -> Option<u64> {
        self.group.as_ref().and_then(Group::read_ns)
    }
}

impl Running<'_> {
    /// Ends the measurement.
    pub fn end(self) -> RunBill {
        let (machine_ns, group_ns) = (self.meters.machine_ns(), self.meters.group_ns());
        let since = |before: Option<u64>, after: Option<u64>| {
            before.zip(after).map(|(before, after)| after.saturating_sub(before))
        };
        let (stolen_ns, wakeups) = (since(self.stolen_ns, stolen_ns()), since(self.wakeups, wakeups()));
        let switches = self.soaker.as_ref().map(Soaker::switches).unwrap_or_default();
        let soaked = self.soaker.map(Soaker::end);
        // The soaker's own time was nobody's.
        let own = soaked.as_ref().map_or(0, |(_, soaked)| soaked.clock_ns);
        let without = |between: Option<u64>| between.map(|ns| ns.saturating_sub(own));
        RunBill {
            machine_cpu_ns: without(since(self.machine_ns, machine_ns)),
            machine_cpu_by: self.meters.machine.map(|meter| meter.name().into()),
            group_cpu_ns: without(since(self.group_ns, group_ns)),
            group_cpu_by: self.meters.group.as_ref().map(|group| group.name().into()),
            stolen_ns,
            wakeups,
            soaked,
            soaker_switches: switches.since(self.soaker_switches),
        }
    }
}

impl RunBill {
    /// Puts the figures into the run's row. `in_process`: the run's own time is this process's, with the soaker's
    /// threads in it.
    pub fn put_into(self, mut row: Row, in_process: bool) -> Row {
        row.machine_cpu_ns = self.machine_cpu_ns;
        row.machine_cpu_by = self.machine_cpu_by;
        row.group_cpu_ns = self.group_cpu_ns;
        row.group_cpu_by = self.group_cpu_by;
        row.stolen_ns = self.stolen_ns;
        row.wakeups = self.wakeups;
        if in_process {
            let ContextSwitches { voluntary, involuntary } = self.soaker_switches;
            row.voluntary_switches = row.voluntary_switches.map(|count| count.saturating_sub(voluntary));
            row.involuntary_switches =
                row.involuntary_switches.map(|count| count.saturating_sub(involuntary));
        }
        let Some((soaked_ns, soaked)) = self.soaked else { return row };
        if in_process && let Some((user_ns, system_ns)) = row.user_ns.zip(row.system_ns) {
            let (user_ns, system_ns) = without_soaker(user_ns, system_ns, soaked.clock_ns);
            (row.user_ns, row.system_ns) = (Some(user_ns), Some(system_ns));
        }
        row.soaked_ns = Some(soaked_ns);
        row.soaker = Some(soaked.with_remainder(row.user_ns, row.system_ns));
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_of_a_cell_say_which_cpus_are_soaked() {
        for (level, expected) in [("off", None), ("on", Some(Coverage::All)), ("half", Some(Coverage::Half))]
        {
            assert_eq!(coverage(&BTreeMap::from([(SOAKER.into(), level.into())])), expected, "{level}");
        }
        assert_eq!(coverage(&BTreeMap::new()), None);
    }

    #[test]
    fn the_row_of_a_job_is_told_without_the_soaker_that_ran_beside_it() {
        let soaked = Soaked { clock_ns: 400, cpu_ns: Some(700), ..Soaked::default() };
        let bill = RunBill {
            machine_cpu_ns: Some(650),
            soaked: Some((390, soaked)),
            soaker_switches: ContextSwitches { voluntary: 1, involuntary: 40 },
            ..RunBill::default()
        };
        let row = Row {
            user_ns: Some(900),
            system_ns: Some(100),
            voluntary_switches: Some(7),
            involuntary_switches: Some(42),
            ..Row::default()
        };
        for (in_process, user_ns, remainder_ns, switches) in
            [(true, 500, 100, (6, 2)), (false, 900, -300, (7, 42))]
        {
            let row = bill.clone().put_into(row.clone(), in_process);
            assert_eq!((row.user_ns, row.system_ns), (Some(user_ns), Some(100)));
            assert_eq!((row.soaked_ns, row.machine_cpu_ns), (Some(390), Some(650)));
            let counted = row.voluntary_switches.zip(row.involuntary_switches);
            assert_eq!(counted, Some(switches), "{in_process}");
            assert_eq!(row.soaker.and_then(|soaker| soaker.remainder_ns), Some(remainder_ns), "{in_process}");
        }
    }

    #[test]
    fn without_a_soaker_the_meters_are_all() {
        let meters = HostMeters::find();
        let bill = meters.begin(None).expect("nothing can fail").end();
        let row = bill.put_into(Row { user_ns: Some(7), ..Row::default() }, true);
        assert_eq!((row.user_ns, row.soaked_ns, row.soaker), (Some(7), None, None));
        assert!(row.machine_cpu_by.is_some());
    }
}
