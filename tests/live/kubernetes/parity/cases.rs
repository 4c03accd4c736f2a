//! The table in `tests/data/parity`. A file has an object that both sides admit (`around`), and `cases` with these fields:
//!
//! - `name`: what the case tries.
//! - `old`: for an update, a JSON Merge Patch over `around` that gives the stored object. It is stored before any check is
//!   installed, so it may be one that would be rejected now.
//! - `new`: the same over the stored object, or over `around` for a create.
//! - `nulls`, `old-nulls`: paths with the value `null`, which a merge patch cannot write.
//! - `more: RULE`: only poolgate denies, only by this rule, whose origin is not the schema.
//! - `ratchet: {stricter: crd or poolgate, because: TEXT}`: the named side denies an update that the other one admits because
//!   the stored mistake is unchanged.
//!
//! Long values have a short form: `{$list: [51, X]}`, `{$map: [101, {key-$n: X}]}`, `{$text: [64, a]}`. `$n` is the number of
//! the repetition. `{$json: "3.0"}` keeps a spelling that YAML would change.

use std::fs;
use std::path::Path;

use poolgate_core::manifest::{Limits, parse};
use serde_json::{Value, json};

use super::expansion::expand;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/parity");

/// One create or update, checked by both sides.
#[derive(Debug)]
pub struct Case {
    /// What it tries, in words, behind the file that holds it.
    pub name: String,
    /// What is stored before, for an update.
    pub old: Option<Value>,
    /// What is sent.
    pub new: Value,
    /// Where the two sides differ on purpose.
    pub difference: Option<Difference>,
}

/// An intended difference.
#[derive(Debug)]
pub enum Difference {
    /// poolgate alone denies, by this rule.
    More(String),
    /// On this update the two differ in what they forgive as stored before.
    Ratchet(Stricter),
}

/// Who denies an update that the other forgives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stricter {
    Crd,
    Poolgate,
}

/// Every case, file by file.
pub fn all() -> Vec<Case> {
    let mut files: Vec<_> = fs::read_dir(DIRECTORY)
        .expect("the table can be listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        read(&file, &mut cases);
    }
    cases
}

fn read(file: &Path, cases: &mut Vec<Case>) {
    let area = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .expect("a file has a name");
    let text = fs::read_to_string(file).expect("a file of the table can be read");
    let mut documents = parse(&text, &Limits::default());
    let document = documents.next().expect("a file of the table is one document");
    assert_eq!(document.problems(), [], "{area}");
    assert!(documents.next().is_none(), "{area}: more than one document");
    let mut table = Fields::of(area, document.into_value());
    let around = table.demand("around");
    let rows = table.demand("cases");
    table.end();
    for row in rows.as_array().expect("cases are a list") {
        let case = case(area, cases.len(), &around, row);
        cases.push(case);
    }
}

fn case(area: &str, number: usize, around: &Value, row: &Value) -> Case {
    let mut row = Fields::of(area, row.clone());
    let name = format!("{area}: {}", text(row.demand("name")));
    row.place.clone_from(&name);
    let mut base = around.clone();
    base["metadata"] = json!({"name": format!("case-{number}")});
    let old = row
        .take("old")
        .map(|old| edited(&base, old, row.take("old-nulls").as_ref()));
    let new = edited(
        old.as_ref().unwrap_or(&base),
        row.take("new").unwrap_or_default(),
        row.take("nulls").as_ref(),
    );
    let difference = difference(&mut row);
    row.end();
    Case {
        name,
        old,
        new,
        difference,
    }
}

/// `base` after a JSON Merge Patch (RFC 7386) and with `null` at these paths, which such a patch cannot write.
fn edited(base: &Value, patch: Value, nulls: Option<&Value>) -> Value {
    let mut object = base.clone();
    if !patch.is_null() {
        json_patch::merge(&mut object, &expand(patch));
    }
    for path in nulls.and_then(Value::as_array).into_iter().flatten() {
        let pointer = format!("/{}", text(path.clone()).replace('.', "/"));
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
        let parent = object.pointer_mut(parent).expect("null goes into an object");
        parent[key] = Value::Null;
    }
    object
}

fn difference(row: &mut Fields) -> Option<Difference> {
    let more = row.take("more").map(|rule| Difference::More(text(rule)));
    let ratchet = row.take("ratchet").map(|ratchet| {
        let mut ratchet = Fields::of(&row.place, ratchet);
        let stricter = match text(ratchet.demand("stricter")).as_str() {
            "crd" => Stricter::Crd,
            "poolgate" => Stricter::Poolgate,
            other => panic!("{}: who is {other}?", row.place),
        };
        assert_ne!(text(ratchet.demand("because")), "", "{}", row.place);
        ratchet.end();
        Difference::Ratchet(stricter)
    });
    let mut differences = [more, ratchet].into_iter().flatten();
    let difference = differences.next();
    assert!(
        differences.next().is_none(),
        "{}: two differences at once",
        row.place
    );
    difference
}

/// The fields of an object, each of which must be asked for.
struct Fields {
    place: String,
    fields: serde_json::Map<String, Value>,
}

impl Fields {
    fn of(place: &str, value: Value) -> Self {
        match value {
            Value::Object(fields) => Self {
                place: place.to_owned(),
                fields,
            },
            other => panic!("{place}: not an object: {other}"),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name)
    }

    fn demand(&mut self, name: &str) -> Value {
        self.take(name)
            .unwrap_or_else(|| panic!("{}: no {name}", self.place))
    }

    fn end(self) {
        let left: Vec<_> = self.fields.keys().collect();
        assert!(left.is_empty(), "{}: unknown {left:?}", self.place);
    }
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => panic!("not a text: {other}"),
    }
}
