//! The oracle's answer about an object: the objections of the API server and Karpenter.

use poolgate_core::diagnostic::{FieldPath, Origin, Segment};
use serde::Deserialize;
use serde_json::Value;

use super::program::Answer;

/// One thing that is wrong with an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Objection {
    /// The kind of mistake in the API server's words; empty if Karpenter objects.
    #[serde(rename = "type")]
    pub(crate) error_type: String,
    /// The field in the API server's notation; empty if unknown.
    pub(crate) field: String,
    /// What is wrong.
    pub(crate) detail: String,
}

impl Objection {
    /// Takes the field from the sentence, if the API server names it only there.
    fn locate(&mut self) {
        if self.field != "<nil>" || self.is_note() {
            return;
        }
        // In quotes or at the end, because a field's name may have spaces; else it is a word of the sentence.
        let is_field = |text: &&str| text.starts_with("spec");
        let quoted = self.detail.split('"').skip(1).step_by(2).filter(is_field).last();
        // Go writes non-ASCII spaces and the like with an escape that JSON knows, too.
        if let Some(unescaped) = quoted.and_then(|text| serde_json::from_str(&format!("\"{text}\"")).ok()) {
            self.field = unescaped;
            return;
        }
        let at_the_end = || {
            let (_, end) = self.detail.rsplit_once(" in ")?;
            Some(end).filter(is_field)
        };
        let named = quoted
            .or_else(at_the_end)
            .or_else(|| self.detail.split(['"', ' ']).rfind(is_field));
        self.field = named.unwrap_or_default().to_owned();
    }

    /// Whether it only says that other checks were skipped: the CEL rules.
    pub(crate) fn is_note(&self) -> bool {
        self.detail.contains("some validation rules were not checked")
    }
}

/// The answer to `judge`, and for a stored object to `suffer`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Judgement {
    /// What the API server says about metadata, whatever the kind.
    pub(crate) metadata: Vec<Objection>,
    /// What it says because of the definition.
    pub(crate) schema: Vec<Objection>,
    /// Whether the rest is meaningful: the linked Karpenter has types of this version.
    pub(crate) followed: bool,
    /// Why Karpenter cannot read it, and then no other NodePool.
    pub(crate) decode: Vec<Objection>,
    /// Why Karpenter ignores it.
    pub(crate) runtime: Vec<Objection>,
    /// The panic that crashes Karpenter when it makes a NodeClaim of it.
    pub(crate) launch: Option<String>,
    /// Why the API server rejects that NodeClaim.
    pub(crate) claim: Vec<Objection>,
    /// How the question harmed the oracle; it would harm Karpenter in the same way.
    #[serde(skip)]
    pub(crate) harmed: Option<String>,
}

/// The step at which an object fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The definition.
    Schema,
    /// Karpenter's decoder.
    Decode,
    /// Karpenter's validation.
    Runtime,
    /// Karpenter hangs on it, or crashes.
    Harm,
}

impl Step {
    /// The origin of a finding about a failure at this step.
    pub(crate) const fn origin(self) -> Origin {
        match self {
            Self::Schema => Origin::Schema,
            Self::Runtime => Origin::Runtime,
            Self::Decode | Self::Harm => Origin::Silent,
        }
    }
}

