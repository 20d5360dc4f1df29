//! Each rule by its cases, and that every name ends.

use std::collections::BTreeSet;

use proptest::prelude::*;

mod deletion;
mod several_names;

use super::action::{Awaited, LeaveReason, NameAction, RefuseReason, SkipReason};
use super::facts::{
    Content, FolderInPlace, Form, KnownFacts, LinkPlace, NameFact, Ours, PartialFile, Recorded,
};
use super::machine::{Decided, NameMachine, NameStep};
use super::options::{NameOptions, NamePurpose, Update};
use super::table::TABLE;
use crate::{FileKind, Meta};

/// What a caller finds: all facts, as they are.
#[derive(Clone, Debug)]
struct World {
    flags: NameOptions,
    facts: KnownFacts,
    /// Contents that are compared.
    existing_content: Content,
    older_content: Content,
    /// The name is linked when it is met, or waits for that.
    is_linked: bool,
    has_older: bool,
    removes_folder: bool,
}

impl World {
    /// A file over an equal one of an earlier time, with no flag.
    fn new() -> World {
        let source =
            Meta { size_bytes: 10, mtime_ns: 500, ctime_ns: 7, mode: 0o644, inode: 5, ..Meta::nothing() };
        let existing = Meta { mtime_ns: 400, inode: 6, ..source };
        let (yes, no) = (Some(true), Some(false));
        let facts = KnownFacts {
            kind: Some(FileKind::Regular),
            is_listed_below: no,
            is_selected: yes,
            source: Some(source),
            leads_out: no,
            is_pumps: no,
            is_free: yes,
            leads_to_target: no,
            is_unwritten: yes,
            existing: Some(Some(existing)),
            is_same_file: no,
            ours: Some(Ours::No),
            time_tells: yes,
            may_hide: no,
            hidden_equal: yes,
            same_value: yes,
            has_room: yes,
            older_to_read: no,
            folder_in_place: Some(FolderInPlace::Full),
            is_copied_first: no,
            may_destroy: yes,
            is_protected: no,
            recorded: Some(Recorded::No),
            is_in_the_way: no,
            other_spelling: Some(Recorded::No),
            is_restless: no,
            is_elsewhere: no,
            partial_file: Some(PartialFile::No),
            ..KnownFacts::default()
        };
        let (existing_content, older_content) = (Content::Other, Content::Other);
        let flags =
            NameOptions { times: true, mode: true, owner: true, gives_away: true, ..NameOptions::default() };
        World {
            flags,
            facts,
            existing_content,
            older_content,
            is_linked: false,
            has_older: false,
            removes_folder: true,
        }
    }

    fn of_kind(kind: FileKind) -> World {
        let mut world = World::new();
        world.facts.kind = Some(kind);
        world.source().kind = kind;
        world.existing().kind = kind;
        world
    }

    fn flags(mut self, set: impl FnOnce(&mut NameOptions)) -> World {
        set(&mut self.flags);
        self
    }

    fn facts(mut self, set: impl FnOnce(&mut KnownFacts)) -> World {
        set(&mut self.facts);
        self
    }

    fn with(mut self, set: impl FnOnce(&mut World)) -> World {
        set(&mut self);
        self
    }

    fn source(&mut self) -> &mut Meta {
        self.facts.source.as_mut().expect("each world has a source")
    }

    fn existing(&mut self) -> &mut Meta {
        self.facts.existing.as_mut().and_then(Option::as_mut).expect("something exists")
    }

    /// Nothing has the name at the target.
    fn free(self) -> World {
        self.facts(|facts| facts.existing = Some(None))
    }

