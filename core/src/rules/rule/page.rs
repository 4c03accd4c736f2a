//! The page of a rule: Markdown for people, as it is in the repository, and its parts for programs that print them.

use crate::diagnostic::{Diagnostic, Origin, Severity};

/// The documentation of a rule.
///
/// A page has a title, paragraphs, and for each [`FindingKind`] of finding a section `## Bad` and a section `## Good` with one block
/// of YAML each. The heading of the bad one has the name of the kind, if there are several, and its severity, origin and
/// evidence: `## Bad: it never fires (error, silent, shown)`. A paragraph that begins with `Source: ` or `Seen in: ` stands
/// alone. Comments are for `tests/oracle/sources.rs`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Page {
    /// What the rule requires, as one sentence without a full stop.
    pub title: String,
    /// Why it matters: paragraphs of Markdown, each on one line.
    pub why: String,
    /// Where in the sources the consequence was read: in those of Karpenter unless another project is named.
    pub source: Option<String>,
    /// The issues in which users reported it, as `owner/repository#number`.
    pub seen_in: Vec<String>,
    /// The kinds of finding, the most usual first. Rules about the text of a file have none.
    pub kinds: Vec<FindingKind>,
}

/// A kind of finding that a rule has. Kinds of one rule may differ in severity and in origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingKind {
    /// Its name; empty if the rule has no other kind.
    pub name: &'static str,
    /// Its severity, unless the policy changes it.
    pub severity: Severity,
    /// Which program would notice it without poolgate.
    pub origin: Origin,
    /// How the consequence is known; only if nothing rejects the mistake.
    pub evidence: Option<Evidence>,
    /// The relevant fields of a NodePool, as YAML; they violate this rule and no other. In v1 unless an
    /// `apiVersion` says otherwise, and a NodePool unless `kind` does. Of two documents, the first is the stored
    /// object that the second replaces; if the second is null, the object is deleted.
    pub bad: &'static str,
    /// The fields of the bad example, put right: no rule has findings.
    pub good: &'static str,
}

/// The evidence for the consequence of a mistake that nothing rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Karpenter's own code shows it on the bad example, linked into a test (`tests/oracle/symptoms.rs`).
    Shown,
    /// The sources that the page names.
    Read,
    /// Users reported it: their issues are on the page.
    Reported,
}

impl Page {
    /// The parts of a page. One that is missing or in another form is left out; a test of the catalogue rejects that.
    pub fn parse(text: &'static str) -> Self {
        let mut sections = text.split("\n## ");
        let mut page = Self::default();
        for paragraph in sections.next().unwrap_or_default().split("\n\n") {
            let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some(title) = paragraph.strip_prefix("# ") {
                title.clone_into(&mut page.title);
            } else if let Some(source) = paragraph.strip_prefix("Source: ") {
                page.source = Some(source.to_owned());
            } else if let Some(issues) = paragraph.strip_prefix("Seen in: ") {
                page.seen_in = issues.split(", ").map(str::to_owned).collect();
            } else if !paragraph.starts_with("<!--") {
                let gap = if page.why.is_empty() { "" } else { "\n\n" };
                page.why.push_str(gap);
                page.why.push_str(&paragraph);
            }
        }
        while let (Some(bad), Some(good)) = (sections.next(), sections.next()) {
            page.kinds.extend(FindingKind::parse(bad, good));
        }
        page
    }

    /// True if a finding is of one of the kinds.
    pub fn has(&self, finding: &Diagnostic) -> bool {
        let mut kinds = self.kinds.iter();
        kinds.any(|kind| (kind.severity, kind.origin) == (finding.own_severity, finding.origin))
    }
}

