//! Which object of one side is which of the other.

use std::collections::BTreeMap;

use super::side::{Key, Placed};

/// The objects of two sides: those on both, and those on one only.
#[derive(Debug, Default)]
pub struct Pairs<'a> {
    pub both: Vec<(&'a Placed, &'a Placed)>,
    pub gone: Vec<&'a Placed>,
    pub added: Vec<&'a Placed>,
}

/// Objects that nobody can tell apart.
#[derive(Debug, thiserror::Error)]
#[error(
    "{key} is ambiguous: OLD has it at {old}, NEW at {new}. Compare the manifests of one cluster at a time, or two folders with \
     the same paths"
)]
pub struct Ambiguous {
    key: Key,
    old: String,
    new: String,
}

/// Pairs the objects that have the same kind and name: by the same path below their roots, then if there is one on each side.
pub fn pairs<'a>(
    old: impl IntoIterator<Item = &'a Placed>,
    new: impl IntoIterator<Item = &'a Placed>,
) -> Result<Pairs<'a>, Ambiguous> {
    let mut named: BTreeMap<&Key, [Vec<&Placed>; 2]> = BTreeMap::new();
    for placed in old {
        let [old, _] = named.entry(&placed.key).or_default();
        old.push(placed);
    }
    for placed in new {
        let [_, new] = named.entry(&placed.key).or_default();
        new.push(placed);
    }
    let mut pairs = Pairs::default();
    for (key, [old, new]) in named {
        let is_unique = old.len() == 1 && new.len() == 1;
        let mut added = new.clone();
        let mut gone = Vec::new();
        for &before in &old {
            match added
                .iter()
                .position(|after| is_unique || after.path == before.path)
            {
                Some(at) => pairs.both.push((before, added.remove(at))),
                None => gone.push(before),
            }
        }
        let is_ambiguous = !(gone.is_empty() || added.is_empty()) || repeats(&old) || repeats(&new);
        if is_ambiguous {
            return Err(Ambiguous {
                key: key.clone(),
                old: places(&old),
                new: places(&new),
            });
        }
        pairs.gone.extend(gone);
        pairs.added.extend(added);
    }
    Ok(pairs)
}

/// Whether two stand in the same file.
fn repeats(placed: &[&Placed]) -> bool {
    let mut paths: Vec<&str> = placed.iter().map(|placed| &*placed.path).collect();
    paths.sort_unstable();
    !paths.is_sorted_by(|one, next| one < next)
}

fn places(all: &[&Placed]) -> String {
    if all.is_empty() {
        return "none".to_owned();
    }
    let each: Vec<&str> = all.iter().map(|one| &*one.place).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use poolgate_core::karpenter::ApiVersion;
    use serde_json::Value;

    use super::*;

    fn placed(paths: &[(&str, &str)]) -> Vec<Placed> {
        let placed = |(path, name): &(&str, &str)| Placed {
            key: Key {
                group: "karpenter.sh".into(),
                kind: "NodePool".into(),
                name: (*name).to_owned(),
            },
            path: (*path).to_owned(),
            place: format!("{path}:1"),
            folder: ".".into(),
            version: ApiVersion::V1,
            object: Value::Null,
        };
        paths.iter().map(placed).collect()
    }

    fn paired(old: &[(&str, &str)], new: &[(&str, &str)]) -> Result<String, String> {
        let (old, new) = (placed(old), placed(new));
        let pairs = pairs(&old, &new).map_err(|error| error.to_string())?;
        let both = pairs
            .both
            .iter()
            .map(|(old, new)| format!("{}={}", old.path, new.path));
        let gone = pairs.gone.iter().map(|gone| format!("-{}", gone.path));
        let added = pairs.added.iter().map(|added| format!("+{}", added.path));
        Ok(both.chain(gone).chain(added).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn pools_are_paired_by_path_and_those_that_moved_by_their_name() {
        assert_eq!(
            paired(&[("a", "x"), ("b", "x")], &[("b", "x"), ("a", "x")]).as_deref(),
            Ok("a=a b=b")
        );
        assert_eq!(paired(&[("a", "x")], &[("b", "x")]).as_deref(), Ok("a=b"));
        assert_eq!(paired(&[("a", "x")], &[("a", "y")]).as_deref(), Ok("-a +a"));
        assert_eq!(
            paired(&[("a", "x"), ("b", "x")], &[("a", "x")]).as_deref(),
            Ok("a=a -b")
        );
        assert_eq!(
            paired(&[("a", "x")], &[("a", "x"), ("b", "x")]).as_deref(),
            Ok("a=a +b")
        );
        assert_eq!(paired(&[], &[]).as_deref(), Ok(""));
    }

    #[test]
    fn pools_that_cannot_be_told_apart_are_an_error_that_says_where_they_stand() {
        for (old, new) in [
            (&[("a", "x"), ("b", "x")][..], &[("a", "x"), ("c", "x")][..]),
            (&[("a", "x"), ("b", "x")], &[("", "x")]),
            (&[("", "x"), ("", "x")], &[("", "x")]),
            (&[], &[("", "x"), ("", "x")]),
        ] {
            let error = paired(old, new).expect_err("ambiguous");
            assert!(
                error.contains("NodePool x") && error.contains("one cluster's rendering"),
                "{error}"
            );
            for (path, _) in old.iter().chain(new) {
                assert!(error.contains(&format!("{path}:1")), "{error}");
            }
        }
    }
}
