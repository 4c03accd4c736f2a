//! Enumerations that are written as words.

/// Gives an enumeration its words: `VALUES`, `parse` and `as_str`.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// The words, in the order in which messages name them.
            pub const VALUES: &'static [&'static str] = &[$($word),+];

            /// The value of exactly this word.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The word as users write it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

pub(crate) use words;

/// The one of these words that a text is, ignoring case. For poolgate's own words; Karpenter's are exact.
pub(crate) fn in_any_case(text: &str, words: &'static [&'static str]) -> Option<&'static str> {
    words.iter().copied().find(|word| word.eq_ignore_ascii_case(text))
}
