//! From text to [`Json`], past what nobody looks at.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Number;

use super::Json;

/// The fields of an object of which something is left out.
pub type Skip = &'static [(&'static str, Skipped)];

/// What is left out of a field.
#[derive(Debug, Clone, Copy)]
pub enum Skipped {
    /// The field itself.
    Whole,
    /// Fields of the object that it holds.
    Below(Skip),
}

/// Reads a text of JSON, which may be nested 128 deep, without the fields to skip. They have to be JSON, too.
pub fn read(text: &str, skip: Skip) -> Result<Json<'_>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let json = Reader(skip).deserialize(&mut reader)?;
    reader.end()?;
    Ok(json)
}

#[derive(Clone, Copy)]
struct Reader(Skip);

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Json<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element_seed(Self(&[]))? {
            elements.push(element);
        }
        Ok(Json::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            let skipped = self.0.iter().find(|(name, _)| *name == key);
            let below: Skip = match skipped {
                Some((_, Skipped::Whole)) => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                Some((_, Skipped::Below(fields))) => fields,
                None => &[],
            };
            entries.push((key, map.next_value_seed(Self(below))?));
        }
        Ok(Json::Object(entries.into_iter().collect()))
    }
}

/// A key, borrowed where it can be.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STATUS: Skip = &[
        ("metadata", Skipped::Below(&[("managedFields", Skipped::Whole)])),
        ("status", Skipped::Whole),
    ];

    #[test]
    fn what_is_to_be_skipped_is_left_out_and_nothing_else() {
        let text = r#"{"metadata":{"name":"a","managedFields":[{"a":1}]},"status":{},"spec":{"status":1}}"#;
        let wanted = json!({"metadata": {"name": "a"}, "spec": {"status": 1}});
        assert_eq!(read(text, STATUS).unwrap(), Json::from(&wanted));
    }

    #[test]
    fn what_is_skipped_has_to_be_json_and_nothing_may_follow() {
        for text in [r#"{"status":{]}"#, "{}{}", "", r#"{"a":1,}"#] {
            assert!(read(text, STATUS).is_err(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(read(&deep, &[]).is_err());
    }
}
