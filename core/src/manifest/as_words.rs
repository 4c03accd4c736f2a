//! Variables without quotes where YAML does not allow them, such as `[${ZONES}]` and `@@NAME@@`: the text is YAML only once
//! they are filled in. Until then they are read as words.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::Event;

use super::variables::{end_of, placeholder};

/// A document in which each variable is a word of the same length, so that everything keeps its position.
#[derive(Debug)]
pub struct AsWords<'t> {
    written: &'t str,
    text: String,
    /// The positions of the variables, in the order of the text.
    variables: Vec<Range<usize>>,
}

impl<'t> AsWords<'t> {
    /// Reads the variables of a document as words; `None` if it has none.
    pub fn of(written: &'t str) -> Option<Self> {
        let variables = variables(written);
        let mut text = String::with_capacity(written.len());
        let mut copied = 0;
        for place in &variables {
            text += written.get(copied..place.start)?;
            let bytes = written.get(place.clone())?.bytes();
            text.extend(bytes.map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte)
                } else {
                    '_'
                }
            }));
            copied = place.end;
        }
        text += written.get(copied..)?;
        (!variables.is_empty()).then_some(Self {
            written,
            text,
            variables,
        })
    }

    /// The text to read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same event with variables as they are written; `at` is its position.
    pub fn restored(&self, event: Event<'_>, at: &Range<usize>) -> Event<'t> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| Cow::Owned(tag.into_owned()));
                Event::Scalar(self.scalar(&text, at), style, anchor, tag)
            }
            Event::SequenceStart(style, anchor, tag) => {
                Event::SequenceStart(style, anchor, tag.map(|tag| Cow::Owned(tag.into_owned())))
            }
            Event::MappingStart(style, anchor, tag) => {
                Event::MappingStart(style, anchor, tag.map(|tag| Cow::Owned(tag.into_owned())))
            }
            Event::UnresolvedAlias(name) => Event::UnresolvedAlias(name.into_owned().into()),
            Event::Alias(anchor) => Event::Alias(anchor),
            Event::SequenceEnd => Event::SequenceEnd,
            Event::MappingEnd => Event::MappingEnd,
            _ => Event::StreamEnd,
        }
    }

    /// The text of a scalar with its variables as they are written.
    fn scalar(&self, text: &str, at: &Range<usize>) -> Cow<'t, str> {
        if self.text.get(at.clone()) == Some(text) {
            return Cow::Borrowed(self.written.get(at.clone()).unwrap_or_default());
        }
        let first = self.variables.partition_point(|place| place.start < at.start);
        let own = self.variables.iter().skip(first);
        let mut restored = String::with_capacity(text.len());
        let mut rest = text;
        for place in own.take_while(|place| place.end <= at.end) {
            let word = self.text.get(place.clone()).unwrap_or_default();
            let Some((before, behind)) = rest.split_once(word) else {
                continue;
            };
            restored += before;
            restored += self.written.get(place.clone()).unwrap_or_default();
            rest = behind;
        }
        Cow::Owned(restored + rest)
    }
}

/// The length of the document that begins a text: up to the line that ends it.
pub fn document_length(text: &str) -> usize {
    let is_marker = |line: &str| {
        let marker = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
        marker.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        if length > 0 && is_marker(line) {
            return length;
        }
        length += line.len();
    }
    length
}

