//! `poolgate schema`: JSON Schema of NodePools and node classes, for editors.
//!
//! A schema judges the documents of its kind alone, so that a stream of several kinds stays green. It rejects nothing that
//! `lint` accepts for the same release, provider and policy. What only rules in CEL say is not in it.

mod bounds;
mod labels;
mod nested;
mod openapi;

use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use clap::builder::PossibleValue;
use poolgate_core::api::NodeLimitMode;
use poolgate_core::facts::{ApiVersion, GROUP, NodeClassDefinition, PROVIDER_IDS, Provider, TargetKarpenter};
use poolgate_core::policy::Policy;
use poolgate_core::sha256::{DIGITS, sha256};
use serde_json::{Value, json};

use crate::listed::Listed;
use crate::review_args::ReviewArgs;
use crate::terminal;
use labels::Subject;
use nested::escaped;

const NODEPOOL: &str = "NodePool";

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The kind that the schema describes: NodePool, or a node class such as EC2NodeClass, whose newest definition is recorded
    #[arg(long, value_name = "KIND", default_value = NODEPOOL)]
    kind: String,

    /// The provider whose labels and values count [default: from the policy (cluster.provider)]
    #[arg(long, value_name = "PROVIDER", value_parser = provider_on_command_line(), hide_possible_values = true)]
    provider: Option<&'static Provider>,

    #[command(flatten)]
    review: ReviewArgs,
}

fn provider_on_command_line() -> Listed<&'static Provider> {
    Listed {
        parse: |text| {
            let known = || {
                format!(
                    "poolgate has no data on this provider. Write one of {}",
                    PROVIDER_IDS.join(", ")
                )
            };
            Provider::of_id(text).ok_or_else(known)
        },
        values: || PROVIDER_IDS.iter().copied().map(PossibleValue::new).collect(),
    }
}

/// Prints the schema. A closed pipe is not a failure.
pub fn run(args: &SchemaArgs) -> anyhow::Result<ExitCode> {
    let schema = if args.kind == NODEPOOL {
        let policy = args.review.policy()?;
        let provider = args.provider.or(policy.cluster.provider);
        let karpenter = target(args, &policy);
        if let Some(caution) = karpenter.caution() {
            terminal::remark(&caution);
        }
        let of = Subject {
            karpenter: &karpenter,
            provider,
            policy: &policy,
        };
        let mut schema = of_nodepools(of)?;
        if args.review.differs_from_release() {
            name_by_content(&mut schema)?;
        }
        schema
    } else {
        of_node_class(&args.kind, args.provider)?
    };
    terminal::print(serde_json::to_string_pretty(&schema)? + "\n")?;
    Ok(ExitCode::SUCCESS)
}

/// The Karpenter that lint checks for; with a provider on the command line and no release, the newest one of the provider.
fn target(args: &SchemaArgs, policy: &Policy) -> TargetKarpenter {
    let known = args.review.karpenter_for(policy);
    let newest = || {
        let provider = args.provider.filter(|_| known.is_assumed())?;
        provider.core_of(provider.newest?)
    };
    newest().map_or(known.clone(), TargetKarpenter::assumed)
}

fn of_nodepools(of: Subject<'_>) -> anyhow::Result<Value> {
    let versions = [ApiVersion::V1, ApiVersion::V1Beta1].into_iter();
    let (versions, schemas) = versions
        .filter_map(|version| Some((version.as_str().to_owned(), of_version(of, version)?)))
        .unzip();
    let release = of.karpenter.called();
    let (folder, whose) = of.provider.map_or((String::new(), String::new()), |provider| {
        (format!("{}/", provider.id), format!(", {}", provider.name))
    });
    let document = Document {
        group: GROUP,
        kind: NODEPOOL,
        versions,
        // Lint checks another version for the last release that serves it, unless a release is named.
        judges_other_versions: !of.karpenter.is_assumed(),
        place: format!("{folder}{}", of.karpenter.release()),
        description: format!(
            "NodePools of Karpenter {release}{whose}. Rules that only an API server can check are missing: what is valid \
             here may be rejected. poolgate lint has them"
        ),
    };
    document.schema(schemas).context("it serves no NodePools")
}

