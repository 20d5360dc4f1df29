//! The machine: facts in, the next step out.
//!
//! Must not know: the rules themselves.

use super::action::NameAction;
use super::facts::{Form, KnownFacts, NameFact};
use super::options::NameOptions;
use super::table::{RuleTurn, TABLE, TableRule};

use crate::FileKind;

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
    /// The rule that asked for a fact, and the kind by which the rules before it answered.
    asking: usize,
    kind: Option<FileKind>,
}

impl<'flags> NameMachine<'flags> {
    /// A name of which nothing is known but its form.
    pub fn new(flags: &'flags NameOptions, form: Form) -> NameMachine<'flags> {
        NameMachine::with_facts(flags, KnownFacts { form, ..KnownFacts::default() })
    }

    /// A name of which these facts are known.
    pub fn with_facts(flags: &'flags NameOptions, facts: KnownFacts) -> NameMachine<'flags> {
        NameMachine { flags, facts, asking: flags.purpose.first_rule(), kind: None }
    }

    /// Asks the rules in their order. A fact that was asked for changes no answer of an earlier rule, unless the source
    /// is of another kind than it seemed: so the rule that asked is the next. After an action all are asked again.
    pub fn poll(&mut self) -> NameStep {
        let first = self.flags.purpose.first_rule();
        let Decided { at, step } =
            self.decide_from(if self.kind == self.facts.kind { self.asking } else { first });
        self.asking = if matches!(step, NameStep::Find(_)) { at } else { first };
        self.kind = self.facts.kind;
        step
    }

    /// Asks the rules from this one on, until one finds a fact missing or decides on an action. Rules lead onwards only, so
    /// that this ends.
    pub(super) fn decide_from(&self, first: usize) -> Decided {
        let mut at = first;
        loop {
            let TableRule { decide, .. } = TABLE[at];
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
            return Decided { at, step };
        }
    }
}

/// A step, and the place of the rule that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) at: usize,
    pub(super) step: NameStep,
}
