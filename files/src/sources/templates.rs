//! Which documents of a text are templates: they have the marks of one, and not only inside an object of another program.

use std::collections::BTreeMap;
use std::fmt;

use poolgate_core::facts::GROUP;
use poolgate_core::manifest::{self, Document, Limits, Span};

use super::language::Language;
use crate::terminal::capitalised;

/// A field that only NodePools and NodeClaims have: an object without `apiVersion` that has it is one of them.
const CLASS_FIELD: &str = "nodeClassRef";

/// Why a document is a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    pub language: Language,
    /// The first mark of the language.
    pub mark: Span,
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, help) = (self.language.name(), capitalised(self.language.help()));
        write!(f, "this document is {name}. {help}")
    }
}

/// The templates among the documents of a text, by their number.
pub type Templates = BTreeMap<usize, Template>;

/// Finds the templates of a text about Karpenter.
pub fn templates(text: &str) -> Templates {
    let marks = Marks::of(text);
    let mut templates = Templates::new();
    if marks.is_empty() || !text.contains(GROUP) {
        return templates;
    }
    let mut documents = manifest::parse(text, &Limits::default()).enumerate().peekable();
    let mut start = 0;
    while let Some((number, document)) = documents.next() {
        let next = documents.peek().map(|(_, next)| next.span().start());
        let is_broken = document.unreadable().is_some();
        let end = match next {
            Some(next) if is_broken => next,
            Some(next) => document.span().end().min(next),
            None => text.len(),
        };
        let area = Area::of(text, &document, Span::new(start, end));
        templates.extend(marks.of_template(&area).map(|mark| (number, mark)));
        start = end;
    }
    templates
}

/// The text of a document, from the end of the one before: comments above a document belong to it.
struct Area {
    whole: Span,
    /// The document without the comments before and behind it.
    document: Span,
    /// Its objects that are not Karpenter's, in their order.
    others: Vec<Span>,
}

impl Area {
    fn of(text: &str, document: &Document<'_>, whole: Span) -> Self {
        let mut others = Vec::new();
        manifest::each_object(document.value(), &mut |object| {
            let span = match object.path.segments() {
                [] => Some(whole),
                _ => document.span_of(&object.path),
            };
            let span = span.filter(|span| !is_karpenters(object.version, span.slice(text)));
            others.extend(span);
        });
        let content = document.root().filter(|_| document.unreadable().is_none());
        let document = content.map_or(whole, |content| {
            let end = content.span().end().min(whole.end());
            Span::new(document.span().start().min(end), end)
        });
        Self {
            whole,
            document,
            others,
        }
    }

    fn is_template_by(&self, mark: &Template) -> bool {
        let is_comment = mark.language == Language::CommentedTemplate;
        if !is_within(mark.mark, self.whole) && !overlap(mark.mark, self.document) {
            return false;
        }
        if !is_comment && mark.mark.start() < self.document.start() {
            return true;
        }
        let start = mark.mark.start().max(self.whole.start());
        let part = Span::new(start, mark.mark.end().min(self.whole.end()));
        let after = self.others.partition_point(|other| other.start() <= part.start());
        let before = after.checked_sub(1).and_then(|last| self.others.get(last));
        !before.is_some_and(|other| is_within(part, *other))
    }
}

fn is_within(span: Span, whole: Span) -> bool {
    whole.start() <= span.start() && span.end() <= whole.end()
}

fn overlap(one: Span, other: Span) -> bool {
    one.start() < other.end() && other.start() < one.end()
}

/// Whether an object is Karpenter's, or may be.
fn is_karpenters(version: Option<&str>, text: &str) -> bool {
    match version {
        Some(version) if !version.contains("${") && !version.contains("{{") => {
            version.split('/').next() == Some(GROUP)
        }
        _ => text.contains(GROUP) || text.contains(CLASS_FIELD),
    }
}

/// The marks of each language, in the order of the text.
struct Marks([Vec<Template>; 3]);