impl FindingKind {
    /// The kind with these two sections.
    fn parse(bad: &'static str, good: &'static str) -> Option<Self> {
        let (heading, bad) = bad.strip_prefix("Bad")?.split_once('\n')?;
        let (good_name, good) = good.strip_prefix("Good")?.split_once('\n')?;
        let (name, judged) = heading.strip_suffix(')')?.split_once(" (")?;
        let mut words = judged.split(", ");
        let severity = word(words.next()?, SEVERITIES, Severity::as_str)?;
        let origin = word(words.next()?, ORIGINS, Origin::as_str)?;
        let evidence = match words.next() {
            None => None,
            Some("shown") => Some(Evidence::Shown),
            Some("read") => Some(Evidence::Read),
            Some("reported") => Some(Evidence::Reported),
            Some(_) => return None,
        };
        let is_complete = name == good_name && words.next().is_none();
        is_complete.then_some(Self {
            name: name.strip_prefix(": ").unwrap_or(name),
            severity,
            origin,
            evidence,
            bad: block(bad)?,
            good: block(good)?,
        })
    }
}

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];
const ORIGINS: [Origin; 4] = [Origin::Schema, Origin::Runtime, Origin::Silent, Origin::Poolgate];

/// The value with this name.
fn word<T: Copy>(text: &str, all: impl IntoIterator<Item = T>, name: fn(T) -> &'static str) -> Option<T> {
    all.into_iter().find(|one| name(*one) == text)
}

/// The YAML of a section.
fn block(section: &'static str) -> Option<&'static str> {
    section.trim().strip_prefix("```yaml\n")?.strip_suffix("```")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_lines_and_those_with_a_name_stand_alone() {
        let page = Page::parse(
            "# A title\n\nOne\ntwo.\n\nThree.\n\nSource: `a.go`,\n`B`\n\nSeen in: a/b#1, a/c#2\n\n\
             <!-- d: a.go A -->\n<!-- e: b.go B -->\n\n\
             ## Bad (error, schema)\n\n```yaml\na: 1\n```\n\n## Good\n\n```yaml\na: 2\n```\n",
        );
        let expected = Page {
            title: "A title".into(),
            why: "One two.\n\nThree.".into(),
            source: Some("`a.go`, `B`".into()),
            seen_in: vec!["a/b#1".into(), "a/c#2".into()],
            kinds: vec![FindingKind {
                name: "",
                severity: Severity::Error,
                origin: Origin::Schema,
                evidence: None,
                bad: "a: 1\n",
                good: "a: 2\n",
            }],
        };
        assert_eq!(page, expected);
    }

    #[test]
    fn kinds_have_names_and_differ_in_what_is_said_of_them() {
        let page = Page::parse(
            "# A title\n\nWhy.\n\n## Bad: below (error, runtime)\n\n```yaml\na: 1\n```\n\n## Good: below\n\n```yaml\na: 2\n```\n\n\
             ## Bad: above (warning, silent, read)\n\n```yaml\na: 9\n```\n\n## Good: above\n\n```yaml\na: 8\n```\n",
        );
        let said = page
            .kinds
            .iter()
            .map(|kind| (kind.name, kind.severity, kind.origin, kind.evidence));
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                ("below", Severity::Error, Origin::Runtime, None),
                ("above", Severity::Warning, Origin::Silent, Some(Evidence::Read)),
            ]
        );
        assert_eq!(page.kinds[1].good, "a: 8\n");
    }

    #[test]
    fn what_is_missing_or_in_another_form_is_left_out() {
        let wrong = [
            "## Bad\n\n```yaml\na: 1\n```\n\n## Good\n\n```yaml\na: 2\n```\n",
            "## Bad (error)\n\n```yaml\na: 1\n```\n\n## Good\n\n```yaml\na: 2\n```\n",
            "## Bad (error, schema)\n\n```\na: 1\n```\n\n## Good\n\n```yaml\na: 2\n```\n",
            "## Bad (error, schema)\n\n```yaml\na: 1\n```\n\n## Good: other\n\n```yaml\na: 2\n```\n",
            "## Bad (error, schema)\n\n```yaml\na: 1\n```\n\n## Good\n\n```yaml\na: 2\n```\n\nMore.\n",
        ];
        for sections in wrong {
            let text: &'static str = format!("Why.\n\n{sections}").leak();
            let expected = Page {
                why: "Why.".into(),
                ..Page::default()
            };
            assert_eq!(Page::parse(text), expected, "{sections}");
        }
    }
}
