//! Languages that generate manifests: a file in one is reported as such, not as broken YAML.

use std::path::Path;

use poolgate_core::facts::GROUP;

/// A language whose files are not manifests until they are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// The language of Terraform.
    Hcl,
    /// A template that Terraform's `templatefile` renders.
    TerraformTemplate,
    /// A template with `{% … %}`, as Ansible renders it.
    JinjaTemplate,
    /// A template whose lines are comments to YAML, such as `#{{ if … }}`: all of its branches would be read.
    CommentedTemplate,
    /// CUE.
    Cue,
    /// Jsonnet, as Tanka uses it.
    Jsonnet,
}

impl Language {
    /// What a file in it is: a noun.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hcl => "HCL (Terraform), not YAML or JSON",
            Self::TerraformTemplate => "an unrendered Terraform template",
            Self::JinjaTemplate => "an unrendered Jinja template",
            Self::CommentedTemplate => "an unrendered template, with lines such as `#{{ if … }}`",
            Self::Cue => "CUE, not YAML or JSON",
            Self::Jsonnet => "jsonnet, not YAML or JSON",
        }
    }

    /// What to check instead: an imperative.
    pub const fn help(self) -> &'static str {
        match self {
            Self::Hcl => {
                "keep the NodePool in a YAML file and check that file. kubernetes_manifest reads it with \
                 yamldecode(file(\"pool.yaml\")), kubectl_manifest with file or templatefile"
            }
            Self::TerraformTemplate => "check the output of templatefile",
            Self::JinjaTemplate | Self::CommentedTemplate => "check the rendered output",
            Self::Cue => "check its output: `cue export --out yaml FILE | poolgate lint -`",
            Self::Jsonnet => "check its output: `jsonnet FILE | poolgate lint -`",
        }
    }

    /// The language of a file about Karpenter by its name.
    pub fn of_file(name: &str, text: &str) -> Option<Self> {
        let extension = Path::new(name).extension().and_then(|end| end.to_str());
        let language = match extension? {
            "tf" | "hcl" | "tofu" => Self::Hcl,
            "jsonnet" | "libsonnet" => Self::Jsonnet,
            "cue" => Self::Cue,
            _ => return None,
        };
        text.contains(GROUP).then_some(language)
    }

    /// Whether files of this name are in a language that generates manifests.
    pub fn has_extension_of(path: &Path) -> bool {
        const EXTENSIONS: [&str; 8] = ["tf", "tofu", "hcl", "tpl", "tftpl", "jsonnet", "libsonnet", "cue"];
        let extension = path.extension().and_then(|end| end.to_str());
        extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::templates::templates;

    impl Language {
        /// The language of a text about Karpenter: by the name of its file, or by the marks of a template.
        fn detect(name: &str, text: &str) -> Option<Self> {
            let of_template = || Some(templates(text).into_values().next()?.language);
            Self::of_file(name, text).or_else(of_template)
        }
    }

    #[test]
    fn language_is_known_by_the_name_of_the_file_or_the_marks_of_a_template() {
        let pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\n";
        let resource = "# nodes\nresource \"kubernetes_manifest\" \"a\" {\n  manifest = { apiVersion = \"karpenter.sh/v1\" }\n}\n";
        for (name, text, language) in [
            ("a.yaml", pool, None),
            ("<stdin>", pool, None),
            ("a.tf", resource, Some(Language::Hcl)),
            ("<stdin>", resource, None),
            (
                "a.libsonnet",
                "{ apiVersion: 'karpenter.sh/v1' }",
                Some(Language::Jsonnet),
            ),
            ("a.tf", "resource \"aws_vpc\" \"a\" {\n}\n", None),
            ("a.yaml", "data:\n  a: karpenter.sh\n", None),
            (
                "a.yaml",
                &format!("{pool}spec:\n%{{ if x ~}}\n  weight: 1\n%{{ endif ~}}\n"),
                Some(Language::TerraformTemplate),
            ),
            (
                "a.yaml",
                &format!("{pool}metadata: {{name: '${{jsonencode(x)}}'}}\n"),
                Some(Language::TerraformTemplate),
            ),
            (
                "a.yaml",
                &format!("{pool}metadata: {{name: \"${{taint.key}}\"}}\n"),
                Some(Language::TerraformTemplate),
            ),
            (
                "a.yaml",
                &format!("{pool}metadata: {{name: '${{NAME}}-${{A:-b.c}}'}}\n"),
                None,
            ),
            (
                "a.tftpl",
                &format!("{pool}values: [${{ join(\", \", [for z in zones : \"${{z}}a\"]) }}]\n"),
                Some(Language::TerraformTemplate),
            ),
            (
                "a.tftpl",
                &format!("{pool}values: ${{jsonencode(\n  zones\n)}}\n"),
                Some(Language::TerraformTemplate),
            ),
            (
                "a.tftpl",
                &format!("{pool}values: [%{{ for z in zones ~}}${{z}},%{{ endfor ~}}]\n"),
                Some(Language::TerraformTemplate),
            ),
            ("a.tftpl", &format!("{pool}values: [${{zones}}]\n"), None),
            (
                "a.yaml",
                &format!("{pool}# %{{ if x }}\ncurl: -w '%{{http_code}}'\n"),
                None,
            ),
            ("a.yaml", &format!("# ${{jsonencode(x)}}\n{pool}"), None),
            (
                "a.tpl",
                &format!("{pool}metadata: {{name: ${{names[0]}}}}\n"),
                Some(Language::TerraformTemplate),
            ),
            ("a.tftpl", &format!("{pool}metadata: {{name: ${{name}}}}\n"), None),
            (
                "a.yml.j2",
                &format!("{pool}spec:\n{{% if large -%}}\n  weight: 1\n{{% endif %}}\n"),
                Some(Language::JinjaTemplate),
            ),
            (
                "a.yaml",
                &format!(
                    "{pool}spec:\n  #{{{{ if .large }}}}\n  weight: 1\n  #{{{{ else }}}}\n  weight: 2\n  #{{{{- end }}}}\n"
                ),
                Some(Language::CommentedTemplate),
            ),
            ("a.yaml", &format!("{pool}#{{{{ if .large }}}}\n"), None),
            (
                "a.cue",
                "kind: \"NodePool\"\napiVersion: \"karpenter.sh/v1\"\n",
                Some(Language::Cue),
            ),
        ] {
            assert_eq!(Language::detect(name, text), language, "{name}: {text}");
        }
    }
}
