//! Which pages a store is asked for (statement S36): a page that is written in part is fetched once, whatever writes it;
//! one that is overwritten whole is fetched by a mapping alone, which cannot know that all of it will be.

mod parts;

use parts::counting::{Counting, PAGE};
use parts::{support, wider_parts};
use support::{expect, noise};
use wider_parts::pump_with;

const PAGES: usize = 64;

/// Writes a part of each page, and gives how often each was fetched.
fn fetched(interface: &str, pattern: &str, touch: &str) -> Option<Vec<u32>> {
    let content = noise(PAGES * PAGE as usize, 3);
    let store = Counting::new(content.clone())?;
    let row = format!("{interface} {pattern} {touch}");
    let words = ["lab", "access", &store.path(), "--operation=write", "--page=4KiB", "--json"];
    let how = ["--interface", interface, "--pattern", pattern, "--touch", touch];
    expect(&pump_with(&words, &how), 0, &[], &row);
    let (fetched, written) = store.counted();
    assert!(written >= PAGES as u64 * 8, "{row}: {written} bytes were written back");
    let after = store.content();
    assert_eq!(after.len(), content.len(), "{row}");
    for (page, (old, new)) in content.chunks(PAGE as usize).zip(after.chunks(PAGE as usize)).enumerate() {
        assert!(old[..8] != new[..8], "{row}: page {page} was written");
        assert!(
            touch == "1" || old[2048..] == new[2048..],
            "{row}: page {page} is kept behind what was written"
        );
    }
    Some(fetched)
}

#[test]
fn partial_writes_fetch_each_page_once_and_whole_ones_only_through_a_mapping() {
    for pattern in ["sequential", "random"] {
        for touch in ["word", "1/2", "1"] {
            for interface in ["stream", "ring", "ring-cached", "mmap", "mmap-populate"] {
                let Some(fetched) = fetched(interface, pattern, touch) else { return };
                let is_fetched = touch != "1" || interface.starts_with("mmap");
                let expected = vec![u32::from(is_fetched); PAGES];
                assert_eq!(fetched, expected, "{interface} {pattern} {touch}");
            }
        }
    }
}
