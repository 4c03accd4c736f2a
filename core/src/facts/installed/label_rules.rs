//! The rules about labels in a definition, read from its CEL.
//!
//! Providers add rules of two forms to template labels and to keys of requirements: a domain in which only listed labels
//! are taken, and a label that is never taken. Nothing else is read: what a rule of another form says is not known.

use serde_json::{Map, Value};

use crate::facts::provider::{Ruling, domain_ends_in};

/// The most rules that are read of a definition. Those that are published have ten at most.
const MOST_RULES: usize = 100;

/// The rules about labels in one place of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelRules {
    /// The ends of domains in which only these labels are taken, each list sorted.
    closed: Vec<(String, Vec<String>)>,
    /// The labels that are never taken.
    forbidden: Vec<String>,
}

impl LabelRules {
    /// The rules on a field: on the keys of an object, or on a string.
    pub(super) fn parse(schema: Option<&Map<String, Value>>) -> Self {
        let rules = schema.and_then(|schema| schema.get("x-kubernetes-validations")?.as_array());
        let mut found = Self::default();
        for element in rules.into_iter().flatten().take(MOST_RULES) {
            match element.get("rule").and_then(Value::as_str).and_then(read) {
                Some(Rule::Closed { domain, mut labels }) => {
                    labels.sort_unstable();
                    found.closed.push((domain, labels));
                }
                Some(Rule::Forbidden(label)) => found.forbidden.push(label),
                None => {}
            }
        }
        found
    }

    /// What they say of a label.
    pub(crate) fn rule_on(&self, key: &str) -> Ruling<'_> {
        if self.forbidden.iter().any(|label| label == key) {
            return Ruling::Forbidden;
        }
        let mut ruling = Ruling::None;
        let closed = self.closed.iter();
        for (domain, labels) in closed.filter(|(domain, _)| domain_ends_in(key, domain)) {
            if labels.binary_search_by(|label| label.as_str().cmp(key)).is_err() {
                return Ruling::Unlisted { domain, listed: None };
            }
            ruling = Ruling::Listed;
        }
        ruling
    }
}

/// A rule of one of the two forms.
#[derive(Debug, PartialEq, Eq)]
enum Rule {
    Closed { domain: String, labels: Vec<String> },
    Forbidden(String),
}

