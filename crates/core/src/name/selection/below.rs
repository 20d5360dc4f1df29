//! The names of a list that lie below some of its folders, for another host that is asked for them together, before the
//! walk comes to them.
//!
//! Must not know: how hosts are asked, what becomes of the answers.

use std::ffi::OsStr;
use std::path::Path;

use super::select::Select;

/// A step of a way through the names of a list, each folder before those in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListStep {
    /// A name in the folder that the way is in.
    Look(Vec<u8>),
    /// Into the folder of this name.
    Down(Vec<u8>),
    /// Back to the one above.
    Up,
}

/// Steps of one way: 2 MiB of answers. What lies behind them has its turn when the walk comes there.
const STEPS_MAX: usize = 4096;
/// Folders that a way leads into one in another.
const DEPTH_MAX: usize = 64;

impl Select {
    /// A way through the names of the list below these of a folder, in the order of a walk. Behind each name comes the
    /// one with this ending, if there is one.
    pub fn steps_below<'names>(
        &self,
        folder: &Path,
        names: impl DoubleEndedIterator<Item = &'names OsStr>,
        ending: Option<&[u8]>,
    ) -> Vec<ListStep> {
        let (Some(list), mut steps) = (&self.list, Vec::new()) else { return Vec::new() };
        // Where the way goes into, the last one first; nothing where it leads back.
        let mut next: Vec<Option<Vec<u8>>> = names
            .rev()
            .map(|name| Some(joined(folder.as_os_str().as_encoded_bytes(), name.as_encoded_bytes())))
            .collect();
        let mut depth = 0;
        while steps.len() < STEPS_MAX
            && let Some(path) = next.pop()
        {
            let Some(path) = path else {
                depth -= 1;
                steps.push(ListStep::Up);
                continue;
            };
            let Some(below) = list.names.get(&path).filter(|_| depth < DEPTH_MAX) else { continue };
            depth += 1;
            steps.push(ListStep::Down(name_of(&path)));
            next.push(None);
            let mut folders = Vec::new();
            for name in below {
                if steps.len() >= STEPS_MAX {
                    return steps;
                }
                steps.push(look_at(name, b""));
                // A folder may come in the place of a file, too.
                steps.extend(ending.map(|ending| look_at(name, ending)));
                let path = joined(&path, name);
                if list.names.contains_key(&path) {
                    folders.push(Some(path));
                }
            }
            next.extend(folders.into_iter().rev());
        }
        steps
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

fn name_of(path: &[u8]) -> Vec<u8> {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec()
}

fn look_at(name: &[u8], ending: &[u8]) -> ListStep {
    ListStep::Look([name, ending].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Selection;

    fn steps(list: &str, names: &[&str], ending: Option<&[u8]>) -> String {
        let select = Select::new(&[Selection::Names(list.into(), false)]).expect("a list");
        let names = names.iter().map(OsStr::new);
        let words = select.steps_below(Path::new(""), names, ending).into_iter().map(|step| match step {
            ListStep::Look(name) => String::from_utf8(name).expect("text"),
            ListStep::Down(name) => format!("{}(", String::from_utf8(name).expect("text")),
            ListStep::Up => ")".into(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_way_leads_through_all_names_below_in_the_order_of_a_walk() {
        for (list, names, expected) in [
            ("a\nb\n", &["a", "b"][..], ""),
            ("a/x\na/y\nb/z\nc\n", &["a", "b", "c"], "a( x y ) b( z )"),
            ("a/x\nb/z\n", &["b"], "b( z )"),
            ("a/b/c\na/b/d/e\na/f\n", &["a"], "a( b f b( c d d( e ) ) )"),
            // What comes with all that lies in it is listed, and not looked at.
            ("a/\nb/c/\n", &["a", "b"], "b( c )"),
        ] {
            assert_eq!(steps(list, names, None), expected, "{list:?}");
        }
        assert_eq!(steps("a/b/c\na/d\n", &["a"], Some(b"~")), "a( b b~ d d~ b( c c~ ) )");
    }

    #[test]
    fn a_way_is_bounded_in_length_and_depth() {
        let wide: String = (0..9000).map(|name| format!("a/{name}\n")).collect();
        assert_eq!(steps(&wide, &["a"], None).split(' ').count(), STEPS_MAX);
        let deep = "d/".repeat(3 * DEPTH_MAX) + "file";
        let steps = steps(&deep, &["d"], None);
        assert_eq!(steps.matches('(').count(), DEPTH_MAX, "{steps}");
    }
}
