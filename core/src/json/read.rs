//! Parses text into [`Json`], leaving out what nothing uses.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::Json;

/// Fields by name, and how much of each is read.
type FieldMasks<'p> = &'p [(&'p str, FieldMask<'p>)];

/// How much of a value is read.
#[derive(Debug, Clone, Copy)]
pub enum FieldMask<'p> {
    /// The whole value, with everything nested in it.
    All,
    /// Nothing: it is left out.
    Nothing,
    /// If it is an object, every field, but of these fields no more than given. Anything else is read whole.
    AllBut(FieldMasks<'p>),
    /// If it is an object, only these fields. Anything else is read whole.
    Only(FieldMasks<'p>),
}

impl FieldMask<'_> {
    fn of_field(self, name: &str) -> Self {
        let (fields, others) = match self {
            Self::AllBut(fields) => (fields, Self::All),
            Self::Only(fields) => (fields, Self::Nothing),
            Self::All | Self::Nothing => return self,
        };
        let field = fields.iter().find(|(field, _)| *field == name);
        field.map_or(others, |(_, part)| *part)
    }
}

/// Parses JSON, nested up to 128 deep. Parts left out must be valid JSON, too.
pub fn read<'t>(text: &'t str, part: FieldMask<'_>) -> Result<Json<'t>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let json = Reader(part).deserialize(&mut reader)?;
    reader.end()?;
    Ok(json)
}

#[derive(Clone, Copy)]
struct Reader<'p>(FieldMask<'p>);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Json<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
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
        while let Some(element) = list.next_element_seed(Self(FieldMask::All))? {
            elements.push(element);
        }
        Ok(Json::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(Json::String(key)) = map.next_key_seed(Self(FieldMask::All))? {
            match self.0.of_field(&key) {
                FieldMask::Nothing => {
                    map.next_value::<IgnoredAny>()?;
                }
                part => entries.push((key, map.next_value_seed(Self(part))?)),
            }
        }
        Ok(Json::Object(entries.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WITHOUT_STATUS: FieldMask<'_> = FieldMask::AllBut(&[
        (
            "metadata",
            FieldMask::AllBut(&[("managedFields", FieldMask::Nothing)]),
        ),
        ("status", FieldMask::Nothing),
    ]);

    #[test]
    fn what_is_left_out_is_missing_and_nothing_else() {
        let text = r#"{"metadata":{"name":"a","managedFields":[{"a":1}]},"status":{},"spec":{"status":1}}"#;
        let wanted = json!({"metadata": {"name": "a"}, "spec": {"status": 1}});
        assert_eq!(read(text, WITHOUT_STATUS).unwrap(), Json::from(&wanted));
    }

    #[test]
    fn of_an_object_only_the_fields_are_read_that_are_asked_for() {
        let text = r#"{"metadata":{"name":"a","uid":"b"},"status":{},"spec":[{"name":1}]}"#;
        let part = FieldMask::Only(&[
            ("metadata", FieldMask::Only(&[("name", FieldMask::All)])),
            ("spec", FieldMask::Only(&[])),
        ]);
        let wanted = json!({"metadata": {"name": "a"}, "spec": [{"name": 1}]});
        assert_eq!(read(text, part).unwrap(), Json::from(&wanted));
    }

    #[test]
    fn what_is_left_out_has_to_be_json_and_nothing_may_follow() {
        for text in [r#"{"status":{]}"#, "{}{}", "", r#"{"a":1,}"#] {
            assert!(read(text, WITHOUT_STATUS).is_err(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(read(&deep, FieldMask::All).is_err());
    }
}