impl Marks {
    fn of(text: &str) -> Self {
        let places = |mark: &str, language: Language, find: fn(&str) -> Vec<usize>| {
            let mut start = 0;
            let mut marks = Vec::new();
            // Looking for the mark in the whole text first spares nearly every look at its lines.
            let lines = text.contains(mark).then(|| text.split_inclusive('\n'));
            for line in lines.into_iter().flatten() {
                let places = find(line).into_iter();
                let places = places.map(|at| Span::new(start + at, start + at + 1));
                marks.extend(places.map(|mark| Template { language, mark }));
                start += line.len();
            }
            marks
        };
        let mut terraform = places("${", Language::TerraformTemplate, terraform_calls);
        terraform.extend(places("%{", Language::TerraformTemplate, directives));
        terraform.sort_by_key(|mark| mark.mark);
        let jinja = places("{%", Language::JinjaTemplate, statements);
        Self([terraform, jinja, commented_conditions(text)])
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// The first mark that makes a template of a document.
    fn of_template(&self, area: &Area) -> Option<Template> {
        self.0.iter().find_map(|marks| {
            let first = marks.partition_point(|mark| mark.mark.end() <= area.whole.start());
            let near = marks.iter().skip(first);
            let mut near = near.take_while(|mark| mark.mark.start() < area.whole.end());
            near.find(|mark| area.is_template_by(mark)).copied()
        })
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Where a line outside of comments has a directive of Terraform's templates, such as `%{ for taint in taints ~}`.
fn directives(line: &str) -> Vec<usize> {
    let words = ["if", "else", "endif", "for", "endfor"];
    let is_directive = |(at, mark): &(usize, &str)| {
        let directive = line.get(at + mark.len()..).unwrap_or_default();
        words.contains(&first_word(directive))
    };
    let marks = line.match_indices("%{").filter(|_| !is_comment(line));
    marks.filter(is_directive).map(|(at, _)| at).collect()
}

/// Where a line is a statement of Jinja's templates, such as `{% for taint in taints -%}`.
fn statements(line: &str) -> Vec<usize> {
    let words = [
        "if", "elif", "else", "endif", "for", "endfor", "set", "include", "block", "raw", "macro",
    ];
    let statement = line.trim_start().strip_prefix("{%");
    let is_one = statement.is_some_and(|statement| words.contains(&first_word(statement)));
    is_one.then(|| indent(line)).into_iter().collect()
}

/// Where a line outside of comments has a function or a field of Terraform in `${…}`, such as `${jsonencode(types)}`:
/// names of variables alone may be for other programs.
fn terraform_calls(line: &str) -> Vec<usize> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let last = line.rfind('}').unwrap_or_default();
    let is_call = |(at, mark): &(usize, &str)| {
        let expression = line.get(at + mark.len()..).unwrap_or_default().trim_start();
        let behind = expression.trim_start_matches(is_part);
        // The arguments of a function may go on in the next line.
        let is_closed = *at < last || behind.starts_with('(');
        behind.len() < expression.len() && is_closed && behind.starts_with(['(', '.', '['])
    };
    let marks = line.match_indices("${").filter(|_| !is_comment(line));
    marks.filter(is_call).map(|(at, _)| at).collect()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// The conditions that are comments to YAML, each from its `#{{ if … }}` to its `#{{ end }}`: all of its branches would be
/// read. One that has no end of its own counts if the text has any.
fn commented_conditions(text: &str) -> Vec<Template> {
    if !text.contains("#{{") {
        return Vec::new();
    }
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut spans = Vec::new();
    let mut has_end = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        match commented_word(line) {
            Some("if") => open.push((start + indent(line), true)),
            Some("range" | "with" | "define" | "block") => open.push((start, false)),
            Some("end") => {
                has_end = true;
                if let Some((begin, true)) = open.pop() {
                    spans.push(Span::new(begin, start + line.trim_end().len()));
                }
            }
            _ => {}
        }
        start += line.len();
    }
    let left = open.iter().filter(|(_, is_condition)| has_end && *is_condition);
    spans.extend(left.map(|(begin, _)| Span::new(*begin, begin + 1)));
    spans.sort();
    // One inside another says no more. A text may consist of them.
    let mut end = 0;
    spans.retain(|span| {
        let is_outermost = span.start() >= end;
        end = end.max(span.end());
        is_outermost
    });
    let language = Language::CommentedTemplate;
    let marks = spans.into_iter().map(|mark| Template { language, mark });
    marks.collect()
}

/// The keyword of a line such as `#{{ if .a }}`.
fn commented_word(line: &str) -> Option<&str> {
    let action = line.trim_start().strip_prefix("#{{")?;
    action.contains("}}").then(|| first_word(action))
}

/// The first word behind an opening bracket.
fn first_word(text: &str) -> &str {
    let text = text.trim_start_matches(['~', '-', ' ']);
    let is_letter = |letter: char| letter.is_ascii_alphabetic();
    text.split(|letter| !is_letter(letter)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: &str = "apiVersion: karpenter.sh/v1\nkind: NodePool\n";

    /// The numbers of the documents that are templates.
    fn numbers(text: &str) -> Vec<usize> {
        templates(text).into_keys().collect()
    }

    fn config_map(data: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    {data}\n")
    }

    #[test]
    fn a_mark_inside_another_object_makes_no_template_and_one_elsewhere_does() {
        for mark in ["url=${db.host}", "\"${disks[@]}\"", "%{ if a }", "{% if a %}"] {
            let other = config_map(mark);
            assert!(numbers(&format!("{other}---\n{POOL}")).is_empty(), "{mark}");
            let pool = format!("{POOL}metadata:\n  annotations:\n    a: |\n      {mark}\n");
            assert_eq!(numbers(&format!("{other}---\n{pool}---\n{POOL}")), [1], "{mark}");
            let broken = format!("a: [\n{mark}\n");
            assert_eq!(numbers(&format!("{POOL}---\n{broken}")), [1], "{mark}");
        }
    }

    #[test]
    fn an_object_of_a_list_is_judged_by_itself_also_on_one_line() {
        let list = |pool: &str| {
            format!(
                r#"{{"kind": "List", "apiVersion": "v1", "items": [{{"apiVersion": "v1", "kind": "Secret", "a": "${{b.c}}"}},
                {{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {{"name": "{pool}"}}}}]}}"#
            )
        };
        for text in [list("${a.b}"), list("a")] {
            let expected: &[usize] = if text.contains("${a.b}") { &[0] } else { &[] };
            assert_eq!(numbers(&text), expected, "{text}");
            assert_eq!(numbers(&text.replace('\n', " ")), expected, "{text}");
        }
    }

