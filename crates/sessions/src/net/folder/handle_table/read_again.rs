//! What the reading side looks at or reads once more: an open file behind its blocks, parts of a file that the other
//! side is in doubt about, and a small file behind its block.
//!
//! Must not know: who asks, what becomes of the answer.

use datapump_core::wire::peer_request::{Answer, is_wanted};

use super::{EINVAL, HandleTable, ShelfOutcome, Taken, named, problem};
use crate::end::hash::GROUP_BYTES;
use crate::net::folder::convert::{attributes_of, changed, fault, to_wire};
use crate::net::folder::given_file::{GivenFile, Still};
use crate::net::folder::listing::fitting;
use crate::problem::{Class, Operation};
use datapump_files::disk::{AttributeHolder, FileCalls};
use datapump_files::holes::mapped;

/// All pages of a file of this size are looked at in 0.2 ms.
const LOOKED_AT_WHOLE: u64 = 16 << 20;
/// The answer before the block of a small file; or it was changed.
type SmallHead = Result<Option<Box<Answer>>, ()>;

impl HandleTable {
    /// What a file is behind blocks of it that were read. Of a large one only these are looked at for stores through a
    /// mapping: all of its pages, for every few blocks, took a third of both processors (a cached GiB over 180 ms).
    pub(crate) fn look_behind(&self, number: u64, blocks: (u64, u64)) -> Option<Answer> {
        self.times.names(|| self.metadata_again(number, Some(blocks))).ok()
    }

    /// Metadata of an open file and of its name now.
    ///
    /// Errors: it was stored to through a mapping since it was opened.
    pub(super) fn metadata_again(&self, number: u64, blocks: Option<(u64, u64)>) -> ShelfOutcome<Answer> {
        let Taken::File(given) = self.file(number)? else { return Err(fault(Operation::LookAt, EINVAL)) };
        let meta = given.handle.meta().map_err(|errno| fault(Operation::LookAt, errno))?;
        // What was appended to has pages that were written, and the caller sees that it grew.
        let (at, len) = blocks.filter(|_| meta.size_bytes > LOOKED_AT_WHOLE).unwrap_or((0, meta.size_bytes));
        let was_stored_to = || given.was_stored_within(&meta, at, len);
        if meta.size_bytes <= given.meta.size_bytes && was_stored_to() {
            return Err(changed(mapped::STORED_TO, Some(Class::Changed)));
        }
        let named = match &given.above {
            Some((side, name)) => {
                let folder = side.origin_folder().map_err(problem)?;
                folder.metadata(name).ok()
            }
            None => Some(meta),
        };
        Ok(Answer::Meta {
            meta: to_wire(&meta),
            named: named.as_ref().map(to_wire),
            is_partial: None,
            owners: None,
            is_young: given.look.is_young.then_some(true),
        })
    }

    /// The digest of a part of a file that is read once more, and not sent: the other side has it.
    pub(super) fn sum(&self, number: u64, at: u64, len: u32) -> ShelfOutcome<Answer> {
        let Taken::File(given) = self.file(number)? else { return Err(fault(Operation::Read, EINVAL)) };
        if u64::from(len) > GROUP_BYTES || !is_wanted(at, len, given.meta.size_bytes) {
            return Err(fault(Operation::Read, EINVAL));
        }
        let _charge = self.charge(len as usize, 0)?;
        let sum = self.times.sum(|| given.sum(at, len, &self.stop));
        sum.map(Answer::Sum).map_err(|errno| fault(Operation::Read, errno))
    }

    /// Checks a small file behind its block. Gives the answer that goes ahead of the block, with later attributes if it was
    /// read again; an error means that it changed.
    pub(crate) fn check_small(
        &self,
        given: &GivenFile,
        block: &[u8],
        head: Option<Box<Answer>>,
    ) -> SmallHead {
        if self.times.names(|| given.is_unchanged()) {
            return Ok(head);
        }
        self.times.read(|| self.read_small_again(given, block, head))
    }

