//! The life of a file: whatever happens, a name comes last and after everything that it promises.

use datapump_core::{
    Ending, FileGoal, FileLife, FileStep, Mismatch, Pass, PassesCompared, REPAIRS_MAX, SourceCheck,
};
use proptest::prelude::*;

const ENDINGS: [Ending; 5] = [Ending::Name, Ending::Device, Ending::Members, Ending::Nothing, Ending::Equal];
const CHECKS: [SourceCheck; 2] = [SourceCheck::Unchanged, SourceCheck::Unverified];
const COMPARED: [PassesCompared; 3] =
    [PassesCompared::Same, PassesCompared::Damaged, PassesCompared::Differs];

fn goal() -> impl Strategy<Value = FileGoal> {
    (prop::sample::select(&ENDINGS), any::<[bool; 4]>()).prop_map(|(ending, [syncs, back, again, folder])| {
        let is_named = ending == Ending::Name;
        FileGoal {
            ending,
            syncs_data: syncs || (back && is_named),
            reads_back: back && is_named,
            is_repairable: again,
            syncs_folder: folder && (is_named || ending == Ending::Members),
        }
    })
}

/// What happens outside: how bytes land, what looks and comparisons find, at which step something fails.
#[derive(Clone, Debug)]
struct World {
    bytes: u64,
    pieces: Vec<u64>,
    is_open_ended: bool,
    checks: Vec<SourceCheck>,
    compared: Vec<PassesCompared>,
    fails_at: Option<usize>,
}

fn world() -> impl Strategy<Value = World> {
    let pieces = prop::collection::vec(1..40u64, 1..6);
    let compared = prop::collection::vec(prop::sample::select(&COMPARED), 12);
    let checks = prop::collection::vec(prop::sample::select(&CHECKS), 5);
    (0..100u64, pieces, any::<bool>(), (checks, compared), prop::option::of(0..30usize)).prop_map(
        |(bytes, pieces, is_open_ended, (checks, compared), fails_at)| World {
            bytes,
            pieces,
            is_open_ended,
            checks,
            compared,
            fails_at,
        },
    )
}

/// Lands the bytes of a pass piece by piece; tells how often it became complete.
fn land(life: &mut FileLife, world: &World) -> u32 {
    let (mut left, mut complete) = (world.bytes, 0);
    for piece in world.pieces.iter().cycle() {
        let piece = (*piece).min(left);
        left -= piece;
        complete += u32::from(piece > 0 && life.handle_landed(piece));
        if left == 0 {
            break;
        }
    }
    if life.poll_step() == FileStep::Move(Pass::Copy) && world.is_open_ended {
        complete += u32::from(life.handle_ended(world.bytes));
    }
    complete
}

/// Performs a life; every step that was asked for, in order.
fn lived(goal: FileGoal, world: &World) -> (FileLife, Vec<FileStep>) {
    let bytes = if world.is_open_ended { u64::MAX } else { world.bytes };
    let (mut life, mut steps) = (FileLife::new(goal, bytes), Vec::new());
    let (mut checks, mut compared) = (world.checks.iter(), world.compared.iter());
    for number in 0..200 {
        let step = life.poll_step();
        steps.push(step);
        if step == FileStep::Over {
            return (life, steps);
        }
        if world.fails_at == Some(number) || matches!(step, FileStep::Refuse(_)) {
            assert!(life.handle_failed() && !life.handle_failed(), "it is given up once");
            continue;
        }
        match step {
            FileStep::Move(_) => assert_eq!(land(&mut life, world), 1, "one call goes on with the steps"),
            FileStep::ReadBack | FileStep::Repair => life.handle_pass(world.bytes),
            FileStep::CheckSource => life.handle_checked(*checks.next().expect("enough")),
            FileStep::Compare(_) => life.handle_compared(*compared.next().expect("enough")),
            step => life.handle_done(step),
        }
    }
    panic!("it never ends: {steps:?}")
}

fn place(steps: &[FileStep], step: FileStep) -> Option<usize> {
    steps.iter().rposition(|&other| other == step)
}