    fn tell(&self, fact: NameFact, to: &mut KnownFacts) {
        let from = self.facts.clone();
        match fact {
            NameFact::Kind => to.kind = from.kind,
            NameFact::ListedBelow => to.is_listed_below = from.is_listed_below,
            NameFact::Selected => to.is_selected = from.is_selected,
            NameFact::Source => to.source = from.source,
            NameFact::LeadsOut => to.leads_out = from.leads_out,
            NameFact::IsPumps => to.is_pumps = from.is_pumps,
            NameFact::IsFree => to.is_free = from.is_free,
            NameFact::LeadsToTarget => to.leads_to_target = from.leads_to_target,
            NameFact::IsUnwritten => to.is_unwritten = from.is_unwritten,
            NameFact::Existing => to.existing = from.existing,
            NameFact::IsSameFile => to.is_same_file = from.is_same_file,
            NameFact::Ours => to.ours = from.ours,
            NameFact::TimeTells => to.time_tells = from.time_tells,
            NameFact::MayHide => to.may_hide = from.may_hide,
            NameFact::HiddenEqual => to.hidden_equal = from.hidden_equal,
            NameFact::SameValue => to.same_value = from.same_value,
            NameFact::Room => to.has_room = from.has_room,
            NameFact::OlderToRead => to.older_to_read = from.older_to_read,
            NameFact::FolderInPlace => to.folder_in_place = from.folder_in_place,
            NameFact::CopiedFirst => to.is_copied_first = from.is_copied_first,
            NameFact::MayDestroy => to.may_destroy = from.may_destroy,
            NameFact::IsProtected => to.is_protected = from.is_protected,
            NameFact::Recorded => to.recorded = from.recorded,
            NameFact::IsInTheWay => to.is_in_the_way = from.is_in_the_way,
            NameFact::OtherSpelling => to.other_spelling = from.other_spelling,
            NameFact::IsRestless => to.is_restless = from.is_restless,
            NameFact::IsElsewhere => to.is_elsewhere = from.is_elsewhere,
            NameFact::PartialFile => to.partial_file = from.partial_file,
        }
    }

    /// Drives the machine to its end; gives what decided, and all that was performed before.
    fn run(&self) -> NameEnd {
        let mut machine = NameMachine::new(&self.flags, self.facts.form);
        machine.facts.was_cleared = self.facts.was_cleared;
        machine.facts.leads_to_folder_in_the_way = self.facts.leads_to_folder_in_the_way;
        let (mut asked, mut performed) = (BTreeSet::new(), Vec::new());
        for _ in 0..64 {
            let Decided { at, step } = machine.decide_from(self.flags.purpose.first_rule());
            assert_eq!(machine.poll(), step, "an earlier rule answers otherwise now");
            let number = TABLE[at].number;
            match step {
                NameStep::Find(fact) => {
                    assert!(asked.insert(fact), "{fact:?} is asked twice");
                    self.tell(fact, &mut machine.facts);
                }
                NameStep::Perform(action) if self.perform(action, &mut machine.facts) => {
                    performed.push(action);
                }
                NameStep::Perform(action) => return NameEnd { number, action, performed, asked },
            }
        }
        panic!("no end: {self:?}");
    }

    /// Performs what does not end the name; false for the rest.
    fn perform(&self, action: NameAction, facts: &mut KnownFacts) -> bool {
        match action {
            NameAction::Prepare => facts.is_prepared = true,
            NameAction::Wait(Awaited::RestOfFolder) => facts.is_its_turn = true,
            NameAction::Wait(Awaited::EndOfTrees) => facts.have_trees_ended = true,
            NameAction::CompareExisting => facts.content = self.existing_content,
            NameAction::CompareOlder => facts.older_content = self.older_content,
            NameAction::RemoveFolder if self.removes_folder => {
                (facts.existing, facts.was_cleared) = (Some(None), true);
            }
            NameAction::RemoveFolder => facts.folder_in_place = Some(FolderInPlace::Full),
            NameAction::MeetLinks if !self.is_linked => facts.links = Some(LinkPlace::First),
            NameAction::LinkOlder if !self.has_older => facts.has_no_older = true,
            _ => return false,
        }
        true
    }
}

#[derive(Debug)]
struct NameEnd {
    number: u8,
    action: NameAction,
    performed: Vec<NameAction>,
    asked: BTreeSet<NameFact>,
}

const REPLACE: NameAction = NameAction::Copy { replaces: true, awaits_deletion: false };
const COPY: NameAction = NameAction::Copy { replaces: false, awaits_deletion: false };

