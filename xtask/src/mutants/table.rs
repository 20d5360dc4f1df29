//! The planted bugs: where, which text, what stands there instead.
//!
//! Must not know: how they are planted and caught.

/// A planted bug.
pub struct Mutant<'text> {
    /// The bug, in words.
    pub name: &'text str,
    /// The folder or file in which the text stands exactly once.
    pub place: &'text str,
    /// The right text.
    pub find: &'text str,
    /// The wrong one.
    pub replacement: &'text str,
}

const CORE: &str = "crates/core/src";

/// All planted bugs.
pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "write-before-read-completed",
        place: CORE,
        find: "self.queue.front().is_some_and(|slot| self.slots[slot as usize].state == SlotPhase::Full)",
        replacement: "self.queue.front().is_some_and(|slot| self.slots[slot as usize].state != SlotPhase::Free)",
    },
    Mutant {
        name: "source-depth-exceeded",
        place: CORE,
        find: "self.held < self.source_depth",
        replacement: "self.held <= self.source_depth",
    },
    Mutant {
        name: "sink-depth-exceeded",
        place: CORE,
        find: "self.writing < self.shape.sink_depth",
        replacement: "self.writing <= self.shape.sink_depth",
    },
    Mutant {
        name: "rest-skipped-after-partial-read",
        place: CORE,
        find: "            if self.shape.assemble {\n                return self.post_again(slot);",
        replacement: "            if self.shape.assemble {\n                return self.read_finished(slot);",
    },
    Mutant {
        name: "rest-skipped-after-partial-write",
        place: CORE,
        find: concat!(
            "            return self.post_again(slot);\n",
            "        }\n        let block = entry.block;\n        self.writing -= 1;",
        ),
        replacement: "        }\n        let block = entry.block;\n        self.writing -= 1;",
    },
    Mutant {
        name: "block-skipped-after-partial-return",
        place: CORE,
        find: "Extent { file, at, length, way: BlockRoute::Slots });",
        replacement: "Extent { file, at: at + u64::from(rest), length, way: BlockRoute::Slots });",
    },
    Mutant {
        name: "wait-charged-to-the-wrong-end",
        place: CORE,
        find: "if held_back || self.reading == 0 { PumpSide::Sink } else { PumpSide::Source }",
        replacement: "if held_back || self.reading == 0 { PumpSide::Source } else { PumpSide::Sink }",
    },
    Mutant {
        name: "wait-charged-to-a-sink-that-holds-nothing-back",
        place: CORE,
        find: "let held_back = self.front_is_full() && !self.sink_is_free();",
        replacement: "let held_back = !self.sink_is_free();",
    },
    Mutant {
        name: "wait-charged-to-a-source-without-reads",
        place: CORE,
        find: "if held_back || self.reading == 0 {",
        replacement: "if held_back {",
    },
    Mutant {
        name: "block-in-order-lost",
        place: CORE,
        find: "            BlockRoute::Slots if self.shape.in_order => self.queue.push_back(slot),\n",
        replacement: "",
    },
    Mutant {
        name: "fault-forgotten",
        place: CORE,
        find: "        self.failed.insert(file);\n",
        replacement: "",
    },
    Mutant {
        name: "block-before-the-end-of-data-lost",
        place: CORE,
        find: "        if entry.done == 0 {\n            self.drop_read(slot);",
        replacement: "        if entry.done < entry.block.len {\n            self.drop_read(slot);",
    },
    Mutant {
        name: "source-in-doubt-not-read-again",
        place: CORE,
        find: "SourceCheck::Unverified => FileStep::ReadAgain,",
        replacement: "SourceCheck::Unverified => self.after(FileStep::CheckSource),",
    },
    Mutant {
        name: "restless-folder-loses-its-names",
        place: CORE,
        find: "    if restless.contains(&folder) {",
        replacement: "    if false {",
    },
    Mutant {
        name: "name-on-its-way-removed",
        place: CORE,
        find: "(keeps_moving && may_be_on_its_way())",
        replacement: "(keeps_moving && restless.is_empty() && may_be_on_its_way())",
    },
    Mutant {
        name: "names-removed-though-other-folders-changed",
        place: CORE,
        find: "self.count >= PASSES && is_quiet_elsewhere && uncopied.is_empty()",
        replacement: "self.count >= PASSES && uncopied.is_empty()",
    },
];
