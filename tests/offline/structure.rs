//! Imports go the way that docs/architecture.md says.

use std::path::Path;

use ignore::WalkBuilder;

/// The floors of a package, the lowest first, as a sentence with arrows names them.
fn floors(sentence: &str) -> Vec<Vec<&str>> {
    sentence
        .split('→')
        .map(|floor| floor.split('`').skip(1).step_by(2).collect())
        .collect()
}

/// The modules of its package that a source file names, comments and tests left out.
fn named(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| {
            rest.chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect()
        })
        .collect()
}

/// Imports that go up or stay on a floor.
fn wrong(sources: &str, floors: &[Vec<&str>]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
    let floor_of = |module: &str| floors.iter().position(|floor| floor.contains(&module));
    let mut wrong = Vec::new();
    for entry in WalkBuilder::new(&root).build() {
        let path = entry.expect("an entry").into_path();
        let inside = path.strip_prefix(&root).expect("a source").with_extension("");
        let mut parts = inside.iter().filter_map(|part| part.to_str());
        let module = parts.next().unwrap_or_default();
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        if !is_code || parts.any(|part| part.starts_with("test")) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        for other in named(&text).iter().filter(|other| *other != module) {
            if let (Some(here), Some(there)) = (floor_of(module), floor_of(other))
                && here <= there
            {
                wrong.push(format!("{sources}/{} names {other}", inside.display()));
            }
        }
    }
    wrong
}

#[test]
fn imports_go_down_only() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, sentence) = page.split_once("Imports go down only: ").expect("the sentence");
    let (core, rest) = sentence.split_once("; in the binary").expect("two packages");
    let (binary, _) = rest.split_once(", which never").expect("the wings");
    let (core, binary) = (floors(core), floors(binary));
    assert!(core.len() > 4 && binary.len() > 4, "{core:?} {binary:?}");
    assert_eq!(wrong("core/src", &core), Vec::<String>::new());
    assert_eq!(wrong("src", &binary), Vec::<String>::new());
}