fn update(world: World) -> World {
    world.flags(|flags| flags.update = Update::Older)
}

/// A source of one kind over an entry of another.
fn over(kind: FileKind, existing: FileKind) -> World {
    let mut world = World::of_kind(kind);
    world.existing().kind = existing;
    world
}

fn same_times(world: World) -> World {
    world.with(|world| world.existing().mtime_ns = 500)
}

const PARTIAL: Form =
    Form { may_be_pumps: true, may_be_temporary: false, is_list: false, is_withheld: false };
const LIST: Form = Form { is_list: true, ..PARTIAL };

/// A name of a form that this program uses.
fn pumps(form: Form) -> World {
    World::new().facts(|facts| (facts.form, facts.is_pumps) = (form, Some(true)))
}

fn selection() -> Vec<(u8, World, NameAction)> {
    use FileKind::{Folder, Socket, Symlink};
    let refuse = NameAction::Refuse;
    vec![
        (2, World::new().facts(|facts| facts.is_listed_below = Some(true)), refuse(RefuseReason::NoFolder)),
        (16, World::of_kind(Folder).facts(|facts| facts.is_listed_below = Some(true)), NameAction::Enter),
        (
            3,
            World::new().facts(|facts| facts.is_selected = Some(false)),
            NameAction::Skip(SkipReason::Excluded),
        ),
        // A silent skip goes before one that warns.
        (
            3,
            World::of_kind(Socket).facts(|facts| facts.is_selected = Some(false)),
            NameAction::Skip(SkipReason::Excluded),
        ),
        (
            5,
            World::new().flags(|flags| flags.bounds.max_size_bytes = Some(9)),
            NameAction::Skip(SkipReason::OutOfBounds("it is larger than --max-size")),
        ),
        (
            5,
            World::new().flags(|flags| flags.bounds.min_size_bytes = Some(11)),
            NameAction::Skip(SkipReason::OutOfBounds("it is smaller than --min-size")),
        ),
        (
            5,
            pumps(LIST)
                .facts(|facts| facts.is_pumps = Some(false))
                .flags(|flags| flags.bounds.max_size_bytes = Some(9)),
            NameAction::Skip(SkipReason::OutOfBounds("it is larger than --max-size")),
        ),
        (36, World::new().flags(|flags| flags.bounds.max_size_bytes = Some(10)), REPLACE),
        (
            6,
            World::new().free().flags(|flags| flags.existing = true),
            NameAction::Skip(SkipReason::NotExisting),
        ),
        (36, World::new().flags(|flags| flags.existing = true), REPLACE),
        (7, pumps(Form { is_withheld: true, ..Form::default() }), NameAction::Skip(SkipReason::Withheld)),
        (8, World::of_kind(Socket), NameAction::Skip(SkipReason::Socket)),
        (
            9,
            World::of_kind(Symlink)
                .flags(|flags| flags.safe_links = true)
                .facts(|facts| facts.leads_out = Some(true)),
            NameAction::Skip(SkipReason::LeadsOut),
        ),
        (
            36,
            World::of_kind(Symlink).facts(|facts| facts.leads_out = Some(true)),
            NameAction::MakeSpecial { replaces: true },
        ),
    ]
}

fn names_of_this_program() -> Vec<(u8, World, NameAction)> {
    let refuse = NameAction::Refuse;
    let verify = |world: World| world.flags(|flags| flags.purpose = NamePurpose::Verify);
    let backwards = |world: World| world.flags(|flags| flags.purpose = NamePurpose::VerifyBackwards);
    vec![
        // Whatever its size: it is none of the user's.
        (
            4,
            pumps(LIST).flags(|flags| flags.bounds.max_size_bytes = Some(9)),
            NameAction::Skip(SkipReason::Partial),
        ),
        (4, pumps(PARTIAL), NameAction::Skip(SkipReason::Partial)),
        (4, verify(pumps(PARTIAL)), NameAction::Skip(SkipReason::Partial)),
        (11, backwards(pumps(PARTIAL)), NameAction::Verify),
        (4, verify(pumps(LIST)), refuse(RefuseReason::Unfinished)),
        (4, backwards(pumps(LIST)), refuse(RefuseReason::Unfinished)),
        (10, pumps(LIST).facts(|facts| facts.is_pumps = Some(false)), refuse(RefuseReason::NameOfList)),
        (11, verify(pumps(LIST)).facts(|facts| facts.is_pumps = Some(false)), NameAction::Verify),
        (11, verify(World::new()), NameAction::Verify),
    ]
}

