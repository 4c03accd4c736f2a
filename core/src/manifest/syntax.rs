//! Why a text is not YAML, worded so that the suggestion follows from it.
//!
//! The parser has some ninety kinds of error; most of them come from a few mistakes found at different positions.

use granit_parser::ErrorKind;

/// A syntax error. Each reads as a clause without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A tab in the indentation.
    #[error("there is a tab where YAML allows only spaces: indent with spaces")]
    Tab,
    /// A quote that is never closed, or closed much later.
    #[error(
        "a quoted text is not closed, or continues with less indentation: look for a missing quote above"
    )]
    UnclosedQuote,
    /// A bracket that is never closed.
    #[error("a bracket is not closed before this place")]
    UnclosedBracket,
    /// A bracket closed by one of the other kind, or one that was never opened.
    #[error("this bracket does not match an open one")]
    StrayBracket,
    /// A list or mapping in brackets without a comma.
    #[error("a comma or a closing bracket is missing before this place")]
    MissingComma,
    /// `a: b: c`, or a key that is indented wrongly.
    #[error("a second `: ` on one line, or a key at the wrong indentation: quote a text that contains `: `")]
    NestedColon,
    /// A line that does not continue any open block.
    #[error("the indentation matches no line above")]
    Indentation,
    /// A line in a mapping that is not `key: value`.
    #[error("a `key: value` is expected here: look for a missing `:` or a wrong indentation")]
    KeyExpected,
    /// A `-` where no list can begin.
    #[error("a list item cannot be here: check the indentation of `-`")]
    StrayDash,
    /// A plain text that begins with a character that YAML reserves.
    #[error("a text cannot begin with `{0}`: quote it")]
    Reserved(char),
    /// A character that must not be in a manifest unescaped.
    #[error("the character U+{:04X} is not allowed in a manifest", u32::from(*.0))]
    Control(char),
    /// A byte order mark in the middle.
    #[error("a byte order mark is inside the document: two files were joined here; put `---` between them")]
    ByteOrderMark,
    /// A `\` in double quotes followed by something unknown.
    #[error("unknown escape in double quotes: write `\\\\` for a backslash, or use single quotes")]
    Escape,
    /// Something after a closing quote.
    #[error(
        "there is something after the closing quote: quote the whole text, or put a comma or `:` between"
    )]
    BehindQuote,
    /// Something after a complete value.
    #[error("the document ends above; another one begins with `---`")]
    BehindDocument,
    /// A `#` without a space before it.
    #[error("a comment needs a space before `#`: quote the text if `#` belongs to it")]
    Comment,
    /// Every other error, in the parser's words.
    #[error("{0}")]
    Other(String),
}

impl SyntaxError {
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
