//! The documents of a text, each with its class: what it is, before a command looks at its fields. Every command on files
//! reads them here, and decides only what it does with each class (docs/files.md).

use poolgate_core::facts::{ApiVersion, GROUP};
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Document, Limits, ManifestObject, Span, Variables};

use super::left_alone::{LeftAlone, has_braces, has_template_lines, is_encrypted, is_open};
use super::mention::names_karpenter;
use super::patches::Whole;
use super::templates::{Template, Templates};

/// A text that was read.
#[derive(Debug, Clone)]
pub struct SourceText<'v> {
    pub text: String,
    /// Whether its objects are complete.
    pub whole: Whole,
    /// What fills in its variables.
    pub variables: &'v Variables,
    /// Its documents that are templates.
    pub templates: Templates,
}

/// A document of a text.
#[derive(Debug)]
pub struct SourceDocument<'t> {
    /// Its number in the text, from 0.
    pub number: usize,
    pub class: Class,
    pub document: Document<'t>,
}

/// What a document is: the first of these that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A template in another language. Nothing of it is read.
    Template(Template),
    /// It cannot be read, in a text that does not name Karpenter.
    Unrelated,
    /// It has lines of a Helm template, so that all branches of its objects are read, if any.
    HelmTemplate,
    /// It cannot be read, in a text that names Karpenter.
    Broken,
    /// SOPS has encrypted it.
    Encrypted,
    /// A kustomization names its file as a patch.
    Patch,
    /// What would be applied, apart from variables.
    Objects,
}

/// An object of a document.
#[derive(Debug)]
pub struct SourceObject<'d> {
    pub object: ManifestObject<'d>,
    /// Its version, if it is a NodePool.
    pub pool: Option<ApiVersion>,
    pub span: Span,
}

impl<'v> SourceText<'v> {
    /// A text of complete objects, such as one that was rendered.
    #[cfg(test)]
    pub fn whole(text: &str, variables: &'v Variables) -> Self {
        Self {
            templates: super::templates::templates(text),
            text: text.to_owned(),
            whole: Whole::Whole,
            variables,
        }
    }

    /// The documents in their order, read with these bounds.
    pub fn documents<'s>(
        &'s self,
        limits: &Limits,
    ) -> impl Iterator<Item = SourceDocument<'s>> + use<'s, 'v> {
        let documents = manifest::parse_with(&self.text, limits, self.variables).enumerate();
        let mut is_related = None;
        documents.map(move |(number, document)| {
            let mut is_related = || *is_related.get_or_insert_with(|| names_karpenter(&self.text));
            let class = match self.templates.get(&number) {
                Some(template) => Class::Template(*template),
                None if document.unreadable().is_some() && !is_related() => Class::Unrelated,
                None if has_template_lines(&document) => Class::HelmTemplate,
                None if document.unreadable().is_some() => Class::Broken,
                None if is_encrypted(document.value()) => Class::Encrypted,
                None if self.whole == Whole::Part => Class::Patch,
                None => Class::Objects,
            };
            SourceDocument {
                number,
                class,
                document,
            }
        })
    }
}

impl SourceDocument<'_> {
    /// Why nothing of it was read, and where; `None` if it was.
    pub fn unread(&self) -> Option<(usize, String)> {
        if let Class::Template(template) = self.class {
            return Some((template.mark.start(), template.to_string()));
        }
        let problem = self.document.unreadable()?;
        Some((problem.span.start(), problem.to_string()))
    }

    /// Its objects; none if nothing was read.
    pub fn objects(&self) -> Vec<SourceObject<'_>> {
        let mut objects = Vec::new();
        if self.unread().is_some() {
            return objects;
        }
        manifest::each_object(self.document.value(), &mut |object| {
            objects.push(SourceObject {
                pool: pool_version(&object),
                span: self
                    .document
                    .span_of(&object.path)
                    .unwrap_or(self.document.span()),
                object,
            });
        });
        objects
    }

    /// Why the text of an object of it must not be edited, if so.
    pub fn edits_left(&self, object: &Json<'_>) -> Option<LeftAlone> {
        match self.class {
            Class::Encrypted => Some(LeftAlone::Encrypted),
            Class::HelmTemplate | Class::Template(_) => Some(LeftAlone::Template),
            Class::Patch => Some(LeftAlone::Patch),
            _ => has_braces(object).then_some(LeftAlone::Template),
        }
    }

    /// Why an object of it is not what will be applied, if so. Besides the reasons of [`Self::edits_left`], a variable without
    /// a value could contain anything.
    pub fn left(&self, object: &Json<'_>) -> Option<LeftAlone> {
        let variables = || is_open(object).then_some(LeftAlone::Variables);
        self.edits_left(object).or_else(variables)
    }
}

