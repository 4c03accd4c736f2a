//! Why a text is not YAML, and what to do about it.
//!
//! The parser has some ninety kinds of error; most of them come from a few mistakes found at different positions.

use granit_parser::ErrorKind;

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyntaxError {
    /// A tab in the indentation.
    Tab,
    /// A quote that is never closed, or closed much later.
    UnclosedQuote,
    /// A bracket that is never closed.
    UnclosedBracket,
    /// A bracket closed by one of the other kind, or one that was never opened.
    StrayBracket,
    /// A list or mapping in brackets without a comma.
    MissingComma,
    /// `a: b: c`, or a key that is indented wrongly.
    NestedColon,
    /// A line that does not continue any open block.
    Indentation,
    /// A line in a mapping that is not `key: value`.
    KeyExpected,
    /// A `-` where no list can begin.
    StrayDash,
    /// A plain string that begins with a character that YAML reserves.
    Reserved(char),
    /// A character that must not be in a manifest unescaped.
    Control(char),
    /// A byte order mark in the middle.
    ByteOrderMark,
    /// A `\` in double quotes followed by something unknown.
    Escape,
    /// Something after a closing quote.
    BehindQuote,
    /// Something after a complete value.
    BehindDocument,
    /// A `#` without a space before it.
    Comment,
    /// Every other error, in the parser's words.
    Other(String),
}

impl SyntaxError {
    /// The problem: a clause without a full stop.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Tab => "YAML allows only spaces here, not a tab".into(),
            Self::UnclosedQuote => "a quoted string is not closed, or continues with less indentation".into(),
            Self::UnclosedBracket => "a bracket is not closed before this place".into(),
            Self::StrayBracket => "this bracket does not match an open one".into(),
            Self::MissingComma => "a comma or a closing bracket is missing before this place".into(),
            Self::NestedColon => {
                "this is a second `: ` on one line, or a key at the wrong indentation".into()
            }
            Self::Indentation => "the indentation matches no line above".into(),
            Self::KeyExpected => "a `key: value` is expected here".into(),
            Self::StrayDash => "a list item cannot be here".into(),
            Self::Reserved(first) => format!("an unquoted string cannot begin with `{first}`"),
            Self::Control(character) => {
                format!(
                    "the character U+{:04X} is not allowed in a manifest",
                    u32::from(*character)
                )
            }
            Self::ByteOrderMark => {
                "a byte order mark is inside the document, as if two files were joined".into()
            }
            Self::Escape => "this escape in double quotes is unknown".into(),
            Self::BehindQuote => "there is something after the closing quote".into(),
            Self::BehindDocument => "the document ends above".into(),
            Self::Comment => "a comment needs a space before `#`".into(),
            Self::Other(error) => error.clone(),
        }
    }

    /// What to do about it: an imperative.
    pub(crate) const fn help(&self) -> Option<&'static str> {
        match self {
            Self::Tab => Some("indent with spaces"),
            Self::UnclosedQuote => Some("look for a missing quote above"),
            Self::NestedColon => Some("quote a string that contains `: `"),
            Self::KeyExpected => Some("look for a missing `:` or a wrong indentation"),
            Self::StrayDash => Some("check the indentation of `-`"),
            Self::Reserved(_) => Some("quote it"),
            Self::ByteOrderMark => Some("put `---` between the files"),
            Self::Escape => Some("write `\\\\` for a backslash, or use single quotes"),
            Self::BehindQuote => Some("quote the whole string, or put a comma or `:` between"),
            Self::BehindDocument => Some("begin another one with `---`"),
            Self::Comment => Some("quote the string if `#` belongs to it"),
            Self::UnclosedBracket
            | Self::StrayBracket
            | Self::MissingComma
            | Self::Indentation
            | Self::Control(_)
            | Self::Other(_) => None,
        }
    }

    pub(crate) fn from_kind(kind: &ErrorKind) -> Self {
        use ErrorKind as K;
        match kind {
            K::TabNotAllowed
            | K::TabInBlockIndentation
            | K::TabInIndentation
            | K::TabAtBlockScalarStart
            | K::TabInPlainScalar => Self::Tab,
            K::UnclosedQuotedScalar | K::InvalidQuotedScalarIndent | K::DocumentIndicatorInQuotedScalar => {
                Self::UnclosedQuote
            }
            K::UnclosedFlowCollection { .. }
            | K::UnexpectedEofFlowSequence
            | K::UnexpectedEofFlowMapping
            | K::UnexpectedEofImplicitFlowMapping
            | K::InvalidColonPlacement
            | K::InvalidFlowScalarIndent
            | K::BlockEntryInFlowCollection => Self::UnclosedBracket,
            K::MisplacedFlowCollectionEnd | K::MismatchedFlowCollectionEnd { .. } => Self::StrayBracket,
            K::ExpectedFlowMappingSeparator | K::ExpectedFlowSequenceSeparator => Self::MissingComma,
            K::MappingValueNotAllowed | K::MappingKeyNotAllowed => Self::NestedColon,
            K::InvalidIndentation | K::InvalidBlockScalarIndent => Self::Indentation,
            K::ExpectedBlockMappingKey
            | K::SimpleKeyExpected
            | K::InvalidSimpleKey
            | K::ExpectedBlockSequenceEntry => Self::KeyExpected,
            K::BlockSequenceEntryNotAllowed | K::InvalidBlockEntryWhitespace => Self::StrayDash,
            K::UnexpectedCharacter { character } if is_indicator(*character) => Self::Reserved(*character),
            K::UnexpectedCharacter { character } => Self::Control(*character),
            K::BomInsideDocument => Self::ByteOrderMark,
            K::UnknownQuotedScalarEscape | K::InvalidQuotedScalarHexEscape => Self::Escape,
            K::InvalidTrailingSingleQuotedScalar | K::InvalidTrailingDoubleQuotedScalar => Self::BehindQuote,
            K::ExpectedDocumentStart | K::InvalidDocumentEnd => Self::BehindDocument,
            K::CommentNotSeparated | K::CommentInterceptedScalar => Self::Comment,
            other => Self::Other(other.to_string()),
        }
    }
}

fn is_indicator(character: char) -> bool {
    character.is_ascii_graphic()
}