/// The positions of all variables and placeholders, but for `{{ … }}`: what has these is a template.
fn variables(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut from = 0;
    let rest = |from: usize| text.get(from..).unwrap_or_default();
    while let Some(found) = rest(from).find("${") {
        let inner = from + found + 2;
        from = match end_of(rest(inner)) {
            Some(end) => {
                places.push(from + found..inner + end + 1);
                inner + end + 1
            }
            // No later one on the line is closed either, unless it is inside.
            None => inner + rest(inner).find('\n').unwrap_or(text.len() - inner),
        };
    }
    let mut from = 0;
    while let Some(found) = placeholder(rest(from)) {
        let place = from + found.start..from + found.end;
        from = place.end;
        if !rest(place.start).starts_with("{{") {
            places.push(place);
        }
    }
    places.sort_by_key(|place| place.start);
    places.dedup_by(|next, place| next.start < place.end);
    places
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Document, Limits, parse, parse_with, variables::Variables};

    fn values(text: &str) -> Vec<Value> {
        let documents = parse(text, &Limits::default());
        documents
            .inspect(|document| assert_eq!(document.problems(), [], "{text}"))
            .map(Document::into_value)
            .collect()
    }

    #[test]
    fn a_variable_without_quotes_is_read_as_it_is_written() {
        for (text, expected) in [
            ("[${A}]", json!(["${A}"])),
            (
                "a: [${A}b, ${B:=x,y}, $${C}, c]",
                json!({"a": ["${A}b", "${B:=x,y}", "$${C}", "c"]}),
            ),
            ("{a: ${A}, ${B}: \"${C}\"}", json!({"a": "${A}", "${B}": "${C}"})),
            ("a: ${x ? \"b\" : \"c\"}", json!({"a": "${x ? \"b\" : \"c\"}"})),
            ("a: @@A@@\nb: %B%-c\n", json!({"a": "@@A@@", "b": "%B%-c"})),
            (
                "a: [${A}]\nb: \"x\\n${B}\"\nc: |\n  ${C}\n  d\ne: '${D}''${E}'\n",
                json!({"a": ["${A}"], "b": "x\n${B}", "c": "${C}\nd\n", "e": "${D}'${E}"}),
            ),
        ] {
            assert_eq!(values(text), [expected], "{text}");
        }
    }

    #[test]
    fn the_documents_beside_it_and_their_comments_are_read() {
        let text = "# a\na: [1] # b\n---\n# c\nb: [${B}] # d\n# e\n---\nc: 1 # f\n...\n# g\nd: {x: ${D}}\n";
        let comments = |text: &str| -> Vec<String> {
            let documents = parse(text, &Limits::default());
            let own = |document: Document<'_>| {
                let texts = document
                    .comments()
                    .iter()
                    .map(|comment| comment.text.trim().to_owned());
                texts.collect::<String>()
            };
            documents.map(own).collect()
        };
        let filled_in = text.replace("${B}", "B").replace("${D}", "D");
        assert_eq!(comments(text), comments(&filled_in));
        assert_eq!(comments(text).concat(), "abcdefg");
        let documents = parse(text, &Limits::default());
        let expected = [
            json!({"a": [1]}),
            json!({"b": ["${B}"]}),
            json!({"c": 1}),
            json!({"d": {"x": "${D}"}}),
        ];
        let values: Vec<Value> = documents.map(Document::into_value).collect();
        assert_eq!(values, expected);
    }

    #[test]
    fn what_is_no_yaml_for_another_reason_is_reported_where_it_is() {
        for text in [
            "a: [${A}]\nb: [\n",
            "a: ${A}\nb: }\n",
            "a: [${A]\n",
            "a: [$ {A: b}]\n",
        ] {
            let mut documents = parse(text, &Limits::default());
            let document = documents.next().expect("a document");
            assert!(document.unreadable().is_some(), "{text}");
        }
    }

    #[test]
    fn what_fills_in_a_list_is_its_elements_and_each_is_found() {
        let mut variables = Variables::default();
        let lines = "A=a, b\nB='\"x\",\"y\"'\nC=c\nD=1, 2\nE=[\"e\"]\nF={f: 1}\nG=a: b\n";
        variables.add_lines(lines).expect("variables");
        for (text, expected) in [
            ("[${A}]", json!(["a", "b"])),
            ("[${B}]", json!(["x", "y"])),
            ("[${C}]", json!(["c"])),
            ("[${C}, ${A}, \"${A}\"]", json!(["c", "a", "b", "a, b"])),
            ("[${D}, z]", json!([1, 2, "z"])),
            ("[$A]", json!(["a", "b"])),
            ("[${Z:=p,q}]", json!(["p", "q"])),
            ("[${E}]", json!([["e"]])),
            ("[${C}x]", json!(["cx"])),
            ("- ${A}", json!(["a, b"])),
        ] {
            let document = parse_with(text, &Limits::default(), &variables).next();
            let document = document.expect("a document");
            assert_eq!(document.variables(), [], "{text}");
            assert_eq!(Value::from(document.value()), expected, "{text}");
        }
        for text in ["[${F}]", "[${G}]", "[${Z}]", "{a: ${A}}"] {
            let document = parse_with(text, &Limits::default(), &variables).next();
            assert_eq!(document.expect("a document").variables().len(), 1, "{text}");
        }
        let text = "a: [${A}, x]";
        let document = parse_with(text, &Limits::default(), &variables).next();
        let document = document.expect("a document");
        let at = |index: usize| {
            let path = crate::diagnostic::FieldPath::of(&["a"]).index(index);
            document.span_of(&path).map(|span| span.slice(text))
        };
        assert_eq!(
            [at(0), at(1), at(2), at(3)],
            [Some("${A}"), Some("${A}"), Some("x"), None]
        );
    }
}
