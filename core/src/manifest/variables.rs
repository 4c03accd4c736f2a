//! Variables in a manifest that another program fills in: `$NAME`, `${NAME}`, `${NAME:=default}`, `${NAME:-default}`, as
//! in Flux and envsubst, which poolgate can fill in, too; and the placeholders of other programs, `{{ … }}`, `$(NAME)`,
//! `__NAME__`, `@@NAME@@` and `%NAME%`, whose values are never known.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// How a variable in braces begins.
const MARK: &str = "${";

/// How any variable begins.
const SIGN: char = '$';

/// Keys of strategic merge patches, which look like variables.
const DIRECTIVES: [&str; 4] = [
    "deleteFromPrimitiveList",
    "patch",
    "retainKeys",
    "setElementOrder",
];

/// How many levels deep defaults of variables may contain variables.
const DEEPEST: usize = 8;

/// The longest text that filling in may produce, in bytes: a scalar, not a document.
const LONGEST: usize = 1 << 16;

/// The values of variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(HashMap<String, String>);

/// A line that sets no variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: write NAME=VALUE")]
pub struct NoVariable {
    /// The number of the line, from 1.
    pub line: usize,
}

/// The result of filling in variables.
#[derive(Debug, PartialEq, Eq)]
pub enum Filled {
    /// The text with all variables filled in.
    Text(String),
    /// The value is not known.
    Unknown,
}

impl Variables {
    /// Reads a file with a variable on each line, `NAME=VALUE`; later lines win. Empty lines and those that begin
    /// with `#` are skipped, and quotes around a value are removed, as in a shell.
    pub fn add_lines(&mut self, text: &str) -> Result<(), NoVariable> {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = line.strip_prefix("export ").unwrap_or(line);
            let (name, value) = line
                .split_once('=')
                .filter(|(name, _)| !name.is_empty() && name_of(name) == (*name, ""))
                .ok_or(NoVariable { line: index + 1 })?;
            self.0.insert(name.to_owned(), unquoted(value).to_owned());
        }
        Ok(())
    }

    /// Adds other variables, which win.
    pub fn extend(&mut self, others: &Self) {
        let others = others.0.iter();
        self.0
            .extend(others.map(|(name, value)| (name.clone(), value.clone())));
    }

    /// The text with its variables filled in; `None` if it contains no variable.
    pub(crate) fn fill(&self, text: &str) -> Option<Filled> {
        has_variable(text).then(|| match self.filled(text, DEEPEST) {
            Some(filled) if filled.len() <= LONGEST && placeholder(&filled).is_none() => {
                Filled::Text(filled.into_owned())
            }
            _ => Filled::Unknown,
        })
    }

    /// Calls itself only for a default inside a default, at most [`DEEPEST`] levels.
    fn filled<'a>(&self, text: &'a str, depth: usize) -> Option<Cow<'a, str>> {
        let (mut filled, mut behind) = (String::new(), 0);
        for variable in outermost(text) {
            let value = self.value_of(text.get(variable.inner)?, depth.checked_sub(1)?)?;
            filled.push_str(text.get(behind..variable.whole.start)?);
            filled.push_str(&value);
            // Defaults grow with every level: stop beyond the longest text.
            if filled.len() > LONGEST {
                return None;
            }
            behind = variable.whole.end;
        }
        if behind == 0 {
            return Some(text.into());
        }
        filled.push_str(text.get(behind..)?);
        (filled.len() <= LONGEST).then(|| filled.into())
    }

    /// The value of the text between the braces of a variable; `None` if that is not known.
    fn value_of<'a>(&'a self, inner: &'a str, depth: usize) -> Option<Cow<'a, str>> {
        let (name, rest) = name_of(inner);
        let value = self.0.get(name).filter(|_| !name.is_empty());
        let default =
            |operators: [&str; 2]| operators.iter().find_map(|operator| rest.strip_prefix(operator));
        let or = |value: Option<&'a String>, default: &'a str| {
            let value = value.map(Cow::from);
            value.or_else(|| self.filled(default, depth))
        };
        if name.is_empty() {
            None
        } else if rest.is_empty() {
            value.map(Cow::from)
        } else if let Some(default) = default([":=", ":-"]) {
            or(value.filter(|value| !value.is_empty()), default)
        } else {
            or(value, default(["=", "-"])?)
        }
    }
}

/// Whether a scalar of a manifest may contain a variable: as written, or by an escape.
pub fn may_have_variable(manifest: &str) -> bool {
    manifest.contains(SIGN)
        || ["\\", "{{", "__", "@@", "%"]
            .iter()
            .any(|mark| manifest.contains(mark))
}

/// Whether a text contains a variable.
pub fn has_variable(text: &str) -> bool {
    outermost(text).next().is_some() || placeholder(text).is_some()
}

/// Whether a variable, as it is written, is one whose value can be given.
pub fn can_be_given(variable: &str) -> bool {
    variable
        .strip_prefix(MARK)
        .or_else(|| variable.strip_prefix(SIGN))
        .map(name_of)
        .is_some_and(|(name, rest)| {
            !name.is_empty() && (rest.is_empty() || rest.starts_with(['}', ':', '=', '-']))
        })
}