fn existing_entries() -> Vec<(u8, World, NameAction)> {
    use FileKind::{Fifo, Folder, Regular, Symlink};
    let leave = NameAction::Leave;
    let ignore = |world: World| world.flags(|flags| flags.ignore_existing = true);
    let ours = |world: World, ours| world.facts(|facts| facts.ours = Some(ours));
    let delete = |world: World| world.flags(|flags| flags.delete = true);
    let in_place = |world: World, folder| world.facts(|facts| facts.folder_in_place = Some(folder));
    let refused = NameAction::Refuse(RefuseReason::FolderInPlace);
    vec![
        (36, World::new().free(), COPY),
        (36, World::of_kind(Fifo).free(), NameAction::MakeSpecial { replaces: false }),
        (16, World::of_kind(Folder), NameAction::Enter),
        (16, ignore(World::of_kind(Folder)), NameAction::Enter),
        (17, ours(World::new(), Ours::Earlier), leave(LeaveReason::Ours)),
        (17, ours(ignore(World::new()), Ours::Earlier), leave(LeaveReason::Ours)),
        (18, ignore(World::new()), leave(LeaveReason::Exists)),
        (18, ignore(over(Folder, Regular)), leave(LeaveReason::Exists)),
        (18, ignore(over(Regular, Folder)), leave(LeaveReason::Exists)),
        (18, ignore(World::of_kind(Symlink)), leave(LeaveReason::Exists)),
        (18, ours(ignore(World::new()), Ours::Touched), leave(LeaveReason::Exists)),
        (36, ours(ignore(World::new()), Ours::Unverified), REPLACE),
        (36, ignore(World::new()).free(), COPY),
        (19, World::of_kind(Folder).free(), NameAction::MakeFolder { replaces: false }),
        (19, update(over(Folder, Regular)), NameAction::MakeFolder { replaces: true }),
        (
            19,
            World::of_kind(Folder).free().facts(|facts| facts.has_room = Some(false)),
            NameAction::CountMissing,
        ),
        (16, World::of_kind(Folder).facts(|facts| facts.has_room = Some(false)), NameAction::Enter),
        (28, World::new().facts(|facts| facts.has_room = Some(false)), NameAction::CountMissing),
        (28, World::of_kind(Symlink).facts(|facts| facts.has_room = Some(false)), NameAction::CountMissing),
        (36, over(Regular, Symlink), REPLACE),
        (36, update(over(Regular, Fifo)), REPLACE),
        (33, over(Regular, Folder), refused),
        (33, in_place(delete(over(Regular, Folder)), FolderInPlace::Stays), refused),
        (33, delete(over(Fifo, Folder)), NameAction::Wait(Awaited::Deletion)),
        (33, delete(over(Regular, Folder)), NameAction::Wait(Awaited::Deletion)),
        (36, in_place(over(Regular, Folder), FolderInPlace::Empty), COPY),
        // What existed does so also behind the removal of the folder that was in its place.
        (
            36,
            in_place(over(Regular, Folder), FolderInPlace::Empty).flags(|flags| flags.existing = true),
            COPY,
        ),
        (
            36,
            World::new().free().flags(|flags| flags.existing = true).facts(|facts| facts.was_cleared = true),
            COPY,
        ),
        (
            33,
            in_place(over(Regular, Folder), FolderInPlace::Empty).with(|it| it.removes_folder = false),
            refused,
        ),
        (
            36,
            delete(over(Regular, Folder)).facts(|facts| facts.is_copied_first = Some(true)),
            NameAction::Copy { replaces: false, awaits_deletion: true },
        ),
    ]
}

