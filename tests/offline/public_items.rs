//! What a package offers, another one uses. What only the package itself uses is `pub(crate)`, or in a private module.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use ignore::WalkBuilder;
use serde_json::Value;

/// Each package that others use: its name, that of its library, its sources, and its users.
const PACKAGES: [(&str, &str, &str, &[&str]); 2] = [
    (
        "poolgate-core",
        "poolgate_core",
        "core/src",
        &["core/tests", "files", "src", "tests", "bench"],
    ),
    (
        "poolgate-files",
        "poolgate_files",
        "files/src",
        &["files/src/main.rs", "src", "tests", "bench"],
    ),
];

/// What rustdoc knows of a library: its public items, as those of another package see them.
fn documented(package: &str, library: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("target");
    let built = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["rustdoc", "--quiet", "--locked", "--lib", "-p", package, "--"])
        .args(["-Zunstable-options", "--output-format=json", "--cap-lints=allow"])
        .env("CARGO_TARGET_DIR", &target)
        // The format is not stable, but rust-toolchain.toml names one compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .status();
    assert!(built.expect("cargo runs").success(), "{package}");
    let json = target.join("doc").join(format!("{library}.json"));
    let json = std::fs::read_to_string(json).expect("written by rustdoc");
    serde_json::from_str(&json).expect("JSON")
}

/// All words of these source files.
fn words(places: &[&str]) -> HashSet<String> {
    let mut words = HashSet::new();
    for place in places {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
        for entry in WalkBuilder::new(root).build().filter_map(Result::ok) {
            if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "rs")
            {
                let text = std::fs::read_to_string(entry.path()).expect("a source");
                let in_text = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                words.extend(in_text.map(str::to_owned));
            }
        }
    }
    words
}

/// The types that a part of an item names, by their numbers.
fn named_types(part: &Value, found: &mut HashSet<u64>) {
    match part {
        Value::Object(fields) => {
            if let Some(id) = fields.get("resolved_path").and_then(|path| path["id"].as_u64()) {
                found.insert(id);
            }
            fields.values().for_each(|field| named_types(field, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| named_types(part, found)),
        _ => {}
    }
}

#[test]
#[ignore = "builds documentation, which takes a minute; .ci/run asks for it"]
fn what_a_package_offers_another_one_uses() {
    let mut unused = Vec::new();
    for (package, library, sources, users) in PACKAGES {
        let documented = documented(package, library);
        let items = documented["index"].as_object().expect("an index");
        let words = words(users);
        let mut in_signatures = HashSet::new();
        for item in items.values().filter(|item| item["inner"].get("impl").is_none()) {
            named_types(&item["inner"], &mut in_signatures);
        }
        for item in items.values() {
            let (Some(name), Some(file)) = (item["name"].as_str(), item["span"]["filename"].as_str()) else {
                continue;
            };
            let kind = item["inner"].as_object().and_then(|inner| inner.keys().next());
            let is_checked = match kind.expect("one kind").as_str() {
                "function" | "constant" | "static" | "assoc_const" => true,
                "struct" | "enum" | "type_alias" | "trait" => {
                    item["id"].as_u64().is_none_or(|id| !in_signatures.contains(&id))
                }
                _ => false,
            };
            if is_checked
                && item["visibility"] == "public"
                && file.starts_with(sources)
                && !words.contains(name)
            {
                unused.push(format!("{file}:{}: {name}", item["span"]["begin"][0]));
            }
        }
    }
    unused.sort();
    assert_eq!(unused, Vec::<String>::new(), "make them pub(crate)");
}
