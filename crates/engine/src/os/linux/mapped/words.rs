//! Touches words: reads or writes eight bytes at a time, each by an instruction of its own, so that all interfaces use
//! their bytes alike and no compiler leaves any out.
//!
//! Must not know: where the bytes are.

/// The bytes of a word.
pub const WORD_BYTES: u64 = 8;

const WORD: usize = WORD_BYTES as usize;

/// The sum of the words of a block, with what is left behind the last one byte by byte.
pub fn sum_words(bytes: &[u8]) -> u64 {
    // SAFETY: the slice is valid for reads of its length.
    unsafe { sum(bytes.as_ptr(), bytes.len()) }
}

/// Writes a value into the words of a block, with its first bytes into what is left behind the last one.
pub fn fill_words(bytes: &mut [u8], value: u64) {
    // SAFETY: the slice is valid for writes of its length.
    unsafe { fill(bytes.as_mut_ptr(), bytes.len(), value) }
}

/// # Safety
/// `start` is valid for volatile reads of `len` bytes.
pub(super) unsafe fn sum(start: *const u8, len: usize) -> u64 {
    let mut sum = 0_u64;
    let (words, aligned) = (len / WORD, is_aligned(start));
    for word in 0..words {
        // SAFETY: the word lies in the `len` bytes; it is read as one where it may be, else as bytes of an array.
        let value = unsafe {
            let place = start.add(word * WORD);
            if aligned {
                u64::from_le(place.cast::<u64>().read_volatile())
            } else {
                u64::from_le_bytes(place.cast::<[u8; WORD]>().read_volatile())
            }
        };
        sum = sum.wrapping_add(value);
    }
    for byte in words * WORD..len {
        // SAFETY: the byte lies in the `len` bytes.
        sum = sum.wrapping_add(u64::from(unsafe { start.add(byte).read_volatile() }));
    }
    sum
}

/// # Safety
/// `start` is valid for volatile writes of `len` bytes.
pub(super) unsafe fn fill(start: *mut u8, len: usize, value: u64) {
    let (words, aligned) = (len / WORD, is_aligned(start));
    for word in 0..words {
        // SAFETY: as in `sum`.
        unsafe {
            let place = start.add(word * WORD);
            if aligned {
                place.cast::<u64>().write_volatile(value.to_le());
            } else {
                place.cast::<[u8; WORD]>().write_volatile(value.to_le_bytes());
            }
        }
    }
    for byte in words * WORD..len {
        // SAFETY: as in `sum`.
        unsafe { start.add(byte).write_volatile(value.to_le_bytes()[byte % WORD]) };
    }
}

fn is_aligned(start: *const u8) -> bool {
    (start as usize).is_multiple_of(align_of::<u64>())
}
