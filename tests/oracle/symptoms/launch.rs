//! What happens when nodes are launched for a pool.

use poolgate_core::api::NODE_LIMIT_ANNOTATION;
use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::value::quantity::Quantity;
use serde_json::{Value, json};

use super::{SuspectPool, indexes};
use crate::oracle::program::Answer;

/// What Karpenter's scheduler does with a pool.
enum Launch {
    /// The nodes that it launches.
    Nodes(Vec<Value>),
    /// None: another provider's pool is ignored.
    Ignored,
    /// It crashes.
    Harmed,
}

impl SuspectPool<'_> {
    /// Whether Karpenter's scheduler can be run; only the newest one can.
    fn is_asked(&self) -> bool {
        self.is_read() && self.object["apiVersion"] == "karpenter.sh/v1"
    }

    /// Launches a node for a pod that only an object like this could serve.
    fn launch(&mut self, object: &Value) -> Option<Launch> {
        self.launch_for(object, false)
    }

    fn launch_for(&mut self, object: &Value, is_intolerant: bool) -> Option<Launch> {
        if !self.is_asked() {
            return None;
        }
        let question =
            json!({"kind": "provision", "object": object, "count": 1, "intolerant": is_intolerant});
        Some(match self.ask(question) {
            Answer::Harmed(_) => Launch::Harmed,
            Answer::Given(answer) if answer["managed"] == false => Launch::Ignored,
            Answer::Given(answer) => {
                Launch::Nodes(answer["launched"].as_array().expect("a list of nodes").clone())
            }
        })
    }

    /// The node that the object itself causes.
    fn node(&mut self) -> Option<Value> {
        let object = self.object;
        self.node_of(object)
    }

    fn node_of(&mut self, object: &Value) -> Option<Value> {
        match self.launch(object)? {
            Launch::Nodes(nodes) => Some(nodes.into_iter().next().unwrap_or(Value::Null)),
            Launch::Ignored | Launch::Harmed => None,
        }
    }

    /// The requirement that a path is in: its pointer, and its key.
    fn requirement(&self, path: &FieldPath) -> Option<(String, &str)> {
        let pointer = format!("/spec/template/spec/requirements/{}", indexes(path).first()?);
        let key = self.object.pointer(&pointer)?.get("key")?.as_str()?;
        Some((pointer, key))
    }
}

impl Launch {
    fn is_nothing(&self) -> Option<bool> {
        match self {
            Self::Nodes(nodes) => Some(nodes.is_empty()),
            Self::Harmed => Some(true),
            Self::Ignored => None,
        }
    }
}

/// No node is launched, or Karpenter crashes. The scheduler does not launch nodes of a static pool.
pub fn launches_nothing(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let object = suspect.object;
    let is_static = object["spec"].get("replicas").is_some();
    suspect.launch(object).filter(|_| !is_static)?.is_nothing()
}

/// The pool has no room for a node.
pub fn has_no_room(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    match granted(suspect) {
        Some((0, _)) => Some(true),
        // `Quantity.Value` rounds a negative fraction such as -.7n up to 1, and reads some negative multiples of 1024
        // such as -127Ti so, too, which is not a sensible limit of a static pool.
        Some(_) => (!is_rounded(path.find_value(suspect.object)?)).then_some(false),
        None => launches_nothing(suspect, path),
    }
}

fn is_rounded(limit: &Value) -> bool {
    limit
        .as_str()
        .is_some_and(|text| text.contains(['.', 'n', 'u', 'm', 'i']))
}

/// No node is launched, or none with the label.
pub fn launches_nothing_with_the_label(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    if launches_nothing(suspect, path)? {
        return Some(true);
    }
    launches_without_the_label(suspect, path)
}

/// No node is launched, or none with the label, or all with a value that is ruled out: it depends on whether instance types
/// have the label.
pub fn contradicts(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let shows = [
        launches_nothing_with_the_label,
        launches_with_a_label_that_is_ruled_out,
    ];
    for shows in shows {
        if shows(suspect, path)? {
            return Some(true);
        }
    }
    Some(false)
}

