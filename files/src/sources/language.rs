//! Languages that generate manifests: a file in one is reported as such, not as broken YAML.

use std::path::Path;

use poolgate_core::karpenter::GROUP;

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

    /// The language of a text about Karpenter: by the name of its file, or by the marks of a template.
    pub fn detect(name: &str, text: &str) -> Option<Self> {
        if !text.contains(GROUP) {
            return None;
        }
        match Path::new(name).extension().and_then(|end| end.to_str()) {
            Some("tf" | "hcl" | "tofu") => return Some(Self::Hcl),
            Some("jsonnet" | "libsonnet") => return Some(Self::Jsonnet),
            Some("cue") => return Some(Self::Cue),
            _ => {}
        }
        // Looking for the marks in the whole text first spares nearly every look at its lines.
        let has_line = |mark: &str, is_it: fn(&str) -> bool| text.contains(mark) && text.lines().any(is_it);
        if has_line("%{", is_directive) || has_line("${", calls_terraform) {
            Some(Self::TerraformTemplate)
        } else if has_line("{%", is_jinja) {
            Some(Self::JinjaTemplate)
        } else if has_line("#{{", |line| commented_word(line) == Some("if"))
            && has_line("#{{", |line| commented_word(line) == Some("end"))
        {
            Some(Self::CommentedTemplate)
        } else {
            None
        }
    }

    /// Whether files of this name are in a language that generates manifests.
    pub fn has_extension_of(path: &Path) -> bool {
        const EXTENSIONS: [&str; 8] = ["tf", "tofu", "hcl", "tpl", "tftpl", "jsonnet", "libsonnet", "cue"];
        let extension = path.extension().and_then(|end| end.to_str());
        extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
    }
}

/// Whether a line outside of comments has a directive of Terraform's templates, such as `%{ for taint in taints ~}`.
fn is_directive(line: &str) -> bool {
    let words = ["if", "else", "endif", "for", "endfor"];
    let mut directives = line.split("%{").skip(1);
    !is_comment(line) && directives.any(|directive| words.contains(&first_word(directive)))
}

/// Whether a line is a statement of Jinja's templates, such as `{% for taint in taints -%}`.
fn is_jinja(line: &str) -> bool {
    let words = [
        "if", "elif", "else", "endif", "for", "endfor", "set", "include", "block", "raw", "macro",
    ];
    let statement = line.trim_start().strip_prefix("{%");
    statement.is_some_and(|statement| words.contains(&first_word(statement)))
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

/// Whether a line outside of comments has a function or a field of Terraform in `${…}`, such as `${jsonencode(types)}`:
/// names of variables alone may be for other programs.
fn calls_terraform(line: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let last = line.rfind('}').unwrap_or_default();
    let is_call = |(at, mark): (usize, &str)| {
        let expression = line.get(at + mark.len()..).unwrap_or_default().trim_start();
        let behind = expression.trim_start_matches(is_part);
        // The arguments of a function may go on in the next line.
        let is_closed = at < last || behind.starts_with('(');
        behind.len() < expression.len() && is_closed && behind.starts_with(['(', '.', '['])
    };
    !is_comment(line) && line.match_indices("${").any(is_call)
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

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