/// The NodePools of a value, each with its version.
pub fn pools<'d>(document: &'d Json<'d>) -> Vec<(ManifestObject<'d>, ApiVersion)> {
    let mut pools = Vec::new();
    manifest::each_object(document, &mut |object| {
        let version = pool_version(&object);
        pools.extend(version.map(|version| (object, version)));
    });
    pools
}

fn pool_version(object: &ManifestObject<'_>) -> Option<ApiVersion> {
    let (group, version) = object.version?.split_once('/')?;
    let is_pool = group == GROUP && object.kind == Some("NodePool");
    ApiVersion::parse(version).filter(|_| is_pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: &str = "apiVersion: karpenter.sh/v1\nkind: NodePool\n";

    fn classes(text: &str, whole: Whole) -> Vec<Class> {
        let variables = Variables::default();
        let text = SourceText {
            whole,
            ..SourceText::whole(text, &variables)
        };
        let documents = text.documents(&Limits::default());
        documents.map(|document| document.class).collect()
    }

    fn left(pool: &str, variables: &Variables) -> Option<LeftAlone> {
        let text = SourceText::whole(&format!("{POOL}{pool}"), variables);
        let document = text.documents(&Limits::default()).next().expect("a document");
        let objects = document.objects();
        let [object] = objects.as_slice() else {
            panic!("{objects:?}");
        };
        document.left(object.object.value)
    }

    #[test]
    fn each_document_has_a_class_of_its_own() {
        let jinja = format!("{POOL}spec:\n{{% if a %}}\n  weight: 1\n{{% endif %}}\n");
        let helm = format!("{POOL}spec:\n  {{{{- if .a }}}}\n  weight: 1\n  {{{{- end }}}}\n");
        let encrypted = r#"{"sops": {"mac": "x"}}"#;
        let text = format!("{POOL}---\n{jinja}---\na: [\n---\n{encrypted}\n---\n{helm}---\n{POOL}");
        let found = classes(&text, Whole::Whole);
        assert!(matches!(found[1], Class::Template(_)), "{found:?}");
        let others = [found[0], found[2], found[3], found[4], found[5]];
        let expected = [
            Class::Objects,
            Class::Broken,
            Class::Encrypted,
            Class::HelmTemplate,
            Class::Objects,
        ];
        assert_eq!(others, expected);
        assert_eq!(classes("a: [\n", Whole::Whole), [Class::Unrelated]);
        assert_eq!(classes(POOL, Whole::Part), [Class::Patch]);
    }

    #[test]
    fn values_that_sops_has_encrypted_are_found_at_any_depth() {
        for encrypted in [
            r#"{"spec": {"limits": {"cpu": "ENC[AES256_GCM,data:a,type:str]"}}}"#,
            r#"{"items": [{"a": "ENC[AES256_GCM,data:a,type:str]"}]}"#,
        ] {
            assert_eq!(
                classes(encrypted, Whole::Whole),
                [Class::Encrypted],
                "{encrypted}"
            );
        }
        for plain in [r#"{"sops": "x"}"#, r#"["sops"]"#] {
            assert_eq!(classes(plain, Whole::Whole), [Class::Objects], "{plain}");
        }
    }

    #[test]
    fn an_object_with_a_variable_that_has_no_value_is_not_what_will_be_applied() {
        let mut variables = Variables::default();
        let spec = |nodes: &str| format!("spec: {{disruption: {{budgets: [{{nodes: \"{nodes}\"}}]}}}}\n");
        assert_eq!(left(&spec("10%"), &variables), None);
        assert_eq!(left(&spec("${N}"), &variables), Some(LeftAlone::Variables));
        assert_eq!(left(&spec("${N:=10%}"), &variables), None);
        let braces = spec("{{ .Values.nodes }}");
        assert_eq!(left(&braces, &variables), Some(LeftAlone::Template));
        variables.add_lines("N=5").expect("a line");
        assert_eq!(left(&spec("${N}"), &variables), None);
        for plain in ["$$A", "{x}}"] {
            assert_eq!(left(&spec(plain), &variables), None, "{plain}");
        }
    }
}
