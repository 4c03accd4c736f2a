//! Which file an object of a rendered text came from, if the renderer says so. Lines and columns are those of the text: the
//! file is the one to open.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::json::Json;

use crate::terminal::clean;
use poolgate_core::manifest::Document;

/// Helm's comment above each document: `# Source: chart/templates/pool.yaml`.
pub const HELM: &str = " Source: ";

/// The folders of a chart that Helm prints manifests from.
const CHART_FOLDERS: [&str; 2] = ["/templates/", "/crds/"];

/// What kustomize writes with `buildMetadata: [originAnnotations]`: YAML with `path`, and for a remote base also
/// `repo` and `ref`.
const KUSTOMIZE: [&str; 3] = ["metadata", "annotations", "config.kubernetes.io/origin"];

/// The template that Helm names above a document.
pub fn by_helm(document: &Document<'_>) -> Option<String> {
    let root = document.span_of(&FieldPath::root());
    let is_above = |start| root.is_none_or(|root| start < root.start());
    let mut comments = document.comments().iter();
    let source = comments.find_map(|comment| {
        let source = comment.text.strip_prefix(HELM)?.trim_end();
        let is_template = CHART_FOLDERS.iter().any(|folder| source.contains(folder));
        (is_template && is_above(comment.span.start())).then_some(source)
    })?;
    Some(clean(source))
}

/// The file that kustomize names in an object; for a remote base, as a kustomization would name it.
pub fn by_kustomize(object: &Json<'_>) -> Option<String> {
    let origin = FieldPath::of(&KUSTOMIZE).find(object)?.as_str()?;
    let entry = |name: &str| {
        let mut lines = origin.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    let path = entry("path")?;
    let file = match (entry("repo"), entry("ref")) {
        (Some(repo), Some(reference)) => format!("{repo}//{path}?ref={reference}"),
        (Some(repo), None) => format!("{repo}//{path}"),
        (None, _) => path.to_owned(),
    };
    Some(clean(&file))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use poolgate_core::manifest::{self, Limits};

    fn templates(text: &str) -> Vec<Option<String>> {
        let documents = manifest::parse(text, &Limits::default());
        documents.map(|document| by_helm(&document)).collect()
    }

    #[test]
    fn helm_names_the_template_above_each_document() {
        let text = "---\n# Source: a/templates/x.yaml\nk: 1\n---\n# Source: a/charts/b/crds/y.yaml\n# z\nk: [\n---\nk: 2\n";
        assert_eq!(
            templates(text),
            [
                Some("a/templates/x.yaml".to_owned()),
                Some("a/charts/b/crds/y.yaml".to_owned()),
                None
            ]
        );
    }

    #[test]
    fn a_comment_of_somebody_else_names_no_template() {
        assert_eq!(templates("# Source: our wiki\nk: 1\n"), [None]);
        assert_eq!(templates("k:\n  # Source: a/templates/x.yaml\n  v: 1\n"), [None]);
    }

    #[test]
    fn kustomize_names_the_file_in_an_annotation() {
        let named = |origin: &str| {
            let annotations = json!({"config.kubernetes.io/origin": origin});
            by_kustomize(&Json::from(&json!({"metadata": {"annotations": annotations}})))
        };
        assert_eq!(
            named("path: ../base/pool.yaml\n"),
            Some("../base/pool.yaml".into())
        );
        assert_eq!(
            named("path: pools/a.yaml\nrepo: https://example.com/x\nref: v1\n"),
            Some("https://example.com/x//pools/a.yaml?ref=v1".into())
        );
        assert_eq!(named("path: a\u{1b}[2J.yaml"), Some("a\\u{1b}[2J.yaml".into()));
        assert_eq!(named("configuredIn: kustomization.yaml\n"), None);
        assert_eq!(by_kustomize(&Json::from(&json!([]))), None);
    }
}