/// The schema of a NodePool of one version; `None` if Karpenter does not serve it.
fn of_version(of: Subject<'_>, version: ApiVersion) -> Option<Value> {
    let mut definition = of.karpenter.definition(version)?;
    openapi::describe(&mut definition);
    if let Some(mode) = openapi::at(&mut definition, "spec.disruption.nodeLimitMode") {
        mode.insert("enum".into(), json!(NodeLimitMode::VALUES));
    }
    // As lint does, if the webhook writes it.
    if of.policy.cluster.completes()
        && let Some(disruption) = openapi::at(&mut definition, "spec.disruption")
        && let Some(Value::Array(required)) = disruption.get_mut("required")
    {
        required.retain(|field| field != "consolidateAfter");
    }
    let mut schema = openapi::json_schema(&definition);
    let mut constraints = labels::constraints(of, version);
    constraints.extend(bounds::constraints(of.policy, version));
    schema.as_object_mut()?.insert("allOf".into(), constraints.into());
    Some(schema)
}

fn of_node_class(kind: &str, provider: Option<&Provider>) -> anyhow::Result<Value> {
    let recorded = || NodeClassDefinition::recorded();
    let Some(class) = recorded().find(|class| class.kind == kind) else {
        let known: Vec<String> = recorded().map(|class| class.kind).collect();
        bail!(
            "no definition of {} is recorded. Recorded are {NODEPOOL}, {}",
            kind.escape_debug(),
            known.join(", ")
        );
    };
    if let Some(provider) = provider {
        ensure!(
            provider.group == class.group,
            "{kind} is not a node class of {}: leave --provider out",
            provider.name
        );
    }
    let schema = openapi::json_schema(&class.schema);
    let document = Document {
        group: &class.group,
        kind,
        versions: class.versions,
        judges_other_versions: true,
        place: class.release.clone(),
        description: format!(
            "{kind} as {} {} defines it, with its descriptions (Apache-2.0). Rules that only an API server can check are \
             missing",
            class.module, class.release
        ),
    };
    document.schema(vec![schema]).context("it serves no version")
}

/// What a schema says of the documents that it judges.
struct Document<'a> {
    group: &'a str,
    kind: &'a str,
    /// Its versions, the one for new documents first.
    versions: Vec<String>,
    /// Whether any other version of the group is a mistake.
    judges_other_versions: bool,
    /// What distinguishes its name from those of other releases.
    place: String,
    description: String,
}

impl Document<'_> {
    /// The schema that judges documents of its kind and no others: each version by its own schema, or all by the last one.
    /// `None` without versions.
    fn schema(self, schemas: Vec<Value>) -> Option<Value> {
        let Self {
            group,
            kind,
            versions,
            ..
        } = self;
        let names: Vec<String> = versions
            .iter()
            .map(|version| format!("{group}/{version}"))
            .collect();
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let judged_versions = if self.judges_other_versions {
            json!({"pattern": format!("^{}/", escaped(group))})
        } else {
            json!({"enum": words})
        };
        let mut judged = None;
        for (mut schema, name) in schemas.into_iter().zip(&words).rev() {
            if let Some(Value::Object(fields)) = schema.get_mut("properties") {
                let is = |word: &str| json!({"type": "string", "const": word});
                fields.insert("kind".into(), is(kind));
                fields.insert("apiVersion".into(), json!({"type": "string", "enum": words}));
            }
            if let Some(keywords) = schema.as_object_mut() {
                keywords.insert("required".into(), required(keywords.get("required")));
            }
            judged = Some(match judged {
                None => schema,
                Some(others) => json!({
                    "if": {"required": ["apiVersion"], "properties": {"apiVersion": {"const": name}}},
                    "then": schema,
                    "else": others,
                }),
            });
        }
        let id = format!(
            "https://poolgate.dev/schemas/{}/{group}/{}_{}.json",
            self.place,
            kind.to_lowercase(),
            versions.first()?
        );
        Some(json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": id,
            "description": self.description,
            "properties": {
                "apiVersion": labels::offered(&words),
                "kind": labels::offered(&[kind]),
            },
            "if": {
                "required": ["apiVersion", "kind"],
                "properties": {"apiVersion": judged_versions, "kind": {"const": kind}},
                // Encrypted by SOPS.
                "not": {"required": ["sops"]},
            },
            "then": judged?,
        }))
    }
}

/// The fields that every object has, and those of its definition.
fn required(own: Option<&Value>) -> Value {
    let own = own.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut all = vec![json!("apiVersion"), json!("kind")];
    all.extend(own);
    all.into()
}

/// Gives a schema that a policy or an installed definition changes a name of its own: two schemas with one name contradict
/// each other.
fn name_by_content(schema: &mut Value) -> anyhow::Result<()> {
    let hash = sha256(&serde_json::to_vec(schema)?);
    let hash: String = hash.chars().take(DIGITS).collect();
    if let Some(Value::String(id)) = schema.get_mut("$id") {
        *id = format!("{}-{hash}.json", id.trim_end_matches(".json"));
    }
    Ok(())
}
