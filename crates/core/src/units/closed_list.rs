//! Closed lists of words: an enum whose variants are known by one text each, written once; and choices that people
//! write as words, which are read in one place.
//!
//! Must not know: what the words lead to, flags, studies.

/// Defines an enum from a table of variants and their words: `ALL`, `words`, `named`, `Display`, `Serialize` and
/// `JsonSchema`.
#[macro_export]
macro_rules! closed_list {
    ($(#[$about:meta])* $list:ident { $($name:ident $words:literal)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $list {
            $(
                #[doc = concat!("`", $words, "`")]
                $name,
            )*
        }

        impl $list {
            /// All of them.
            pub const ALL: &[$list] = &[$($list::$name),*];

            /// The words of messages, of `--json`, and of the protocol between hosts.
            pub fn words(self) -> &'static str {
                match self {
                    $($list::$name => $words,)*
                }
            }

            /// The one of these words, if this version knows it.
            pub fn named(words: &str) -> Option<$list> {
                $list::ALL.iter().copied().find(|known| known.words() == words)
            }
        }

        impl std::fmt::Display for $list {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self.words())
            }
        }

        impl serde::Serialize for $list {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str(self.words())
            }
        }

        impl schemars::JsonSchema for $list {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($list).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "enum": $list::ALL })
            }
        }
    };
}

/// A choice among a few words.
pub trait InWords: Copy + PartialEq + 'static {
    /// What it is, as in `'x' is no engine`.
    const WHAT: &'static str;
    /// Each of them, its word, and what it means.
    const ALL: &'static [(Self, &'static str, &'static str)];

    /// Its word.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(choice, ..)| *choice == self).map_or("", |(_, word, _)| word)
    }

    /// The one of this word.
    ///
    /// Errors: there is none; in words for people, with those that there are.
    fn of_word(word: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(_, known, _)| *known == word);
        known.map(|(choice, ..)| *choice).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.iter().map(|(_, word, _)| *word).collect();
            let (last, others) = words.split_last().unwrap_or((&"", &[]));
            format!("'{word}' is no {}; write {} or {last}", Self::WHAT, others.join(", "))
        })
    }
}

/// Gives an enum its words: [`InWords`], `Display` and `FromStr`.
#[macro_export]
macro_rules! in_words {
    ($type:ident is $what:literal { $($name:ident $word:literal $means:literal)* }) => {
        impl $crate::InWords for $type {
            const WHAT: &'static str = $what;
            const ALL: &'static [($type, &'static str, &'static str)] =
                &[$(($type::$name, $word, $means)),*];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str($crate::InWords::word(*self))
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(word: &str) -> Result<$type, String> {
                $crate::InWords::of_word(word)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Colour {
        Red,
        Green,
        Blue,
    }

    in_words! {
        Colour is "colour" {
            Red "red" "As blood"
            Green "green" "As grass"
            Blue "blue" "As the sea"
        }
    }

    #[test]
    fn a_word_is_read_as_it_is_written_and_another_is_told_what_there_is() {
        for (colour, word) in [(Colour::Red, "red"), (Colour::Green, "green"), (Colour::Blue, "blue")] {
            assert_eq!((colour.to_string().as_str(), word.parse()), (word, Ok(colour)));
        }
        let wrong = "mauve".parse::<Colour>();
        assert_eq!(wrong, Err("'mauve' is no colour; write red, green or blue".into()));
    }
}
