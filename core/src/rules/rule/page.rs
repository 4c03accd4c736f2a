//! The page of a rule: Markdown for people, as it is in the repository, and its parts for what prints them.

/// The documentation of a rule.
///
/// A page has a title, paragraphs, and under `## Bad` and `## Good` one block of YAML each. A paragraph that begins
/// with `Source: ` or `Seen in: ` stands alone.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Page {
    /// What the rule requires, as one sentence without a full stop.
    pub title: String,
    /// Why it matters: paragraphs of Markdown, each on one line.
    pub why: String,
    /// Where in the sources it was read what follows: those of Karpenter unless another project is named.
    pub source: Option<String>,
    /// The issues in which users reported it, as `owner/repository#number`.
    pub seen_in: Vec<String>,
    /// The relevant fields of a NodePool, as YAML; they violate this rule and no other. In v1 unless an
    /// `apiVersion` says otherwise, and a NodePool unless `kind` does. Of two documents, the first is the stored
    /// object that the second replaces.
    pub bad: &'static str,
    /// The fields of the bad example, put right: no rule has findings.
    pub good: &'static str,
}

impl Page {
    /// The parts of a page. One that is missing or in another form is empty here; a test of the catalogue rejects that.
    pub fn parse(text: &'static str) -> Self {
        let (text, good) = text.split_once("\n## Good\n").unwrap_or((text, ""));
        let (text, bad) = text.split_once("\n## Bad\n").unwrap_or((text, ""));
        let mut page = Self {
            bad: block(bad),
            good: block(good),
            ..Self::default()
        };
        for paragraph in text.split("\n\n") {
            let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some(title) = paragraph.strip_prefix("# ") {
                title.clone_into(&mut page.title);
            } else if let Some(source) = paragraph.strip_prefix("Source: ") {
                page.source = Some(source.to_owned());
            } else if let Some(issues) = paragraph.strip_prefix("Seen in: ") {
                page.seen_in = issues.split(", ").map(str::to_owned).collect();
            } else {
                let gap = if page.why.is_empty() { "" } else { "\n\n" };
                page.why.push_str(gap);
                page.why.push_str(&paragraph);
            }
        }
        page
    }
}

/// The YAML of a section.
fn block(section: &'static str) -> &'static str {
    let block = section.strip_prefix("\n```yaml\n");
    block
        .and_then(|block| block.strip_suffix("```\n"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_lines_and_those_with_a_name_stand_alone() {
        let page = Page::parse(
            "# A title\n\nOne\ntwo.\n\nThree.\n\nSource: `a.go`,\n`B`\n\nSeen in: a/b#1, a/c#2\n\n## Bad\n\n```yaml\na: 1\n```\n\n\
             ## Good\n\n```yaml\na: 2\n```\n",
        );
        let expected = Page {
            title: "A title".into(),
            why: "One two.\n\nThree.".into(),
            source: Some("`a.go`, `B`".into()),
            seen_in: vec!["a/b#1".into(), "a/c#2".into()],
            bad: "a: 1\n",
            good: "a: 2\n",
        };
        assert_eq!(page, expected);
    }

    #[test]
    fn what_is_missing_or_in_another_form_is_empty() {
        let page =
            Page::parse("Why.\n\n## Bad\n\n```\na: 1\n```\n\n## Good\n\n```yaml\na: 2\n```\n\nMore.\n");
        let expected = Page {
            why: "Why.".into(),
            ..Page::default()
        };
        assert_eq!(page, expected);
    }
}
