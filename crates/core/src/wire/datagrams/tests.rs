//! Scripted streams are counted exactly, and heads are read as they were written.

use proptest::prelude::*;

use super::*;

/// A stream by a script: what becomes of each datagram, from the last change of its place on.
fn counts(sent: u64, arrivals: &[u64]) -> DatagramCounts {
    let mut counter = DatagramCounter::new(sent);
    for (at, sequence) in arrivals.iter().enumerate() {
        assert!(counter.handle(*sequence, 100, sequence * 1000, at as u64 * 1000));
    }
    counter.counts(sent)
}

#[test]
fn scripted_drops_duplicates_and_swaps_are_counted() {
    for (what, sent, arrivals, (unique, lost, duplicates, reordered)) in [
        ("all in order", 4, &[0, 1, 2, 3][..], (4, 0, 0, 0)),
        ("nothing", 4, &[], (0, 4, 0, 0)),
        ("the first and the last lost", 4, &[1, 2], (2, 2, 0, 0)),
        ("two swapped", 4, &[0, 2, 1, 3], (4, 0, 0, 1)),
        ("one three late", 5, &[1, 2, 3, 0, 4], (5, 0, 0, 1)),
        ("one early", 4, &[3, 0, 1, 2], (4, 0, 0, 3)),
        ("twice", 3, &[0, 1, 1, 2], (3, 0, 1, 0)),
        ("twice and late: no reordering, it had come", 3, &[0, 1, 2, 0], (3, 0, 1, 0)),
        ("three times", 2, &[0, 0, 0], (1, 1, 2, 0)),
    ] {
        let counted = counts(sent, arrivals);
        let found = (counted.unique, counted.lost, counted.duplicates, counted.reordered);
        assert_eq!(found, (unique, lost, duplicates, reordered), "{what}");
        assert_eq!(counted.received, arrivals.len() as u64, "{what}");
        assert_eq!(counted.bytes, unique * 100, "{what}");
    }
}

proptest! {
    /// Drops, duplicates and swaps of neighbours, chosen for each number.
    #[test]
    fn counters_are_exact(script in prop::collection::vec(0_u8..6, 0..300)) {
        let (mut arrivals, mut dropped, mut doubled, mut swapped) = (Vec::new(), 0, 0, 0);
        let mut held = None;
        for (sequence, what) in script.iter().enumerate() {
            let sequence = sequence as u64;
            match what {
                0 => dropped += 1,
                1 => {
                    doubled += 1;
                    arrivals.extend([sequence, sequence]);
                }
                2 if held.is_none() => {
                    held = Some(sequence);
                    continue;
                }
                _ => arrivals.push(sequence),
            }
            // What was held comes behind the next one that comes at all.
            if let Some(late) = held.take_if(|_| *what != 0) {
                swapped += 1;
                arrivals.push(late);
            }
        }
        arrivals.extend(held);
        let counted = counts(script.len() as u64, &arrivals);
        prop_assert_eq!((counted.lost, counted.duplicates, counted.reordered), (dropped, doubled, swapped));
        prop_assert_eq!(script.len() as u64, counted.unique + counted.lost);
        prop_assert_eq!(counted.received, counted.unique + counted.duplicates);
    }

    /// Against sets and sorting.
    #[test]
    fn any_arrivals_are_counted_as_by_sets(sent in 1_u64..200, numbers in prop::collection::vec(0_u64..200, 0..300)) {
        let arrivals: Vec<u64> = numbers.into_iter().map(|number| number % sent).collect();
        let unique: std::collections::BTreeSet<u64> = arrivals.iter().copied().collect();
        let counted = counts(sent, &arrivals);
        prop_assert_eq!(counted.unique, unique.len() as u64);
        prop_assert_eq!(sent, counted.unique + counted.lost);
        prop_assert_eq!(counted.duplicates, (arrivals.len() - unique.len()) as u64);
        let lost = (0..sent).filter(|number| !unique.contains(number));
        prop_assert_eq!(counted.gaps, LossGaps::from_lost(lost));
    }

    #[test]
    fn heads_are_read_as_they_were_written(token: [u8; 16], sequence: u64, sent_ns: u64, more in 0_usize..9) {
        let head = DatagramHead { token, sequence, sent_ns };
        let mut datagram = vec![7; DATAGRAM_HEAD_BYTES + more];
        head.write(&mut datagram);
        prop_assert_eq!(DatagramHead::read(&datagram), Some(head));
        prop_assert_eq!(DatagramHead::read(&datagram[..DATAGRAM_HEAD_BYTES - 1]), None);
    }

    #[test]
    fn a_time_lies_in_its_bucket(ns: u64) {
        let mut histogram = TimeHistogram::default();
        histogram.add(ns);
        let bucket = histogram.counts.iter().position(|count| *count == 1).expect("it was added");
        prop_assert!(TimeHistogram::from_ns(bucket) <= ns);
        prop_assert!(bucket + 1 == HISTOGRAM_BUCKETS || ns < TimeHistogram::from_ns(bucket + 1));
    }
}

