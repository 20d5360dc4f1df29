//! Closed lists of words: an enum whose variants are known by one text each, written once.
//!
//! Must not know: what the words mean.

/// Defines an enum from a table of variants and their words: `ALL`, `words`, `named`, `Display` and `Serialize`.
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
    };
}