    #[test]
    fn an_object_that_does_not_say_whose_it_is_may_be_karpenters() {
        for (text, expected) in [
            (
                "metadata: {name: \"${a.b}\"}\nspec: {nodeClassRef: {}}\n",
                &[0][..],
            ),
            ("apiVersion: ${a.group}/v1\nx: karpenter.sh\n", &[0]),
            ("metadata: {name: \"${a.b}\"}\n", &[]),
            ("- a: \"${a.b}\"\n", &[]),
        ] {
            assert_eq!(
                numbers(&format!("{text}---\n# karpenter.sh\n")),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_commented_condition_makes_a_template_of_what_it_encloses() {
        let other = "apiVersion: v1\nkind: ConfigMap\n";
        let (begin, end) = ("#{{ if .a }}\n", "#{{ end }}\n");
        for (text, expected) in [
            (format!("{POOL}---\n{other}{begin}a: 1\n{end}"), &[][..]),
            (format!("{POOL}{begin}---\n{other}{end}"), &[]),
            (format!("{POOL}---\n{begin}{other}{end}---\n{POOL}"), &[]),
            (format!("{other}{begin}---\n{POOL}{end}---\n{other}"), &[1]),
            (format!("{begin}{other}---\n{POOL}{end}"), &[1]),
            (format!("{begin}a: 1\n{end}{POOL}---\n{other}"), &[0]),
            (format!("{other}---\n{begin}# x\n{end}{POOL}"), &[1]),
            (format!("{other}---\n{end}{POOL}{begin}"), &[1]),
        ] {
            assert_eq!(numbers(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_directive_before_a_document_is_no_part_of_its_object() {
        let text = format!("%{{ if a ~}}\n---\n{}---\n{POOL}", config_map("a"));
        assert!(numbers(&text).contains(&0));
    }
}
