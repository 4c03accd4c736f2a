//! Imports go down only, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ignore::WalkBuilder;
use regex::Regex;

/// The page that lists the modules.
const PAGE: &str = include_str!("../../docs/architecture.md");

/// The sources of each package with its floors, the lowest first, as the page lists them from the top. A module may use
/// those below it, and none beside it.
fn packages() -> Vec<(String, Vec<Vec<&'static str>>)> {
    let (_, list) = PAGE.split_once("## Modules\n").expect("the section");
    let list = list.split("```").nth(1).expect("the list");
    let mut packages: Vec<(String, Vec<Vec<&str>>)> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let (package, floor) = line.split_at(7);
        match package.trim() {
            "" => {}
            "src/" => packages.push(("src".to_owned(), Vec::new())),
            package => packages.push((format!("{package}src"), Vec::new())),
        }
        // More spaces continue the description above.
        if !floor.starts_with(' ') {
            let (modules, _) = floor.split_once(": ").expect("modules and a description");
            let (_, floors) = packages.last_mut().expect("a package");
            floors.insert(0, modules.split_whitespace().collect());
        }
    }
    assert_eq!(packages.len(), 3, "{packages:?}");
    packages
}

/// The source files of a package by the path of their modules, without tests.
fn modules(sources: &str) -> BTreeMap<Vec<String>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
    let mut modules = BTreeMap::new();
    for entry in WalkBuilder::new(&root).build() {
        let path = entry.expect("an entry").into_path();
        let inside = path.strip_prefix(&root).expect("a source").with_extension("");
        let mut module: Vec<String> = inside
            .iter()
            .map(|part| part.to_str().expect("UTF-8").to_owned())
            .collect();
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        if !is_code
            || module.iter().any(|part| part.starts_with("test"))
            || module == ["main"]
            || module == ["bin", "poolgate"]
        {
            continue;
        }
        if module.last().is_some_and(|last| last == "mod" || last == "lib") {
            module.pop();
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let code = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        modules.insert(module, lines.collect::<Vec<_>>().join("\n"));
    }
    modules
}

/// The paths in the tree of a `use`.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or_default();
        return vec![name.split_whitespace().collect()];
    };
    let inside = rest.rsplit_once('}').expect("a brace that closes").0;
    let mut depth = 0;
    let branches = inside.split(|letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    let branches = branches.map(str::trim).filter(|branch| !branch.is_empty());
    branches
        .flat_map(|branch| paths(&format!("{}{branch}", before.trim())))
        .collect()
}

/// What one file imports: what it re-exports under a name, and what it uses itself.
#[derive(Default)]
struct Imports {
    reexports: BTreeMap<String, Vec<String>>,
    used: Vec<Vec<String>>,
}

fn imports(module: &[String], code: &str, modules: &BTreeMap<Vec<String>, String>) -> Imports {
    let statement = Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("a pattern");
    let inline = Regex::new(r"\b(?:crate|super)(?:::\w+)+").expect("a pattern");
    let absolute = |path: &str| -> Option<Vec<String>> {
        let mut parts: Vec<String> = path.split("::").map(str::to_owned).collect();
        let mut from = module.to_vec();
        match parts[0].as_str() {
            "crate" => from.clear(),
            "self" => {}
            "super" => {
                while parts.get(1).is_some_and(|part| part == "super") {
                    parts.remove(0);
                    from.pop();
                }
                from.pop();
            }
            child => {
                let mut child_module = from.clone();
                child_module.push(child.to_owned());
                return modules
                    .contains_key(&child_module)
                    .then(|| [from, parts].concat());
            }
        }
        Some([from, parts.split_off(1)].concat())
    };
    let mut imports = Imports::default();
    for found in statement.captures_iter(code) {
        for path in paths(&found[2]) {
            let Some(path) = absolute(&path) else { continue };
            if found.get(1).is_some() {
                imports
                    .reexports
                    .insert(path.last().expect("a name").clone(), path);
            } else {
                imports.used.push(path);
            }
        }
    }
    let rest = statement.replace_all(code, "");
    imports.used.extend(
        inline
            .find_iter(&rest)
            .filter_map(|found| absolute(found.as_str())),
    );
    imports
}

