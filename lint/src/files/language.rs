//! Languages that generate manifests: a file in one is reported as such, not as broken YAML.

use std::path::Path;

use poolgate_core::karpenter::GROUP;

/// A language whose files are not manifests until they are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Language {
    /// The language of Terraform.
    #[error(
        "HCL (Terraform), and only YAML and JSON are read: keep the NodePool in a YAML file, which \
         yamldecode(file(\"pool.yaml\")) loads into the resource, and name that file here"
    )]
    Hcl,
    /// Jsonnet, as Tanka uses it.
    #[error(
        "jsonnet, and only YAML and JSON are read: pass what it prints, `jsonnet FILE | poolgate lint -`"
    )]
    Jsonnet,
}

/// How a file of Terraform begins.
const BLOCKS: [&str; 8] = [
    "resource",
    "data",
    "module",
    "variable",
    "provider",
    "terraform",
    "locals",
    "output",
];

impl Language {
    /// The language of a text about Karpenter, by its name, or by its first line that is not a comment.
    pub fn detect(name: &str, text: &str) -> Option<Self> {
        if !text.contains(GROUP) {
            return None;
        }
        match Path::new(name).extension().and_then(|end| end.to_str()) {
            Some("tf" | "hcl" | "tofu") => return Some(Self::Hcl),
            Some("jsonnet" | "libsonnet") => return Some(Self::Jsonnet),
            _ => {}
        }
        let mut lines = text.lines().map(str::trim);
        let is_code = |line: &&str| !(line.is_empty() || line.starts_with('#') || line.starts_with("//"));
        let first = lines.find(is_code)?;
        let word = first.split_whitespace().next()?;
        if BLOCKS.contains(&word) && first.ends_with('{') {
            Some(Self::Hcl)
        } else {
            let is_jsonnet = word == "local" && (first.contains('=') || first.contains('('));
            is_jsonnet.then_some(Self::Jsonnet)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_files_or_its_first_line_and_yaml_is_not_one() {
        let pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\n";
        let resource = "# nodes\nresource \"kubernetes_manifest\" \"a\" {\n  manifest = { apiVersion = \"karpenter.sh/v1\" }\n}\n";
        let jsonnet = "// nodes\nlocal k = import 'k.libsonnet';\n{ apiVersion: 'karpenter.sh/v1' }\n";
        for (name, text, language) in [
            ("a.yaml", pool, None),
            ("<stdin>", pool, None),
            ("a.tf", resource, Some(Language::Hcl)),
            ("<stdin>", resource, Some(Language::Hcl)),
            (
                "a.libsonnet",
                "{ apiVersion: 'karpenter.sh/v1' }",
                Some(Language::Jsonnet),
            ),
            ("<stdin>", jsonnet, Some(Language::Jsonnet)),
            ("a.tf", "resource \"aws_vpc\" \"a\" {\n}\n", None),
            ("a.yaml", "data:\n  a: karpenter.sh\n", None),
            ("a.yaml", "local: karpenter.sh\n", None),
        ] {
            assert_eq!(Language::detect(name, text), language, "{name}: {text}");
        }
    }
}
