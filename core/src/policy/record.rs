//! How a file of poolgate's is read. A type says in one place which fields it has ([`Record`]); the same calls read them,
//! report every mistake with its path, and describe them for the JSON Schema.

use std::marker::PhantomData;

use serde_json::{Map, Value, json};

use crate::diagnostic::{FieldPath, Suggestion, nearest, quoted, sentences};

/// An object in a file.
pub trait Record: Sized {
    /// Reads each field, also after a mistake in another; `None` if a required one is missing or wrong.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
}

/// The kind of value that a field has.
pub trait Kind {
    /// The type of the value that is read.
    type Value;

    /// The value; `None` if a mistake was reported instead.
    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<Self::Value>;

    /// The value as a JSON Schema. It may be looser where a schema cannot say it.
    fn schema(&self) -> Value;
}

/// A struct with one line for each field: its name and type here, how it is read (`required`, `optional`, `or_default`), its
/// name in the file, its kind, and a sentence about it.
macro_rules! record {
    (@get required $fields:ident, $($field:tt)*) => { $fields.required($($field)*) };
    (@get optional $fields:ident, $($field:tt)*) => { Some($fields.optional($($field)*)) };
    (@get or_default $fields:ident, $($field:tt)*) => { Some($fields.optional($($field)*).unwrap_or_default()) };
    (
        $(#[$attribute:meta])*
        pub struct $record:ident {
            $($field:ident: $type:ty = $getter:ident $name:literal, $kind:expr, $about:literal;)*
        }
    ) => {
        $(#[$attribute])*
        pub struct $record {
            $(#[doc = $about] pub $field: $type,)*
        }

        impl $crate::policy::record::Record for $record {
            fn read(fields: &mut $crate::policy::record::Fields<'_>) -> Option<Self> {
                $(let $field = record!(@get $getter fields, $name, &$kind, $about);)*
                Some(Self { $($field: $field?),* })
            }
        }
    };
}

pub(super) use record;

/// What to point at for a mistake in a field.
#[derive(Debug, Clone, Copy)]
pub enum At {
    /// The key of the field.
    Key,
    /// The value of the field.
    Value,
}

/// Mistakes while they are found: the field, and a text without its last full stop.
#[derive(Debug, Default)]
pub struct Found(pub Vec<(FieldPath, At, String)>);

impl Found {
    /// Adds a mistake: what is wrong, and how to fix it if that is known.
    pub fn push(&mut self, path: &FieldPath, at: At, wrong: &str, suggestion: Option<&str>) {
        let message = sentences(wrong.to_owned(), [suggestion]);
        let message = message.strip_suffix('.').unwrap_or(&message).to_owned();
        self.0.push((path.clone(), at, message));
    }

    /// Adds that a value has the wrong type.
    pub fn mistyped(&mut self, path: &FieldPath, value: &Value, expected: &str, suggestion: Option<&str>) {
        let stands = match value {
            Value::Null => "nothing".into(),
            Value::Array(_) => "a list".into(),
            Value::Object(_) => "a mapping".into(),
            Value::String(text) => quoted(text),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
        };
        let wrong = format!("expected {expected}, found {stands}");
        self.push(path, At::Value, &wrong, suggestion);
    }
}

/// The fields of an object while they are read.
#[derive(Debug)]
pub struct Fields<'r> {
    source: Source<'r>,
    names: Vec<&'static str>,
}

#[derive(Debug)]
enum Source<'r> {
    File {
        map: &'r Map<String, Value>,
        path: &'r FieldPath,
        found: &'r mut Found,
    },
    /// Every field is absent, and is described.
    Schema {
        properties: Map<String, Value>,
        required: Vec<&'static str>,
    },
}

impl Fields<'_> {
    /// The value of a field; `None` if it is absent, null, or wrong, which is then reported.
    pub fn optional<K: Kind>(
        &mut self,
        name: &'static str,
        kind: &K,
        about: &'static str,
    ) -> Option<K::Value> {
        self.names.push(name);
        match &mut self.source {
            Source::File { map, path, found } => {
                let value = map.get(name).filter(|value| !value.is_null())?;
                kind.read(value, &path.clone().key(name), found)
            }
            Source::Schema { properties, .. } => {
                properties.insert(name.into(), with_description(kind.schema(), about));
                None
            }
        }
    }

    /// The same for a field that must be there.
    pub fn required<K: Kind>(
        &mut self,
        name: &'static str,
        kind: &K,
        about: &'static str,
    ) -> Option<K::Value> {
        if let Source::Schema { required, .. } = &mut self.source {
            required.push(name);
        } else if !self.has(name) {
            let suggestion = match kind.schema().get("const").and_then(Value::as_str) {
                Some(only) => format!("add {name}: {only}"),
                None => format!("add it: {}", about.trim_end_matches('.')),
            };
            self.report(Some(name), At::Value, &format!("{name} is missing"), &suggestion);
        }
        self.optional(name, kind, about)
    }

    /// Whether the file has a value for a field.
    pub fn has(&self, name: &str) -> bool {
        match &self.source {
            Source::File { map, .. } => map.get(name).is_some_and(|value| !value.is_null()),
            Source::Schema { .. } => false,
        }
    }

    /// Reports a mistake that no field shows alone, in one of them or in the object.
    pub fn report(&mut self, name: Option<&'static str>, at: At, wrong: &str, suggestion: &str) {
        if let Source::File { path, found, .. } = &mut self.source {
            let path = match name {
                Some(name) => path.clone().key(name),
                None => path.clone(),
            };
            found.push(&path, at, wrong, Some(suggestion));
        }
    }

    fn report_unknown(&mut self) {
        let Source::File { map, path, found } = &mut self.source else {
            return;
        };
        for key in map.keys().filter(|key| !self.names.contains(&key.as_str())) {
            let suggestion = did_you_mean(key, self.names.iter().copied())
                .unwrap_or_else(|| format!("use one of {}", self.names.join(", ")));
            let wrong = format!("there is no field {}", quoted(key));
            found.push(&path.clone().key(key.clone()), At::Key, &wrong, Some(&suggestion));
        }
    }

    fn described<T: Record>() -> Self {
        let mut fields = Self {
            source: Source::Schema {
                properties: Map::new(),
                required: Vec::new(),
            },
            names: Vec::new(),
        };
        let _ = T::read(&mut fields);
        fields
    }
}