impl Judgement {
    /// Reads an answer.
    pub(crate) fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Given(answer) => {
                let mut judgement = Self::deserialize(answer).expect("judge answers as documented");
                judgement.schema.iter_mut().for_each(Objection::locate);
                judgement
            }
            Answer::Harmed(why) => Self {
                followed: true,
                harmed: Some(why.clone()),
                ..Self::default()
            },
        }
    }

    /// The same without what follows the definition.
    pub(crate) fn by_definition(self) -> Self {
        Self {
            metadata: self.metadata,
            schema: self.schema,
            ..Self::default()
        }
    }

    /// The first step at which the object fails, and why.
    pub(crate) fn rejection(&self) -> Option<(Step, Vec<Objection>)> {
        let harm = self.harmed.as_ref().or(self.launch.as_ref());
        let harm: Vec<Objection> = harm
            .map(|detail| Objection {
                detail: detail.clone(),
                ..Objection::default()
            })
            .into_iter()
            .collect();
        [
            (Step::Schema, self.schema.clone()),
            (Step::Decode, self.decode.clone()),
            (Step::Runtime, self.runtime.clone()),
            (Step::Harm, harm),
        ]
        .into_iter()
        .find(|(_, objections)| !objections.is_empty())
    }

    /// Whether Karpenter's validation was run: it runs on what is stored and can be read.
    pub(crate) fn is_validated(&self) -> bool {
        let is_read = self.decode.is_empty() && self.harmed.is_none();
        self.followed && self.schema.is_empty() && is_read
    }

    /// Whether the definition's CEL rules were skipped.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.schema.iter().any(Objection::is_note)
    }
}

/// Whether one of two fields is within the other, or both are the same. An unknown field is around all.
pub(crate) fn is_around(one: &str, other: &str) -> bool {
    let (one, other) = (steps(one), steps(other));
    one.starts_with(&other) || other.starts_with(&one)
}

/// Whether two notations mean the same field: poolgate puts the keys of maps in brackets, the API server does not.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    steps(one) == steps(other)
}

/// A path of poolgate's with unescaped keys.
pub(crate) fn plain(path: &FieldPath) -> String {
    let mut written = String::new();
    for segment in path.segments() {
        match segment {
            Segment::Key(key) => written.push_str(key),
            Segment::Index(index) => written.push_str(&index.to_string()),
        }
        written.push('.');
    }
    written
}

fn steps(path: &str) -> Vec<&str> {
    let steps = path.split(['.', '[', ']']);
    steps.filter(|step| !step.is_empty()).collect()
}

/// The fields of a NodePool that a field of its NodeClaim comes from.
pub(crate) fn fields_behind(claims_field: &str) -> Vec<String> {
    const TEMPLATE: &str = "spec.template.spec";
    const LABELLED: [&str; 4] = [
        "metadata.name",
        "spec.template.metadata.labels",
        "spec.template.spec.requirements",
        "spec.template.spec.nodeClassRef",
    ];
    let is_within = |parent: &str| is_around(claims_field, parent) && claims_field.starts_with(parent);
    if ["metadata.labels", "spec.requirements"]
        .iter()
        .any(|labels| is_within(labels))
    {
        LABELLED.map(str::to_owned).to_vec()
    } else if is_within("metadata.annotations") {
        vec![format!("spec.template.{claims_field}")]
    } else if is_within("metadata") {
        // The name is the pool's with a suffix.
        vec!["metadata.name".to_owned()]
    } else {
        let field = claims_field.strip_prefix("spec").unwrap_or_default();
        // In v1beta1 the lifetime is under `disruption`.
        vec![format!("{TEMPLATE}{field}"), format!("spec.disruption{field}")]
    }
}

/// The value of a field in the API server's notation.
pub(crate) fn at<'v>(object: &'v Value, field: &str) -> Option<&'v Value> {
    let steps = field
        .trim_start_matches('.')
        .replace(['.', '['], "/")
        .replace(']', "");
    object.pointer(&format!("/{steps}"))
}

/// Whether the value is or contains a whole number with a decimal point.
pub(crate) fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|value| value.fract() == 0.0),
        Value::Array(list) => list.iter().any(has_whole_float),
        Value::Object(map) => map.values().any(has_whole_float),
        _ => false,
    }
}

/// Whether the API server reports that it has a float where it can only compare integers.
pub(crate) fn is_about_float(detail: &str) -> bool {
    [
        "is of the type float64, expected int64",
        "invalid data, expected int, got float64 evaluating rule",
        "expected XIntOrString value to be either a string or integer",
    ]
    .iter()
    .any(|text| detail.contains(text))
}
