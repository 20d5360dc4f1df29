//! Long lines made short: of each part of the axis the least and the largest value stay.
//!
//! Must not know: what the values are, how they are drawn.

use std::collections::BTreeMap;

/// The lines over one ascending axis. Where that would be more values than `most`, the time is parted, and of each
/// part the least and the largest value of each line are kept.
pub(in crate::report) fn joined(lines: &[Vec<(u64, f64)>], most: usize) -> (Vec<u64>, Vec<Vec<Option<f64>>>) {
    let mut times: Vec<u64> = lines.iter().flatten().map(|(time, _)| *time).collect();
    times.sort_unstable();
    times.dedup();
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Default::default() };
    if times.len() * lines.len() <= most {
        let whole = lines.iter().map(|line| {
            let line: BTreeMap<u64, f64> = line.iter().copied().collect();
            times.iter().map(|time| line.get(time).copied()).collect()
        });
        let whole = whole.collect();
        return (times, whole);
    }
    let parts = (most / lines.len() / 2).max(1) as u64;
    let width = ((last - first) / parts + 1).max(2);
    let parts = (last - first) / width + 1;
    let places = (0..parts * 2).map(|half| first + half * width / 2).collect();
    (places, lines.iter().map(|line| thinned(line, first, width, parts as usize)).collect())
}

/// Two values for each part: the least and the largest, the one that comes first in front.
fn thinned(line: &[(u64, f64)], first: u64, width: u64, parts: usize) -> Vec<Option<f64>> {
    let mut ends: Vec<Option<[(u64, f64); 2]>> = vec![None; parts];
    for &point in line {
        let part = &mut ends[((point.0 - first) / width) as usize];
        let [least, largest] = part.get_or_insert([point, point]);
        if point.1 < least.1 {
            *least = point;
        }
        if point.1 > largest.1 {
            *largest = point;
        }
    }
    let two = |part: Option<[(u64, f64); 2]>| match part {
        Some([least, largest]) if least.0 <= largest.0 => [Some(least.1), Some(largest.1)],
        Some([least, largest]) => [Some(largest.1), Some(least.1)],
        None => [None, None],
    };
    ends.into_iter().flat_map(two).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_are_joined_with_gaps() {
        let (times, values) = joined(&[vec![(1, 10.0), (5, 11.0)], vec![(3, 7.0)]], 100);
        assert_eq!(times, [1, 3, 5]);
        assert_eq!(values, [[Some(10.0), None, Some(11.0)], [None, Some(7.0), None]]);
        assert_eq!(joined(&[], 10), (vec![], vec![]));
    }

    #[test]
    fn long_lines_keep_their_ends_and_are_no_longer_than_the_limit() {
        for (count, lines, most) in [(10_000_u64, 1, 1000), (5000, 7, 900), (300, 2, 10), (2000, 3, 1)] {
            let line: Vec<(u64, f64)> = (0..count).map(|at| (at * 17, (at % 97) as f64)).collect();
            let spike = [(count * 5 + 1, 1e6), (count * 5 + 2, -1e6)];
            let mut line = [&line[..], &spike].concat();
            line.sort_by_key(|point| point.0);
            let (times, values) = joined(&vec![line; lines], most);
            assert!(times.is_sorted_by(|one, other| one < other), "{count}: ascending");
            assert!(times.len() * lines <= most.max(2 * lines), "{count}: {}", times.len());
            for values in values {
                assert_eq!(values.len(), times.len());
                let seen: Vec<f64> = values.into_iter().flatten().collect();
                assert!(seen.contains(&1e6) && seen.contains(&-1e6), "{count}: the spike is lost");
            }
        }
    }
}