/// The variables of a text as they are written, braces included: those whose value can be given first.
pub fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    let mut behind_placeholder = text;
    let variables = outermost(text).filter_map(move |variable| text.get(variable.whole));
    let placeholders = std::iter::from_fn(move || {
        let found = placeholder(behind_placeholder)?;
        let written = behind_placeholder.get(found.clone());
        behind_placeholder = behind_placeholder.get(found.end..)?;
        written
    });
    variables.chain(placeholders)
}

/// Where the first placeholder of a program other than envsubst is.
pub fn placeholder(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let find = |start: usize| {
        let (open, close, is_part): (&str, &str, fn(&u8) -> bool) = match bytes.get(start..)? {
            [b'{', b'{', ..] => ("{{", "}}", |byte| !matches!(byte, b'{' | b'}' | b'\n')),
            [b'$', b'(', ..] => ("$(", ")", |byte| {
                byte.is_ascii_alphanumeric() || b"-.".contains(byte)
            }),
            [b'_', b'_', ..] => ("__", "__", |byte| {
                byte.is_ascii_uppercase() || byte.is_ascii_digit()
            }),
            [b'@', b'@', ..] => ("@@", "@@", |byte| {
                byte.is_ascii_alphanumeric() || b"_-.".contains(byte)
            }),
            [b'%', ..] => ("%", "%", |byte| {
                byte.is_ascii_uppercase() || byte.is_ascii_digit()
            }),
            _ => return None,
        };
        // Words of such a name are joined by single underscores.
        let inner = bytes.get(start + open.len()..)?;
        let is_inside = |at: usize| {
            let byte = inner.get(at);
            let joins = byte == Some(&b'_') && inner.get(at + 1).is_some_and(is_part) && at > 0;
            byte.is_some_and(is_part) || joins
        };
        let length = (0..inner.len()).find(|at| !is_inside(*at)).unwrap_or(inner.len());
        let end = start + open.len() + length;
        let is_word = inner.first().is_some_and(|first| !first.is_ascii_digit()) && length > 0;
        (is_word && text.get(end..)?.starts_with(close)).then_some(start..end + close.len())
    };
    (0..bytes.len()).find_map(find)
}

/// The positions of a variable: of all of it, and of what is between its braces or behind its sign.
#[derive(Debug)]
struct Variable {
    whole: Range<usize>,
    inner: Range<usize>,
}

/// Each variable that is not part of another one. `$$` does not begin one: it means `$`. Walks the text once, however many
/// variables are open.
fn outermost(text: &str) -> impl Iterator<Item = Variable> {
    let mut behind = 0;
    closed(text).into_iter().filter_map(move |variable| {
        let variable = variable.filter(|variable| variable.whole.start >= behind)?;
        behind = variable.whole.end;
        Some(variable)
    })
}

/// Each variable in the order in which they begin; `None` for one that is empty, escaped, or not closed on its line.
fn closed(text: &str) -> Vec<Option<Variable>> {
    let mut found = Vec::new();
    // Nearly all texts have none, and a single byte is found fastest.
    let Some(first) = text.find(SIGN) else {
        return found;
    };
    let (mut open, mut before) = (Vec::new(), [b' '; 2]);
    for (at, byte) in text.bytes().enumerate().skip(first) {
        match byte {
            b'{' if before[1] == b'$' => {
                open.push((found.len(), at, before[0] == b'$'));
                found.push(None);
            }
            b'}' => {
                if let Some((index, brace, is_escaped)) = open.pop()
                    && let Some(variable) = found.get_mut(index)
                {
                    let inner = brace + 1..at;
                    *variable = (!inner.is_empty() && !is_escaped).then_some(Variable {
                        whole: brace - 1..at + 1,
                        inner,
                    });
                }
            }
            b'\n' => open.clear(),
            b'$' if before[1] != b'$' => {
                let inner = at + 1..at + 1 + plain_name(text.get(at + 1..).unwrap_or_default()).len();
                found.extend((!inner.is_empty()).then_some(Some(Variable {
                    whole: at..inner.end,
                    inner,
                })));
            }
            _ => {}
        }
        before = [before[1], byte];
    }
    found
}

/// The name of a variable without braces, which begins behind its sign.
fn plain_name(text: &str) -> &str {
    let (name, _) = name_of(text);
    if DIRECTIVES.contains(&name) { "" } else { name }
}

/// The position of the brace that closes a variable, skipping nested ones.
pub fn end_of(inner: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut last = ' ';
    for (at, character) in inner.char_indices() {
        match character {
            '{' if last == '$' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            '\n' => return None,
            _ => {}
        }
        last = character;
    }
    None
}