/// The names of the fields of a record, in the order in which it reads them.
pub fn names_of<T: Record>() -> Vec<&'static str> {
    Fields::described::<T>().names
}

/// A schema with a sentence about what it describes.
pub fn with_description(mut schema: Value, about: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), about.into());
    }
    schema
}

/// A mapping with the fields of a record and no others.
#[derive(Debug)]
pub struct Object<T>(PhantomData<T>);

pub const fn object<T: Record>() -> Object<T> {
    Object(PhantomData)
}

impl<T: Record> Kind for Object<T> {
    type Value = T;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<T> {
        let Value::Object(map) = value else {
            found.mistyped(path, value, "a mapping", None);
            return None;
        };
        let mut fields = Fields {
            source: Source::File { map, path, found },
            names: Vec::new(),
        };
        let record = T::read(&mut fields);
        fields.report_unknown();
        record
    }

    fn schema(&self) -> Value {
        let Source::Schema { properties, required } = Fields::described::<T>().source else {
            return Value::Null;
        };
        let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if !required.is_empty()
            && let Some(object) = object.as_object_mut()
        {
            object.insert("required".into(), required.into());
        }
        object
    }
}

/// The word that was probably meant, as a question.
pub fn did_you_mean<'w>(written: &str, words: impl Iterator<Item = &'w str>) -> Option<String> {
    nearest(written, words).map(|word| Suggestion::did_you_mean(word).text)
}