fn differs(world: World) -> World {
    world.flags(|flags| flags.update = Update::Differs)
}

fn set(world: World, set: fn(&mut Meta)) -> World {
    world.with(|world| set(world.existing()))
}

fn at(mtime_ns: i128) -> World {
    World::new().with(|world| world.existing().mtime_ns = mtime_ns)
}

fn equal() -> World {
    same_times(World::new())
}

fn by_time() -> Vec<(u8, World, NameAction)> {
    let leave = NameAction::Leave;
    let window = |world: World| world.flags(|flags| flags.window_ns = 2);
    let parted = |world: World| update(world).flags(|flags| flags.parts_remain = true);
    vec![
        (36, equal(), REPLACE),
        (21, update(at(501)), leave(LeaveReason::Newer)),
        (36, differs(at(501)), REPLACE),
        (36, update(at(501)).facts(|facts| facts.ours = Some(Ours::Unverified)), REPLACE),
        (21, update(at(501)).facts(|facts| facts.ours = Some(Ours::Touched)), leave(LeaveReason::Newer)),
        (36, parted(set(at(501), |it| it.size_bytes = 9)), REPLACE),
        (21, parted(at(501)), leave(LeaveReason::Newer)),
        (21, parted(set(at(501), |it| it.size_bytes = 11)), leave(LeaveReason::Newer)),
        (26, window(update(at(502))), leave(LeaveReason::EqualInTime)),
        (36, window(update(set(at(502), |it| it.size_bytes = 11))), REPLACE),
        (21, window(update(set(at(503), |it| it.size_bytes = 11))), leave(LeaveReason::Newer)),
        (27, window(differs(set(at(498), |it| it.mode = 0o600))), NameAction::SetAttributes),
        (36, window(differs(at(497))), REPLACE),
        (36, update(equal()).facts(|facts| facts.ours = Some(Ours::Touched)), REPLACE),
        (36, update(set(equal(), |it| it.size_bytes = 11)), REPLACE),
        (36, update(World::new()), REPLACE),
        (26, update(equal()), leave(LeaveReason::EqualInTime)),
        (27, update(set(equal(), |it| it.mode = 0o600)), NameAction::SetAttributes),
        (27, update(equal()).facts(|facts| facts.hidden_equal = Some(false)), NameAction::SetAttributes),
        (36, update(set(equal(), |it| (it.mode, it.links) = (0o600, 2))), REPLACE),
        (26, update(set(equal(), |it| it.links = 2)), leave(LeaveReason::EqualInTime)),
    ]
}

fn by_content() -> Vec<(u8, World, NameAction)> {
    use FileKind::{Fifo, Symlink};
    let leave = NameAction::Leave;
    let checksum = |world: World| world.flags(|flags| flags.checksum = true);
    let by_size = |world: World| differs(world).flags(|flags| flags.size_only = true);
    let content = |world: World, content| world.with(|world| world.existing_content = content);
    let untimed = |world: World| world.facts(|facts| facts.time_tells = Some(false));
    let coarse = || {
        World::new().with(|world| {
            (world.source().mtime_ns, world.existing().mtime_ns) = (5_000_000_003, 5_000_000_000);
            world.existing().ctime_ns = 9_000_000_000;
        })
    };
    vec![
        // Content is read before anything is decided by it; a change of attributes alone asks for other names.
        (26, content(checksum(equal()), Content::Equal), leave(LeaveReason::EqualInContent)),
        (
            26,
            content(checksum(set(equal(), |it| it.links = 2)), Content::Equal),
            leave(LeaveReason::EqualInContent),
        ),
        (27, content(checksum(World::new()), Content::Equal), NameAction::SetAttributes),
        (36, content(checksum(equal()), Content::Other), REPLACE),
        (36, checksum(set(World::new(), |it| it.size_bytes = 9)), REPLACE),
        // A time that could not be kept tells nothing.
        (27, content(untimed(differs(World::new())), Content::Equal), NameAction::SetAttributes),
        (36, content(untimed(differs(World::new())), Content::Other), REPLACE),
        (36, content(untimed(differs(set(World::new(), |it| it.links = 2))), Content::Equal), REPLACE),
        (26, differs(coarse()), leave(LeaveReason::EqualInTime)),
        (36, content(differs(coarse()).facts(|facts| facts.may_hide = Some(true)), Content::Other), REPLACE),
        (27, by_size(at(900)), NameAction::SetAttributes),
        (36, by_size(set(equal(), |it| it.size_bytes = 11)), REPLACE),
        (26, by_size(at(900)).flags(|flags| flags.times = false), leave(LeaveReason::EqualInTime)),
        (26, update(same_times(World::of_kind(Symlink))), leave(LeaveReason::Same)),
        (
            26,
            update(set(same_times(World::of_kind(Symlink)), |it| it.mode = 0o777)),
            leave(LeaveReason::Same),
        ),
        (27, update(World::of_kind(Fifo)), NameAction::SetAttributes),
        (
            36,
            update(World::of_kind(Fifo)).facts(|facts| facts.same_value = Some(false)),
            NameAction::MakeSpecial { replaces: true },
        ),
    ]
}

