//! The way to a figure in a row: names with dots, `[0]` for an item of a list, `[-1]` for the last one, `[*]` for each and
//! `[1:]` for each but the first.
//!
//! Must not know: which rows there are.

use serde_json::Value;

use super::OneOfMany;
use crate::judge::stats::{mean, median};

/// A step of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FieldStep {
    Name(String),
    /// From the end if it is negative.
    Item(i64),
    /// Each from this one on.
    From(usize),
}

/// A way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath {
    steps: Vec<FieldStep>,
}

impl FieldPath {
    /// Reads one.
    ///
    /// Errors: what is wrong, in words.
    pub fn parse(text: &str) -> Result<FieldPath, String> {
        let wrong =
            || format!("'{text}' is no field; write names with dots, as in achieved.frames[0].median_us");
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (name, items) =
                part.split_once('[').map_or((part, None), |(name, items)| (name, Some(items)));
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(wrong());
            }
            steps.push(FieldStep::Name(name.into()));
            let Some(items) = items else { continue };
            let items = items.strip_suffix(']').ok_or_else(wrong)?;
            for item in items.split("][") {
                steps.push(step_of_item(item).ok_or_else(wrong)?);
            }
        }
        Ok(FieldPath { steps })
    }

    /// The value in a row; of several that which is asked for, the outermost list first.
    pub fn value(&self, row: &Value, of: &[OneOfMany]) -> Option<f64> {
        value_behind(row, &self.steps, of)
    }
}

impl FieldPath {
    /// Each value of the lists on the way, in their order; `None` in the place of one that is none.
    pub fn each(&self, row: &Value) -> Vec<Option<f64>> {
        let mut found = Vec::new();
        walk(row, &self.steps, &mut |value| found.push(value.as_f64().filter(|number| number.is_finite())));
        found
    }

    /// Whether there is a list on the way.
    pub fn is_list(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, FieldStep::From(_)))
    }

    /// The value at the end of the way: of a list the first item.
    pub fn part<'row>(&self, row: &'row Value) -> Option<&'row Value> {
        let mut found = None;
        walk(row, &self.steps, &mut |value| {
            found.get_or_insert(value);
        });
        found
    }
}

/// Goes the way to its end, once for each item of the lists on it. A way that ends early ends at null.
fn walk<'row>(value: &'row Value, steps: &[FieldStep], seen: &mut impl FnMut(&'row Value)) {
    const NOTHING: &Value = &Value::Null;
    let Some((step, rest)) = steps.split_first() else { return seen(value) };
    match step {
        FieldStep::Name(name) => walk(value.get(name).unwrap_or(NOTHING), rest, seen),
        FieldStep::Item(at) => walk(item_at(value, *at).unwrap_or(NOTHING), rest, seen),
        FieldStep::From(first) => {
            value.as_array().into_iter().flatten().skip(*first).for_each(|item| walk(item, rest, seen));
        }
    }
}

fn item_at(value: &Value, at: i64) -> Option<&Value> {
    let items = value.as_array()?;
    let at = if at < 0 { items.len().checked_sub(at.unsigned_abs() as usize)? } else { at as usize };
    items.get(at)
}

fn step_of_item(item: &str) -> Option<FieldStep> {
    match item.strip_suffix(':') {
        Some(first) => first.parse().ok().map(FieldStep::From),
        None if item == "*" => Some(FieldStep::From(0)),
        None => item.parse().ok().map(FieldStep::Item),
    }
}

fn value_behind(value: &Value, steps: &[FieldStep], of: &[OneOfMany]) -> Option<f64> {
    let Some((step, rest)) = steps.split_first() else {
        return value.as_f64().filter(|number| number.is_finite());
    };
    match step {
        FieldStep::Name(name) => value_behind(value.get(name)?, rest, of),
        FieldStep::Item(at) => value_behind(item_at(value, *at)?, rest, of),
        FieldStep::From(first) => {
            let (one, inner) =
                of.split_first().map_or((OneOfMany::default(), of), |(one, inner)| (*one, inner));
            let items = value.as_array()?.iter().skip(*first);
            let values: Vec<f64> = items.filter_map(|item| value_behind(item, rest, inner)).collect();
            one.value(&values)
        }
    }
}

impl OneOfMany {
    fn value(self, values: &[f64]) -> Option<f64> {
        match self {
            OneOfMany::Median => median(values),
            OneOfMany::Mean => mean(values),
            OneOfMany::Sum => (!values.is_empty()).then(|| values.iter().sum()),
            OneOfMany::Least => values.iter().copied().reduce(f64::min),
            OneOfMany::Greatest => values.iter().copied().reduce(f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OneOfMany::{Greatest, Least, Mean, Sum};
    use serde_json::json;

    #[test]
    fn a_value_is_found_behind_names_and_in_lists() {
        let row = json!({
            "elapsed_ns": 7, "none": null, "word": "x",
            "achieved": {
                "frames": [{"us": 3.0}, {"us": null}, {"us": 5.0}, {"us": 10.0}],
                "by_region": [[1.0, 2.0], [3.0, 5.0], []],
            },
        });
        for (path, of, value) in [
            ("elapsed_ns", &[][..], Some(7.0)),
            ("none", &[], None),
            ("word", &[], None),
            ("achieved", &[], None),
            ("achieved.frames", &[], None),
            ("achieved.lost", &[], None),
            ("achieved.frames[0].us", &[], Some(3.0)),
            ("achieved.frames[-1].us", &[], Some(10.0)),
            ("achieved.frames[-5].us", &[], None),
            ("achieved.frames[4].us", &[], None),
            ("achieved.frames[*].us", &[], Some(5.0)),
            ("achieved.frames[1:].us", &[Mean], Some(7.5)),
            ("achieved.frames[*].us", &[Least], Some(3.0)),
            ("achieved.frames[*].us", &[Greatest], Some(10.0)),
            ("achieved.frames[9:].us", &[Sum], None),
            ("achieved.by_region[*][*]", &[Mean, Sum], Some(5.5)),
            ("achieved.by_region[1][*]", &[Sum], Some(8.0)),
        ] {
            assert_eq!(FieldPath::parse(path).expect(path).value(&row, of), value, "{path} {of:?}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in
            ["", ".", "a.", "a..b", "a[", "a[]", "a[x]", "a[0", "a[0]b", "[0]", "a b", "a[:1]", "a[-1:]", "ä"]
        {
            assert!(FieldPath::parse(text).is_err(), "{text:?}");
        }
    }
}
