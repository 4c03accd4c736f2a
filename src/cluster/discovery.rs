//! Where the API server serves a kind.

use std::time::Duration;

use kube::Client;
use serde_json::Value;

use super::api::{ApiError, Deadline};
use super::collection::Collection;

/// The path of the objects of a kind; `None` if it is not served. Each answer may take this long.
pub async fn served_at(
    client: &Client,
    group: &str,
    kind: &str,
    answer: Duration,
) -> Result<Option<String>, ApiError> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-.".contains(character);
    if !group.chars().all(is_plain) {
        return Ok(None);
    }
    let get = async |path: &str, name: &str| {
        let found = Collection::<Value>::new(client.clone(), path);
        let found = found.get_opt(name, Deadline::within(answer)).await?;
        Ok::<_, ApiError>(found.unwrap_or_default())
    };
    let served = get("/apis", group).await?;
    for version in listed(&served, "versions").filter_map(|version| version.get("version")?.as_str()) {
        let resources = get(&format!("/apis/{group}"), version).await?;
        let mut plurals = listed(&resources, "resources")
            .filter(|resource| resource.get("kind").and_then(Value::as_str) == Some(kind))
            .filter_map(|resource| resource.get("name")?.as_str())
            .filter(|plural| !plural.contains('/'));
        if let Some(plural) = plurals.next() {
            return Ok(Some(format!("/apis/{group}/{version}/{plural}")));
        }
    }
    Ok(None)
}

/// The elements of a list in an answer.
fn listed<'v>(answer: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    let list = answer.get(field).and_then(Value::as_array);
    list.into_iter().flatten()
}