fn writing() -> Vec<(u8, World, NameAction)> {
    let older = |world: World| world.flags(|flags| flags.link_dest = true);
    let read = |world: World| {
        older(world).flags(|flags| flags.checksum = true).facts(|facts| facts.older_to_read = Some(true))
    };
    let numbers = |world: World| world.with(|world| world.existing().inode = 5);
    vec![
        (
            31,
            numbers(World::new()).facts(|facts| facts.is_same_file = Some(true)),
            NameAction::Leave(LeaveReason::OwnInode),
        ),
        (36, numbers(World::new()), REPLACE),
        (34, World::new().with(|world| world.is_linked = true), NameAction::MeetLinks),
        (35, older(World::new()).with(|world| world.has_older = true), NameAction::LinkOlder),
        (36, older(World::new()), REPLACE),
        (36, older(World::of_kind(FileKind::Fifo)), NameAction::MakeSpecial { replaces: true }),
        (
            35,
            read(World::new()).with(|it| (it.older_content, it.has_older) = (Content::Equal, true)),
            NameAction::LinkOlder,
        ),
        (36, read(World::new()).with(|world| world.has_older = true), REPLACE),
    ]
}

#[test]
fn every_rule_decides_as_its_row_says() {
    let all = [selection(), names_of_this_program(), existing_entries(), by_time(), by_content(), writing()]
        .concat();
    let all = [all, deletion::rows()].concat();
    for (number, world, action) in &all {
        let ended = world.run();
        assert_eq!((ended.number, ended.action), (*number, *action), "{ended:?} {world:?}");
    }
}

#[test]
fn rules_that_only_ask_or_go_on_do_so() {
    let performed = |world: &World| world.run().performed;
    let temporary = World::new().facts(|facts| facts.form.may_be_temporary = true);
    assert_eq!(performed(&temporary)[0], NameAction::Wait(Awaited::RestOfFolder));
    assert!(temporary.run().asked.contains(&NameFact::IsFree), "what another process writes is refused");
    assert!(World::new().run().asked.contains(&NameFact::IsUnwritten));
    let followed = World::new().facts(|facts| facts.leads_to_target = Some(true));
    assert_eq!(performed(&followed)[0], NameAction::Wait(Awaited::EndOfTrees));
    let again = performed(&followed).iter().filter(|action| matches!(action, NameAction::Wait(_))).count();
    assert_eq!(again, 1, "it waits once");
    assert!(World::new().run().asked.contains(&NameFact::MayDestroy));
    assert!(!World::new().free().run().asked.contains(&NameFact::MayDestroy), "nothing is destroyed");
    assert_eq!(performed(&World::new().free())[0], NameAction::Prepare, "a file is opened before all else");
    assert_eq!(performed(&World::of_kind(FileKind::Folder)), [NameAction::Prepare]);
    assert!(!performed(&World::of_kind(FileKind::Fifo)).contains(&NameAction::Prepare));
    let fifo = over(FileKind::Fifo, FileKind::Folder);
    assert!(performed(&fifo).contains(&NameAction::Prepare), "nothing is removed for what cannot be made");
    let read = World::new().flags(|flags| (flags.link_dest, flags.checksum) = (true, true));
    let read = read.facts(|facts| facts.older_to_read = Some(true));
    assert!(performed(&read).contains(&NameAction::CompareOlder));
}