/// No node is launched if this value is the only one.
pub fn launches_nothing_alone(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let (pointer, _) = suspect.requirement(path)?;
    let mut object = suspect.object.clone();
    let requirement = object.pointer_mut(&pointer)?;
    let value = requirement["values"].get(*indexes(path).get(1)?)?.clone();
    requirement["operator"] = "In".into();
    requirement["values"] = json!([value]);
    suspect.launch(&object)?.is_nothing()
}

/// No node is launched for a pod that tolerates nothing.
pub fn keeps_pods_away(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    // A startup taint that nobody removes harms nodes that are there.
    if path.to_string().contains("startupTaints") {
        return None;
    }
    let object = suspect.object;
    suspect.launch_for(object, true)?.is_nothing()
}

/// No provider has the node class. Only known for classes that are intended for the linked provider.
pub fn is_ignored(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let object = suspect.object;
    let reference = object.pointer("/spec/template/spec/nodeClassRef")?;
    let is_kwok = reference.to_string().to_ascii_lowercase().contains("kwok");
    let launch = suspect.launch(object).filter(|_| is_kwok)?;
    Some(matches!(launch, Launch::Ignored))
}

/// How many of the nodes that a static pool wants it gets, and how many more.
fn granted(suspect: &mut SuspectPool<'_>) -> Option<(i64, i64)> {
    let mut object = suspect.object.clone();
    if !suspect.is_asked() || object["spec"].get("replicas").is_none() {
        return None;
    }
    // Where the annotation has a limit, poolgate writes it over that of the spec.
    let annotated = object
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(NODE_LIMIT_ANNOTATION));
    let annotated = annotated
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<u32>().ok());
    if let (Some(limit), Some(spec)) = (annotated, object["spec"].as_object_mut()) {
        let limits = spec.entry("limits").or_insert_with(|| json!({}));
        if let Some(limits) = limits.as_object_mut() {
            limits.insert("nodes".into(), limit.to_string().into());
        }
    }
    let answer = suspect.ask(json!({"kind": "static", "object": object})).given();
    Some((answer["granted"].as_i64()?, answer["spare"].as_i64()?))
}

/// A static pool never has as many nodes as it wants.
pub fn is_granted_fewer(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let wanted = suspect.object["spec"]["replicas"].as_i64()?;
    Some(granted(suspect)?.0 < wanted)
}

/// A static pool has no room to replace a node.
pub fn has_none_to_spare(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    Some(granted(suspect)?.1 == 0)
}

fn is_exceeded(suspect: &mut SuspectPool<'_>, usage: &Value) -> Option<bool> {
    let object = suspect.object;
    if !suspect.is_asked() {
        return None;
    }
    match suspect.ask(json!({"kind": "limits", "object": object, "usage": usage})) {
        Answer::Given(answer) => Some(answer["exceeded"].is_string()),
        Answer::Harmed(_) => None,
    }
}

/// Karpenter cannot decode the limit, or hangs when it reads the limit or compares it with the pool's usage.
fn hangs_or_is_unreadable(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let is_seen = super::hangs_or_is_unreadable(suspect, path);
    if is_seen != Some(false) {
        return is_seen;
    }
    let Some(Segment::Key(resource)) = path.segments().last().filter(|_| suspect.is_asked()) else {
        return None;
    };
    let mut usage = json!({});
    usage[&**resource] = json!("4");
    let object = suspect.object;
    let answer = suspect.ask(json!({"kind": "limits", "object": object, "usage": usage}));
    Some(matches!(answer, Answer::Harmed(_)))
}

/// The amount of a limit is one that Karpenter cannot decode or hangs on, that leaves no room for a node, or that it rounds up.
pub fn is_no_amount(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let text = match path.find_value(suspect.object)? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match Quantity::parse(&text) {
        Err(_) => hangs_or_is_unreadable(suspect, path),
        Ok(amount) if amount.is_negative() => has_no_room(suspect, path),
        Ok(_) => is_rounded_up(suspect, path),
    }
}

/// No node exceeds the limits, however large.
pub fn is_exceeded_by_nothing(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let much = "1000000000000";
    let usage = json!({"cpu": much, "memory": much, "pods": much, "nodes": much, "ephemeral-storage": much});
    is_exceeded(suspect, &usage).map(|is_exceeded| !is_exceeded)
}

