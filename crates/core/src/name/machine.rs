//! The machine: facts in, the next step out.
//!
//! Must not know: the rules themselves.

use super::action::NameAction;
use super::facts::{Form, KnownFacts, NameFact};
use super::options::NameOptions;
use super::table::{RuleTurn, TABLE, TableRule};

/// The next step with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameStep {
    /// Find this, and poll again.
    Find(NameFact),
    /// Do this.
    Perform(NameAction),
}

/// The machine of one name.
#[derive(Clone, Debug)]
pub struct NameMachine<'flags> {
    flags: &'flags NameOptions,
    /// Facts found so far. The caller adds to them.
    pub facts: KnownFacts,
}

impl<'flags> NameMachine<'flags> {
    /// A name of which nothing is known but its form.
    pub fn new(flags: &'flags NameOptions, form: Form) -> NameMachine<'flags> {
        NameMachine { flags, facts: KnownFacts { form, ..KnownFacts::default() } }
    }

    /// A name of which these facts are known.
    pub fn with_facts(flags: &'flags NameOptions, facts: KnownFacts) -> NameMachine<'flags> {
        NameMachine { flags, facts }
    }

    /// Asks the rules in their order.
    pub fn poll(&self) -> NameStep {
        self.decided_by().step
    }

    pub(super) fn decided_by(&self) -> Decided {
        let mut at = self.flags.purpose.first_rule();
        loop {
            let TableRule { number, decide, .. } = TABLE[at];
            let step = match decide(self.flags, &self.facts) {
                Err(fact) => NameStep::Find(fact),
                Ok(RuleTurn::Do(action)) => NameStep::Perform(action),
                Ok(RuleTurn::Next) => {
                    at += 1;
                    continue;
                }
                // Rules lead onwards only: each poll ends.
                Ok(RuleTurn::To(number)) => {
                    at += TABLE[at..].iter().position(|rule| rule.number == number).unwrap_or(0).max(1);
                    continue;
                }
            };
            return Decided { number, step };
        }
    }
}

/// A step, and the number of the rule that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) number: u8,
    pub(super) step: NameStep,
}
