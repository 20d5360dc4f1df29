//! Zeros in a block that a new file need not hold: whole pages of them become holes.
//!
//! Must not know: how the rest is written.

/// The smallest hole: file systems allocate no less than a page.
const PAGE_BYTES: u64 = 4096;

/// The first part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPart {
    /// Nothing but zeros.
    Zeros(u32),
    /// To be written.
    Data(u32),
}

/// What stands at the beginning of bytes that lie `at` in their file: up to where zeros begin or end, at a page's
/// boundary. Pages that are cut by the block's ends count as the others do.
pub(super) fn first_part(bytes: &[u8], at: u64, page_bytes: u64) -> BlockPart {
    let page_bytes = page_bytes.max(PAGE_BYTES);
    let first = (page_bytes - at % page_bytes).min(bytes.len() as u64) as usize;
    let (page, rest) = bytes.split_at(first);
    let is_hole = is_zeros(page);
    let same = rest.chunks(page_bytes as usize).take_while(|page| is_zeros(page) == is_hole);
    let len = (first + same.map(<[u8]>::len).sum::<usize>()) as u32;
    if is_hole { BlockPart::Zeros(len) } else { BlockPart::Data(len) }
}

/// In words of the machine, which compilers make vectors of.
fn is_zeros(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<64>();
    let is_zero = |word: &[u8; 64]| word.iter().fold(0, |sum, byte| sum | byte) == 0;
    words.iter().all(is_zero) && rest.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_at_the_boundaries_of_pages() {
        let block = |pages: &str| -> Vec<u8> {
            let page = |letter| if letter == '0' { [0; 4096] } else { [7; 4096] };
            pages.chars().flat_map(page).collect()
        };
        let (zeros, data) = (BlockPart::Zeros, BlockPart::Data);
        for (pages, cut, at, part) in [
            ("0", 0..4096, 0, zeros(4096)),
            ("1", 0..4096, 0, data(4096)),
            ("001", 0..12_288, 0, zeros(8192)),
            ("110", 0..12_288, 0, data(8192)),
            ("000", 0..12_288, 40_960, zeros(12_288)),
            ("01", 0..8000, 0, zeros(4096)),
            ("10", 0..8000, 0, data(4096)),
            ("10", 0..100, 0, data(100)),
            ("00", 0..100, 0, zeros(100)),
            // Inside of a page.
            ("001", 1000..12_288, 1000, zeros(7192)),
            ("100", 4095..12_288, 4095, data(1)),
        ] {
            assert_eq!(first_part(&block(pages)[cut.clone()], at, 1), part, "{pages} {cut:?}");
        }
        let mut late = vec![0; 4096];
        late[4095] = 1;
        assert_eq!(first_part(&late, 0, 1), data(4096));
        assert_eq!(first_part(&block("0001"), 0, 16_384), data(16_384), "a larger page");
    }
}