/// The file in which a path is defined, whichever files re-export it.
fn home(path: &[String], all: &BTreeMap<Vec<String>, Imports>) -> Option<Vec<String>> {
    let length = (0..=path.len())
        .rev()
        .find(|length| all.contains_key(&path[..*length]))?;
    let (module, rest) = path.split_at(length);
    let onward = rest.first().and_then(|name| all[module].reexports.get(name));
    match onward {
        Some(onward) if onward != path => home(&[onward, &rest[1..]].concat(), all),
        _ => Some(module.to_vec()),
    }
}

/// The files of a package, each with those that it imports.
fn arrows(sources: &str) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let modules = modules(sources);
    let all: BTreeMap<Vec<String>, Imports> = modules
        .iter()
        .map(|(module, code)| (module.clone(), imports(module, code, &modules)))
        .collect();
    let arrows: BTreeMap<_, BTreeSet<_>> = all
        .iter()
        .map(|(module, imports)| {
            let homes = imports.used.iter().filter_map(|path| home(path, &all));
            (module.clone(), homes.filter(|home| home != module).collect())
        })
        .collect();
    assert!(
        arrows.values().map(BTreeSet::len).sum::<usize>() > 100,
        "{sources} was not read"
    );
    arrows
}

/// Files that import each other, directly or through others.
fn circles(sources: &str) -> Vec<String> {
    let mut arrows = arrows(sources);
    // A file that imports no remaining file is in no cycle.
    loop {
        let left: BTreeSet<Vec<String>> = arrows.keys().cloned().collect();
        let before = arrows.len();
        arrows.retain(|_, homes| homes.iter().any(|home| left.contains(home)));
        if arrows.len() == before {
            break;
        }
    }
    // Nor is a file that no remaining file imports.
    loop {
        let wanted: BTreeSet<Vec<String>> = arrows.values().flatten().cloned().collect();
        let before = arrows.len();
        arrows.retain(|module, _| wanted.contains(module));
        if arrows.len() == before {
            return arrows.keys().map(|module| module.join("::")).collect();
        }
    }
}

/// Imports that go up or stay on a floor, and modules without a floor.
fn wrong(sources: &str, floors: &[Vec<&str>]) -> Vec<String> {
    let floor_of = |module: &str| floors.iter().position(|floor| floor.contains(&module));
    let arrows = arrows(sources);
    let there: BTreeSet<&str> = arrows
        .keys()
        .filter_map(|file| Some(file.first()?.as_str()))
        .collect();
    let mut wrong: Vec<String> = floors
        .iter()
        .flatten()
        .filter(|module| !there.contains(*module))
        .map(|module| format!("there is no {module}"))
        .collect();
    for (file, homes) in arrows {
        // What has no name is the root.
        let Some(module) = file.first() else { continue };
        let Some(floor) = floor_of(module) else {
            wrong.push(format!("{module} has no floor"));
            continue;
        };
        for home in homes {
            let Some(other) = home.first().filter(|other| *other != module) else {
                continue;
            };
            if floor_of(other).is_none_or(|lower| floor <= lower) {
                wrong.push(format!("{} imports {}", file.join("::"), home.join("::")));
            }
        }
    }
    wrong
}

#[test]
fn imports_go_down_only() {
    for (sources, floors) in packages() {
        assert_eq!(wrong(&sources, &floors), Vec::<String>::new());
    }
}

#[test]
fn files_never_import_each_other_in_a_circle() {
    for (sources, _) in packages() {
        assert_eq!(circles(&sources), Vec::<String>::new());
    }
}