/// What stands before a name.
fn promised(goal: FileGoal) -> Vec<FileStep> {
    let mut promised = vec![FileStep::SetLength, FileStep::CheckSource, FileStep::SetAttributes];
    promised.extend(goal.syncs_data.then_some(FileStep::Sync));
    promised.push(FileStep::Close);
    promised.extend(goal.reads_back.then_some(FileStep::Compare(Pass::ReadBack)));
    promised
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn a_name_comes_after_all_that_it_promises(goal in goal(), world in world()) {
        let (_, steps) = lived(goal, &world);
        let Some(name) = place(&steps, FileStep::Rename) else { return Ok(()) };
        prop_assert_eq!(goal.ending, Ending::Name);
        let mut before = None;
        for step in promised(goal) {
            let at = place(&steps[..name], step);
            prop_assert!(at.is_some() && at > before, "{step:?} in {steps:?}");
            before = at;
        }
        prop_assert_eq!(before, name.checked_sub(1));
    }

    #[test]
    fn a_source_in_doubt_is_read_again_before_anything_is_promised(goal in goal(), world in world()) {
        let (_, steps) = lived(goal, &world);
        let mut checks = world.checks.iter();
        for pair in steps.windows(2).filter(|pair| pair[0] == FileStep::CheckSource) {
            let is_read = pair[1] == FileStep::ReadAgain;
            let is_doubtful = checks.next() == Some(&SourceCheck::Unverified);
            prop_assert!(is_read == is_doubtful || pair[1] == FileStep::Over, "{steps:?}");
        }
    }

    #[test]
    fn what_failed_gets_no_name_and_counts_for_nothing(goal in goal(), world in world()) {
        let (life, steps) = lived(goal, &world);
        let last = steps[steps.len() - 2];
        prop_assert!(life.has_failed() || last == FileStep::Enqueue, "{steps:?}");
        // What fails behind the name is told, and the name stays.
        let is_named = matches!(last, FileStep::Rename | FileStep::SyncFolder | FileStep::Enqueue);
        prop_assert!(is_named || !steps.contains(&FileStep::Rename), "{steps:?}");
    }

    #[test]
    fn what_came_back_damaged_is_repaired_a_few_times_at_most(goal in goal(), world in world()) {
        let (life, steps) = lived(goal, &world);
        let repairs = steps.iter().filter(|&&step| step == FileStep::Repair).count();
        prop_assert!(repairs <= REPAIRS_MAX as usize && life.repairs() <= REPAIRS_MAX);
        prop_assert!(repairs == 0 || (goal.reads_back && goal.is_repairable));
        let refused = steps.iter().filter(|step| matches!(step, FileStep::Refuse(_))).count();
        prop_assert!(refused <= 1 && (refused == 0 || life.has_failed()));
    }

    #[test]
    fn what_is_synced_ends_with_its_folder(goal in goal(), world in world()) {
        let (life, steps) = lived(goal, &world);
        if !life.has_failed() && goal.ending == Ending::Name {
            prop_assert_eq!(steps.contains(&FileStep::SyncFolder), goal.syncs_folder);
            prop_assert_eq!(steps.contains(&FileStep::Sync), goal.syncs_data);
        }
    }
}

#[test]
fn a_source_that_gives_something_else_than_before_is_not_believed() {
    let goal = FileGoal {
        ending: Ending::Name,
        syncs_data: true,
        reads_back: true,
        is_repairable: true,
        syncs_folder: true,
    };
    let compared = vec![PassesCompared::Damaged, PassesCompared::Damaged];
    let checks = vec![SourceCheck::Unchanged; 2];
    let world = World { bytes: 10, pieces: vec![10], is_open_ended: false, checks, compared, fails_at: None };
    let (_, steps) = lived(goal, &world);
    assert_eq!(steps[steps.len() - 2], FileStep::Refuse(Mismatch::Source), "{steps:?}");
}

#[test]
fn steps_of_a_file_that_was_given_up_meanwhile_lead_nowhere() {
    let mut life = FileLife::new(FileGoal::NOTHING, 1);
    assert!(life.handle_failed());
    life.handle_done(FileStep::Move(Pass::Copy));
    life.handle_compared(PassesCompared::Same);
    assert!(!life.handle_landed(1), "nobody goes on");
    assert_eq!(life.poll_step(), FileStep::Over);
}