#[test]
fn each_number_is_of_one_rule() {
    let numbers: BTreeSet<u8> = TABLE.iter().map(|rule| rule.number).collect();
    assert!(numbers.into_iter().eq((1..).take(TABLE.len())));
}

/// A fact costs something: each is asked only where the rules before it leave the name open.
#[test]
fn a_new_file_without_flags_costs_one_look() {
    let asked = World::new().free().run().asked;
    let free = [
        NameFact::Kind,
        NameFact::ListedBelow,
        NameFact::Selected,
        NameFact::LeadsToTarget,
        NameFact::IsUnwritten,
        NameFact::Existing,
        NameFact::Room,
    ];
    assert_eq!(asked, BTreeSet::from(free));
}

fn kinds() -> impl Strategy<Value = FileKind> {
    use FileKind::{CharDevice, Fifo, Folder, Regular, Socket, Symlink};
    prop::sample::select(vec![Regular, Regular, Folder, Symlink, Fifo, CharDevice, Socket])
}

proptest! {
    #[test]
    fn every_name_ends_and_nothing_is_asked_twice(
        bits in any::<u64>(),
        kind in kinds(),
        existing in prop::option::of(kinds()),
        sizes in (0u64..3, 0u64..3),
        times in (0i128..3, 0i128..3),
    ) {
        let bit = |at: u32| bits >> at & 1 == 1;
        let mut world = World::of_kind(kind);
        (world.source().size_bytes, world.source().mtime_ns) = (sizes.0, times.0);
        (world.existing().size_bytes, world.existing().mtime_ns) = (sizes.1, times.1);
        match existing {
            Some(existing) => world.existing().kind = existing,
            None => world.facts.existing = Some(None),
        }
        let facts = &mut world.facts;
        let asked = [&mut facts.is_listed_below, &mut facts.is_selected, &mut facts.is_pumps, &mut facts.leads_out,
            &mut facts.may_hide, &mut facts.time_tells, &mut facts.hidden_equal, &mut facts.same_value,
            &mut facts.has_room, &mut facts.older_to_read, &mut facts.is_copied_first, &mut facts.is_same_file,
            &mut facts.leads_to_target];
        (0..).zip(asked).for_each(|(at, fact)| *fact = Some(bit(at)));
        facts.form = Form {
            may_be_temporary: bit(16), may_be_pumps: bit(17), is_list: bit(18), is_withheld: bit(19),
        };
        facts.ours = Some(if bit(20) { Ours::No } else { Ours::Unverified });
        facts.folder_in_place = Some(if bit(21) { FolderInPlace::Empty } else { FolderInPlace::Full });
        let flags = &mut world.flags;
        (flags.checksum, flags.size_only, flags.ignore_existing) = (bit(22), bit(23), bit(24));
        (flags.delete, flags.link_dest, flags.safe_links, flags.existing) = (bit(25), bit(26), bit(27), bit(28));
        flags.update = if bit(29) { Update::Older } else { Update::All };
        (world.removes_folder, world.is_linked, world.has_older) = (bit(30), bit(31), bit(32));
        let ended = world.run();
        // Nothing is replaced that the user wanted left, and no folder by anything.
        let replaces = matches!(
            ended.action,
            NameAction::Copy { replaces: true, .. } | NameAction::MakeSpecial { replaces: true }
        );
        prop_assert!(!replaces || existing.is_some_and(|existing| existing != FileKind::Folder));
        let is_left = world.flags.ignore_existing && existing.is_some() && kind != FileKind::Folder;
        prop_assert!(!(is_left && replaces) || bits >> 20 & 1 == 0, "{:?}", ended);
    }
}
