//! Words through a mapping, and what becomes of one whose file is cut.

use std::io::Write;
use std::os::unix::fs::FileExt;

use super::*;

const PAGE: u64 = 4096;

fn file(bytes: usize) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    let content: Vec<u8> = (0..bytes).map(|byte| (byte / 8) as u8).collect();
    file.write_all(&content).expect("room");
    file
}

fn mapped(file: &File, bytes: u64, purpose: MappedFor, advice: MappedAdvice) -> MappedFile {
    let file = file.try_clone().expect("descriptors");
    MappedFile::new(file, bytes, purpose, advice).expect("it is mapped")
}

const ADVICES: [MappedAdvice; 4] =
    [MappedAdvice::None, MappedAdvice::Populate, MappedAdvice::Sequential, MappedAdvice::Random];

#[test]
fn words_are_summed_and_written_as_in_memory() {
    let file = file(3 * PAGE as usize + 13);
    let mut content = vec![0; 3 * PAGE as usize + 13];
    for advice in ADVICES {
        let mut words = mapped(&file, 3 * PAGE + 13, MappedFor::Writing, advice);
        file.read_exact_at(&mut content, 0).expect("it is so long");
        for (at, bytes) in [(0, 8), (PAGE, PAGE), (3 * PAGE, 13), (3, 9), (0, 3 * PAGE + 13)] {
            let expected = sum_words(&content[at as usize..(at + bytes) as usize]);
            assert_eq!(words.sum(at, bytes), Ok(expected), "{at}+{bytes} {advice:?}");
        }
        words.fill(PAGE + 8, 11, u64::from_le_bytes(*b"abcdefgh")).expect("there is room");
        words.sync().expect("there is room");
        words.check_length().expect("nobody cut it");
        file.read_exact_at(&mut content, 0).expect("it is so long");
        assert_eq!(&content[PAGE as usize + 8..PAGE as usize + 20], b"abcdefghabc\x02", "{advice:?}");
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_mapped_is_an_error_with_its_offset() {
    for advice in ADVICES {
        let file = file(8 * PAGE as usize);
        let mut words = mapped(&file, 8 * PAGE, MappedFor::Writing, advice);
        words.sum(7 * PAGE, 8).expect("it is there");
        file.set_len(2 * PAGE + 100).expect("it is cut");
        assert!(words.sum(2 * PAGE, 8).is_ok(), "the rest of the last page reads as zeros");
        let cut = MappedCause::Cut(2 * PAGE + 100);
        assert_eq!(words.check_length(), Err(MappedFault { at: 2 * PAGE + 100, cause: cut }));
        let fault = Err(MappedFault { at: 5 * PAGE, cause: cut });
        assert_eq!(words.sum(5 * PAGE, PAGE), fault, "{advice:?}");
        let first = Err(MappedFault { at: 5 * PAGE, cause: cut });
        assert_eq!(words.fill(4 * PAGE, 16, 7), first, "{advice:?}: the first one is told from then on");
    }
}

#[test]
fn mappings_do_not_share_their_faults() {
    let (cut, whole) = (file(2 * PAGE as usize), file(2 * PAGE as usize));
    let one = mapped(&cut, 2 * PAGE, MappedFor::Reading, MappedAdvice::None);
    let other = mapped(&whole, 2 * PAGE, MappedFor::Reading, MappedAdvice::None);
    cut.set_len(0).expect("it is cut");
    assert_eq!(one.sum(PAGE, 8), Err(MappedFault { at: PAGE, cause: MappedCause::Cut(0) }));
    assert!(other.sum(PAGE, 8).is_ok());
    drop(one);
    let again = mapped(&whole, 2 * PAGE, MappedFor::Reading, MappedAdvice::None);
    assert!(again.sum(0, 2 * PAGE).is_ok(), "an entry that is used again has no fault");
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    let (whole, folder) = (file(10), File::open("/").expect("a folder"));
    let map = |file: &File, bytes, purpose| {
        let made =
            MappedFile::new(file.try_clone().expect("descriptors"), bytes, purpose, MappedAdvice::None);
        made.map(drop)
    };
    assert_eq!(map(&whole, 0, MappedFor::Reading), Err(Errno(libc::EINVAL)));
    assert_eq!(map(&folder, 10, MappedFor::Reading), Err(Errno(libc::ENODEV)));
    let read_only = File::open("/proc/self/exe").expect("this program");
    assert_eq!(map(&read_only, 10, MappedFor::Writing), Err(Errno(libc::EACCES)));
}
