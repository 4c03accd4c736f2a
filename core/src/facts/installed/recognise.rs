//! Which release a definition belongs to: a definition does not name one.

use super::schema::Schema;
use crate::facts::release::{DEFINITIONS, Definition};
use crate::facts::{ApiVersion, ReleaseRange};

/// The releases whose definition looks like this one: those of the newest one with something new that is in it; `None` for a
/// definition that is older than all known ones. Providers change their copies, but none takes anything back.
pub(super) fn releases(schemas: &[Schema]) -> Option<ReleaseRange> {
    let v1 = schemas.iter().find(|schema| schema.version == ApiVersion::V1)?;
    let serves_old = schemas
        .iter()
        .any(|schema| schema.version != ApiVersion::V1 && schema.served);
    let old = ApiVersion::V1Beta1.as_str();
    let mut before: Option<&Definition> = None;
    let mut like = None;
    for definition in &DEFINITIONS {
        let is_first = |was: fn(&Definition, &str) -> bool, version| {
            was(definition, version) && before.is_some_and(|before| !was(before, version))
        };
        let begins = definition.begins.iter().any(|said| v1.says(said));
        let stores = v1.stored && is_first(|one, version| one.stored == version, v1.version.as_str());
        let serves_v1_alone = !serves_old && is_first(|one, version| !one.served.contains(&version), old);
        if before.is_none() || begins || stores || serves_v1_alone {
            like = Some(definition.releases);
        }
        before = Some(definition);
    }
    like
}