#[test]
fn a_number_that_may_not_come_is_not_counted() {
    let mut counter = DatagramCounter::new(10);
    assert!(!counter.handle(10, 100, 0, 0) && !counter.handle(u64::MAX, 100, 0, 0));
    assert_eq!(
        counter.counts(10),
        DatagramCounts { lost: 10, gaps: counter.counts(10).gaps, ..Default::default() }
    );
    // A sender that says that fewer were sent than came is not believed.
    assert!(counter.handle(7, 100, 0, 0));
    assert_eq!((counter.counts(3).unique, counter.counts(3).lost), (1, 7));
}

/// By hand: transits of 5, 6, 4 and 4 us.
#[test]
fn jitter_is_that_of_rfc_3550() {
    let mut counter = DatagramCounter::new(4);
    for (sequence, sent_ns, now_ns) in [(0, 0, 5000), (1, 1000, 7000), (2, 2000, 6000), (3, 3000, 7000)] {
        counter.handle(sequence, 100, sent_ns, now_ns);
    }
    let first: f64 = 1000.0 / 16.0;
    let second = first + (2000.0 - first) / 16.0;
    let third = second - second / 16.0;
    assert_eq!(counter.counts(4).jitter_ns, third as u64);
    assert_eq!(counter.counts(4).elapsed_ns, 2000);
}

/// The same stream by clocks that began elsewhere.
#[test]
fn no_clock_is_compared_with_another() {
    let stream = |begins_ns: u64, sent_begins_ns: u64| {
        let mut counter = DatagramCounter::new(50);
        for sequence in (0..50).filter(|sequence| sequence % 7 != 0) {
            let late_ns = sequence * sequence % 13;
            counter.handle(sequence, 9, sent_begins_ns + sequence * 20, begins_ns + sequence * 20 + late_ns);
        }
        counter.counts(50)
    };
    assert_eq!(stream(0, 0), stream(1 << 50, 77));
    assert_eq!(stream(0, 0), stream(3, 1 << 50));
}

#[test]
fn gaps_of_losses_by_hand() {
    let of = |lost: &[u64]| LossGaps::from_lost(lost.iter().copied());
    assert_eq!(of(&[]), LossGaps::default());
    assert_eq!(of(&[5]), LossGaps::default());
    let periodic = LossGaps { gaps: 3, mean_thousandths: 10_000, variation_thousandths: 0, longest: 10 };
    assert_eq!(of(&[7, 17, 27, 37]), periodic);
    // 1, 3: mean 2, deviation the root of 2.
    let uneven = LossGaps { gaps: 2, mean_thousandths: 2000, variation_thousandths: 707, longest: 3 };
    assert_eq!(of(&[0, 1, 4]), uneven);
}

#[test]
fn what_no_server_grants_is_told() {
    let good = DatagramRequest {
        wanted: DatagramUse::Count,
        datagrams: 1,
        payload_bytes: DATAGRAM_HEAD_BYTES as u32,
        bytes_per_second: 0,
        lasts_ns: DATAGRAMS_LAST_MAX_NS,
    };
    assert_eq!(good.wrong(), None);
    for (request, words) in [
        (DatagramRequest { payload_bytes: 31, ..good }, "32 to 65507 bytes, not 31"),
        (DatagramRequest { payload_bytes: 65_508, ..good }, "not 65508"),
        (DatagramRequest { datagrams: 0, ..good }, "not 0"),
        (DatagramRequest { datagrams: DATAGRAMS_MAX + 1, ..good }, "1 to 67108864 datagrams"),
        (DatagramRequest { lasts_ns: DATAGRAMS_LAST_MAX_NS + 1, ..good }, "at most 60 s"),
    ] {
        let wrong = request.wrong().expect("nobody grants it");
        assert!(wrong.contains(words), "{wrong}");
    }
}