/// The name at the beginning of a text, and the rest.
fn name_of(text: &str) -> (&str, &str) {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    match text.split_at_checked(end) {
        Some((name, rest)) if !name.starts_with(|first: char| first.is_ascii_digit()) => (name, rest),
        _ => ("", text),
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Document, Limits, parse_with};
    use super::*;
    use crate::test_cost::assert_in_proportion;

    fn variables() -> Variables {
        let mut variables = Variables::default();
        let text = "# ours\n\nA=1\nexport B=\"x y\"\r\nEMPTY=\nA=2\n";
        variables.add_lines(text).expect("variables");
        variables
    }

    fn filled(text: &str) -> Option<String> {
        match variables().fill(text)? {
            Filled::Text(text) => Some(text),
            Filled::Unknown => Some("?".into()),
        }
    }

    #[test]
    fn variables_and_defaults_are_filled_in() {
        for (text, expected) in [
            ("${A}", "2"),
            ("a-${A}-${B}", "a-2-x y"),
            ("$A", "2"),
            ("a-$A-$B.$$A", "a-2-x y.$$A"),
            ("$CLUSTER_NAME", "?"),
            ("$(CLUSTER_NAME)", "?"),
            ("${A:=7}", "2"),
            ("${C:=7}", "7"),
            ("${C:-}", ""),
            ("${EMPTY:-7}", "7"),
            ("${EMPTY=7}", ""),
            ("${C-${A}}", "2"),
            ("${C:=${D:=[\"a\"]}}", "[\"a\"]"),
            ("${C}", "?"),
            ("${C:=${D}}", "?"),
            ("${A:0:1}", "?"),
            ("${var.name}", "?"),
            ("${A} ${C}", "?"),
            ("${A}-__ZONE__", "?"),
            ("{{ .Values.zone }}", "?"),
            ("a-__CLUSTER_NAME__-b", "?"),
            ("@@zone.a@@", "?"),
            ("%ZONE%", "?"),
        ] {
            assert_eq!(filled(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "$$A",
            "$5",
            "$patch",
            "$setElementOrder/budgets",
            "$",
            "a$",
            "$-A",
            "$(date +%s)",
            "$${A}",
            "${}",
            "${A",
            "${A\n}",
            "{A}",
            "5",
            "10%",
            "5% to 10%",
            "__init__",
            "__A",
            "____",
            "{{}}",
            "{{ a",
            "@@",
            "@@ a @@",
            "%1%",
        ] {
            assert_eq!(filled(text), None, "{text}");
        }
        assert_eq!(filled(&"${C:=".repeat(1000)), None);
        let deep = format!("{}x{}", "${C:=".repeat(1000), "}".repeat(1000));
        assert_eq!(filled(&deep).as_deref(), Some("?"));
    }

    #[test]
    fn any_number_of_variables_in_a_row_is_filled_in() {
        let many = |piece: &str| piece.repeat(50_000);
        for (text, expected) in [
            (many("${A:=}"), "2".repeat(50_000)),
            (many("${C:=}"), String::new()),
            (many("${C:=${D:=}}"), String::new()),
            (format!("${{C:={}}}", many("${D:=}")), String::new()),
            (many("${C:=}") + "${A}", "2".into()),
            (many("${C:=}") + "${D}", "?".into()),
            (many("x${C:=y}"), "?".into()),
        ] {
            let beginning: String = text.chars().take(20).collect();
            assert_eq!(filled(&text), Some(expected), "{beginning}");
        }
    }

    #[test]
    fn variables_are_found_in_one_walk_however_many_are_open() {
        for piece in [
            "${", "${A:=", "$${", "${}", "${A}", "${C:=}", "${A:=${", "}", "{{", "__A", "%A",
        ] {
            let text = |size: usize| piece.repeat(size / piece.len());
            assert_in_proportion(1 << 18, text, |text| {
                let _ = variables().fill(text);
                assert!(variables_in(text).count() <= text.len());
            });
        }
    }

    #[test]
    fn a_variable_that_is_written_with_an_escape_is_filled_in() {
        for text in ["'${A}'", "\"\\x24{A}\"", "\"$\\\n  {A}\""] {
            let variables = variables();
            let mut documents = parse_with(text, &Limits::default(), &variables);
            let value = documents.next().map(Document::into_value);
            assert_eq!(value, Some(json!("2")), "{text}");
        }
    }

    #[test]
    fn variables_are_named_as_they_are_written() {
        let names: Vec<&str> = variables_in("a ${A}-${B:=${C}} %X% $${D} ${E}{{ .F }}$G").collect();
        assert_eq!(names, ["${A}", "${B:=${C}}", "${E}", "$G", "%X%", "{{ .F }}"]);
        assert_eq!(
            ["${A}", "${A:-b}", "$A", "${A * 2}", "%A%", "$(A)"].map(can_be_given),
            [true, true, true, false, false, false]
        );
    }

    #[test]
    fn a_line_that_sets_nothing_is_reported() {
        for (text, line) in [("A=1\nB\n", 2), ("a b=1", 1), ("=1", 1), ("1=1", 1)] {
            assert_eq!(
                Variables::default().add_lines(text),
                Err(NoVariable { line }),
                "{text}"
            );
        }
    }
}