/// Reads `V in [L, …] || !V.find("^([^/]+)").endsWith(D)` or `V != L`, where V is `self`, or any name in `self.all(V, …)`.
fn read(rule: &str) -> Option<Rule> {
    let mut text = Rest(rule.trim());
    let inner = text
        .0
        .strip_prefix("self.all(")
        .and_then(|all| all.strip_suffix(')'));
    let variable = match inner {
        None => "self",
        Some(inner) => {
            let (variable, body) = inner.split_once(',')?;
            text = Rest(body);
            Some(variable.trim())
                .filter(|variable| variable.bytes().all(|byte| byte.is_ascii_alphanumeric()))?
        }
    };
    text.expect(variable)?;
    let rule = if text.expect("!=").is_some() {
        Rule::Forbidden(text.string()?)
    } else {
        text.expect("in")?;
        text.expect("[")?;
        let mut labels = Vec::new();
        while text.expect("]").is_none() {
            labels.push(text.string()?);
            if text.expect(",").is_none() {
                text.expect("]")?;
                break;
            }
        }
        text.expect("||")?;
        text.expect("!")?;
        text.expect(variable)?;
        text.expect(r#".find("^([^/]+)")"#)?;
        text.expect(".endsWith(")?;
        let domain = text.string()?;
        text.expect(")")?;
        Rule::Closed { domain, labels }
    };
    text.0.trim().is_empty().then_some(rule)
}

/// What is left of a text that is read.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    /// Skips these characters, and blanks before them; `None` if something else follows.
    fn expect(&mut self, wanted: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(wanted)?;
        Some(())
    }

    /// Reads a string without escapes.
    fn string(&mut self) -> Option<String> {
        let text = self.0.trim_start();
        let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (string, rest) = text.get(1..)?.split_once(quote)?;
        self.0 = rest;
        (!string.contains('\\')).then(|| string.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn closed(domain: &str, labels: &[&str]) -> Rule {
        Rule::Closed {
            domain: domain.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        }
    }

    #[test]
    fn rules_of_the_two_forms_are_read_as_providers_write_them() {
        assert_eq!(
            read(r#"self in ["a.b/c", "a.b/d"] || !self.find("^([^/]+)").endsWith("a.b")"#),
            Some(closed("a.b", &["a.b/c", "a.b/d"]))
        );
        assert_eq!(
            read(r#"self.all(x, x in [ "a.b/c", ] || !x.find("^([^/]+)").endsWith("a.b"))"#),
            Some(closed("a.b", &["a.b/c"]))
        );
        assert_eq!(
            read(r#"self in [] || !self.find("^([^/]+)").endsWith("a.b")"#),
            Some(closed("a.b", &[]))
        );
        assert_eq!(read("self != 'a'"), Some(Rule::Forbidden("a".to_owned())));
        assert_eq!(
            read(r#"self.all(key, key != "a.b/c")"#),
            Some(Rule::Forbidden("a.b/c".to_owned()))
        );
    }

    #[test]
    fn a_rule_of_another_form_says_nothing_that_is_known() {
        for rule in [
            "",
            "self",
            "self.all(x, )",
            "self.all(x)",
            "self.all(x, self != 'a')",
            "self != ",
            "self != 'a",
            "self != 'a' || true",
            r"self != 'a\x62'",
            "self in ['a'",
            "self in ['a'] || true",
            "self in ['a' 'b'] || !self.find(\"^([^/]+)\").endsWith('c')",
            r#"self.find("^([^/]+)").endsWith("kops.k8s.io") || !self.find("^([^/]+)").endsWith("k8s.io")"#,
            r#"self in ["a"] || self.find("^([^/]+)").endsWith("b") || !self.find("^([^/]+)").endsWith("c")"#,
            r#"self in ["a"] || !self.find("^([^/]+)$").endsWith("c")"#,
            "é",
            "self != 'é",
        ] {
            assert_eq!(read(rule), None, "{rule}");
        }
        assert_eq!(read("self != 'é'"), Some(Rule::Forbidden("é".to_owned())));
        let whole = r#"self.all(x, x in ["a.b/c", 'é'] || !x.find("^([^/]+)").endsWith("a.b"))"#;
        for (end, _) in whole.char_indices() {
            let (begun, rest) = whole.split_at(end);
            assert_eq!(read(begun), None, "{begun}");
            assert!(end == 0 || read(rest).is_none(), "{rest}");
        }
    }

    #[test]
    fn every_rule_must_take_a_label() {
        let validations = |rules: &[&str]| {
            let rules: Vec<Value> = rules.iter().map(|rule| json!({"rule": rule})).collect();
            let schema = json!({"x-kubernetes-validations": rules});
            LabelRules::parse(schema.as_object())
        };
        let rules = validations(&[
            r#"self in ["a.b/c", "x.a.b/d"] || !self.find("^([^/]+)").endsWith("a.b")"#,
            r#"self in ["x.a.b/e"] || !self.find("^([^/]+)").endsWith("x.a.b")"#,
            "self != 'pool'",
            "size(self) < 5",
        ]);
        let unlisted = |domain| Ruling::Unlisted { domain, listed: None };
        for (key, ruling) in [
            ("a.b/c", Ruling::Listed),
            ("a.b/d", unlisted("a.b")),
            ("mya.b/c", unlisted("a.b")),
            ("a.b", unlisted("a.b")),
            ("x.a.b/d", unlisted("x.a.b")),
            ("x.a.b/e", unlisted("a.b")),
            ("/a.b", Ruling::None),
            ("c/a.b", Ruling::None),
            ("pool", Ruling::Forbidden),
            ("a.b/pool", unlisted("a.b")),
            ("", Ruling::None),
        ] {
            assert_eq!(rules.rule_on(key), ruling, "{key}");
        }
        for odd in [
            json!({}),
            json!({"x-kubernetes-validations": 5}),
            json!({"x-kubernetes-validations": [5, {}, {"rule": 5}]}),
        ] {
            assert_eq!(LabelRules::parse(odd.as_object()), LabelRules::default());
        }
        let many = vec!["self != 'a'"; 1000];
        assert_eq!(validations(&many).forbidden.len(), MOST_RULES);
    }
}