/// A pool with fewer nodes than the limit may have another, and then exceeds it.
fn is_rounded_up(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let limit = match &suspect.object["spec"]["limits"]["nodes"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let answer = suspect.ask(json!({"kind": "quantity", "text": limit})).given();
    let nanos: i128 = answer["nanos"].as_str()?.parse().ok()?;
    let whole = nanos.div_euclid(1_000_000_000);
    let usage = json!({"nodes": whole.to_string()});
    let is_exceeded = is_exceeded(suspect, &usage)?;
    Some(whole * 1_000_000_000 < nanos && !is_exceeded)
}

/// Karpenter writes the label on the node, although the author expected it on instance types.
pub fn becomes_a_custom_label(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let key = suspect.requirement(path)?.1.to_owned();
    Some(suspect.node()?["labels"].get(&key).is_some())
}

/// Nodes are created without the label.
fn launches_without_the_label(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let key = suspect.requirement(path)?.1.to_owned();
    let node = suspect.node()?;
    Some(node["labels"].is_object() && node["labels"].get(&key).is_none())
}

/// The node has the label, but Karpenter finds that the requirements leave no room for its value: with the value as
/// one more requirement in place of the template's label, it launches nodes without the label.
fn launches_with_a_label_that_is_ruled_out(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let key = suspect.requirement(path)?.1.to_owned();
    let Some(value) = suspect.node()?["labels"].as_object()?.get(&key).cloned() else {
        return Some(false);
    };
    let mut asked = suspect.object.clone();
    let template = asked.pointer_mut("/spec/template")?;
    if let Some(labels) = template
        .pointer_mut("/metadata/labels")
        .and_then(Value::as_object_mut)
    {
        labels.remove(&key);
    }
    let list = template.pointer_mut("/spec/requirements")?.as_array_mut()?;
    list.push(json!({"key": key, "operator": "In", "values": [value]}));
    let node = suspect.node_of(&asked)?;
    Some(node["labels"].as_object()?.get(&key).is_none())
}

/// The label's value is a number that is not in the object.
pub fn invents_a_label(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let key = suspect.requirement(path)?.1.to_owned();
    let node = suspect.node()?;
    let value = node["labels"].get(&key)?.as_str()?.to_owned();
    Some(value.parse::<u64>().is_ok() && !suspect.object.to_string().contains(&value))
}

/// Every node has the annotation.
pub fn annotates_all(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let Some(Segment::Key(key)) = path.segments().last() else {
        return None;
    };
    Some(suspect.node()?["annotations"].get(key.as_ref()).is_some())
}

/// Whether the same number of instance types matches after a change.
fn is_the_same(suspect: &mut SuspectPool<'_>, change: impl FnOnce(&mut Value) -> Option<()>) -> Option<bool> {
    let mut changed = suspect.object.clone();
    change(&mut changed)?;
    let before = suspect.node()?["instanceTypes"].clone();
    Some(suspect.node_of(&changed)?["instanceTypes"] == before)
}

/// What the path is of could be left out: a value, a requirement or all values; or it lacks values, and is `Exists`.
pub fn is_redundant(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    if let Some(Segment::Index(_)) = path.segments().last() {
        return element_changes_nothing(suspect, path);
    }
    let values = path.find_value(suspect.object).and_then(Value::as_array);
    if values.is_some_and(|values| !values.is_empty()) {
        values_change_nothing(suspect, path)
    } else {
        is_exists(suspect, path)
    }
}

/// The values could be left out.
fn values_change_nothing(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let (pointer, _) = suspect.requirement(path)?;
    is_the_same(suspect, |object| {
        object.pointer_mut(&pointer)?["values"] = json!([]);
        Some(())
    })
}

/// The operator could be `Exists`.
fn is_exists(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let (pointer, _) = suspect.requirement(path)?;
    is_the_same(suspect, |object| {
        let requirement = object.pointer_mut(&pointer)?;
        requirement["operator"] = "Exists".into();
        requirement["values"] = json!([]);
        Some(())
    })
}

/// The list element at the path could be left out.
fn element_changes_nothing(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let pointer = path.to_pointer();
    is_the_same(suspect, |object| {
        let (list, index) = pointer.rsplit_once('/')?;
        let list = object.pointer_mut(list)?.as_array_mut()?;
        let index: usize = index.parse().ok()?;
        (index < list.len()).then(|| list.remove(index))?;
        Some(())
    })
}