    /// Reads a small file again, which may have changed.
    pub(super) fn read_small_again(
        &self,
        given: &GivenFile,
        block: &[u8],
        head: Option<Box<Answer>>,
    ) -> SmallHead {
        match given.check_again(block, &self.stop) {
            Still::Unchanged => Ok(head),
            // One that got its first bytes meanwhile is better opened.
            Still::Grew if block.is_empty() => Err(()),
            Still::Grew => Ok(head),
            Still::Changed => Err(()),
            Still::ReadAgain(handle, meta) => {
                let meta = named(&given.above, meta).map_err(drop)?;
                let attributes = fitting(attributes_of(AttributeHolder::Open(handle.os())));
                let meta = to_wire(&meta);
                let block_len = head.as_deref().and_then(Answer::block_len);
                Ok(Some(Box::new(Answer::file(meta, attributes, block_len))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Instant;

    use datapump_core::wire::bounds::FileSize;
    use datapump_core::wire::peer_request::PeerRequest;
    use datapump_core::wire::session::SenderStats;

    use super::*;
    use crate::net::folder::handle_place::HandlePlace;
    use crate::setup::budget::Budget;
    use crate::setup::options::{FollowLinks, Options};
    use datapump_files::identity::tick;

    const LINE: &[u8] = b"a line\n";

    fn append(path: &Path) {
        let open = fs::File::options().append(true).open(path);
        open.and_then(|mut open| open.write_all(LINE)).expect("room");
    }

    fn rename_over(path: &Path) {
        let new = path.with_extension("new");
        fs::write(&new, "new").and_then(|()| fs::rename(&new, path)).expect("room");
    }

    fn rotate(path: &Path) {
        let old = path.with_extension("1");
        fs::rename(path, &old).and_then(|()| fs::write(path, "")).expect("room");
        append(&old);
    }

    fn rename_over_and_rewrite(path: &Path) {
        let old = fs::File::options().write(true).open(path);
        rename_over(path);
        old.and_then(|old| old.write_all_at(b"A", 0)).expect("room");
    }

    /// Each file is younger than its tick when it is opened, so that it is read again. What its block is of a state is
    /// sent, whatever became of its name since; a mix is not.
    #[test]
    fn a_block_is_sent_that_is_one_state_of_what_had_the_name() {
        type Change = fn(&Path);
        let rows: [(&str, Change, bool); 8] = [
            ("nothing", |_| (), true),
            ("appended to", append, true),
            ("replaced", rename_over, true),
            ("rotated, and written to", rotate, true),
            ("replaced and rewritten", rename_over_and_rewrite, false),
            ("rewritten", |path| fs::write(path, "A LINE\n").expect("room"), false),
            ("rewritten and longer", |path| fs::write(path, "A LINE\nand another").expect("room"), false),
            ("removed", |path| fs::remove_file(path).expect("it is there"), false),
        ];
        for (change, act, is_sent) in rows {
            let home = tempfile::tempdir().expect("room");
            let path = home.path().join("log");
            fs::write(&path, LINE).expect("room");
            let places = vec![HandlePlace::Path(home.path().into())];
            let table = HandleTable::new(
                places,
                FollowLinks::Never,
                Arc::default(),
                Budget::of_client(None).share(),
                None,
            );
            table.answer(PeerRequest::Root { folder: 1, place: 0 }, &mut |_| Ok(())).expect("a folder");
            let (answer, _, given) =
                table.fetch(1, b"log", 3, 100).unwrap_or_else(|fault| panic!("{fault:?}"));
            assert_eq!(answer.block_len(), Some(LINE.len() as u32), "{change}");
            act(&path);
            let given = given.expect("it is not too long");
            let head = table.check_small(&given, LINE, Some(Box::new(answer)));
            assert_eq!(head.is_ok(), is_sent, "{change}");
            let Ok(Some(head)) = head else { continue };
            assert_eq!(head.block_len(), Some(LINE.len() as u32), "{change}");
            let Answer::File { meta, .. } = *head else { panic!("{change}") };
            assert_eq!(meta.size_bytes.0, LINE.len() as u64, "{change}");
        }
    }

    /// A digest takes data, which the source gives; and a lane with a small file may have to read it again.
    #[test]
    fn data_that_is_read_again_takes_no_time_for_names() {
        let home = tempfile::tempdir().expect("room");
        fs::write(home.path().join("file"), vec![7; GROUP_BYTES as usize]).expect("room");
        let places = vec![HandlePlace::Path(home.path().into())];
        let share = Budget::of_client(None).share();
        let table = HandleTable::new(places, FollowLinks::Never, Arc::default(), share, None);
        let answer = |ask| {
            let check = &mut |answer: Answer| {
                assert!(!matches!(answer, Answer::Fault(_)), "{answer:?}");
                Ok(())
            };
            table.answer(ask, check).expect("an answer");
        };
        answer(PeerRequest::Root { folder: 1, place: 0 });
        answer(PeerRequest::Open { file: 2, above: 1, name: b"file".to_vec().into() });
        let lanes = SenderStats { lanes_ns: Some(1), lanes_cpu_ns: Some(1), ..SenderStats::default() };
        let opened = table.add_times(lanes.clone());
        assert!(opened.names_ns > Some(0));
        assert_eq!(SenderStats { names_ns: None, ..opened.clone() }, with_no_reads(&lanes));

        let sum = PeerRequest::Read { file: 2, at: FileSize(0), len: GROUP_BYTES as u32, sum: Some(true) };
        answer(sum);
        let summed = table.add_times(lanes.clone());
        assert_eq!(summed.names_ns, opened.names_ns);
        assert!(summed.lanes_cpu_ns > opened.lanes_cpu_ns && summed.hashing_ns > opened.hashing_ns);
        assert!(summed.lanes_ns >= summed.lanes_cpu_ns, "a part of more than all: {summed:?}");

        // Younger than its tick.
        fs::write(home.path().join("log"), LINE).expect("room");
        let (_, _, given) = table.fetch(1, b"log", LINE.len() as u32, 0).expect("a file");
        let before = table.add_times(lanes.clone());
        let given = given.expect("it is as listed");
        append(&home.path().join("log"));
        let (start, settling_ns) = (Instant::now(), tick::settling_ns());
        table.check_small(&given, LINE, None).expect("its block is one state");
        let settling_ns = tick::settling_ns() - settling_ns;
        let elapsed_ns = start.elapsed().as_nanos() as u64;
        let after = table.add_times(lanes);
        assert_eq!(after.lanes_cpu_ns, before.lanes_cpu_ns, "the lane counts that");
        let read_ns = after.source_wait_ns.unwrap_or(0) - before.source_wait_ns.unwrap_or(0);
        assert!(read_ns + settling_ns <= elapsed_ns, "a wait for the clock is no read: {after:?}");
        let counted_ns = after.settling_ns.unwrap_or(0) - before.settling_ns.unwrap_or(0);
        assert_eq!(counted_ns, settling_ns, "it is counted alone");
    }

    /// Pages that a mapping stored to are dirty, as those of a write are.
    #[test]
    fn stores_are_not_looked_for_in_a_rehearsal() {
        let home = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("room");
        let path = home.path().join("file");
        fs::write(&path, vec![7; 2 << 20]).expect("room");
        for rehearsal_bytes in [Some(1), None] {
            let options = Options::default().with(|it| it.measuring.rehearsal_bytes = rehearsal_bytes);
            let (places, share) =
                (vec![HandlePlace::Path(home.path().into())], Budget::of_client(None).share());
            let table = HandleTable::new(places, FollowLinks::Never, Arc::default(), share, None);
            let table = table.with_options(&options);
            let root = PeerRequest::Root { folder: 1, place: 0 };
            for ask in [root, PeerRequest::Open { file: 2, above: 1, name: b"file".to_vec().into() }] {
                table.answer(ask, &mut |_| Ok(())).expect("an answer");
            }
            let file = fs::File::options().read(true).write(true).open(&path).expect("it is there");
            file.write_all_at(b"7", 0).expect("room");
            if !datapump_engine::os::linux::has_dirty_pages(&file, 0, 1 << 20) {
                return eprintln!("not tested: dirty pages do not show here");
            }
            let is_found = table.metadata_again(2, None).is_err();
            assert_eq!(is_found, rehearsal_bytes.is_none());
        }
    }

    fn with_no_reads(lanes: &SenderStats) -> SenderStats {
        let none = Some(0);
        SenderStats { source_wait_ns: none, hashing_ns: none, settling_ns: none, ..lanes.clone() }
    }

    #[test]
    fn a_file_of_another_length_is_sent_if_it_is_not_too_long() {
        let home = tempfile::tempdir().expect("room");
        fs::write(home.path().join("file"), [7; 50]).expect("room");
        let places = vec![HandlePlace::Path(home.path().into())];
        let table = HandleTable::new(
            places,
            FollowLinks::Never,
            Arc::default(),
            Budget::of_client(None).share(),
            None,
        );
        table.answer(PeerRequest::Root { folder: 1, place: 0 }, &mut |_| Ok(())).expect("a folder");
        // The last two are older peers, which expect what was listed.
        for ((len, len_max), is_given, block_len) in [
            ((3, 50), true, Some(50)),
            ((50, 100), true, None),
            ((3, 49), false, None),
            ((3, 3), false, None),
            ((50, 50), true, None),
        ] {
            let (answer, _, given) =
                table.fetch(1, b"file", len, len_max).unwrap_or_else(|fault| panic!("{fault:?}"));
            assert_eq!((given.is_some(), answer.block_len()), (is_given, block_len), "{len} {len_max}");
        }
    }
}
