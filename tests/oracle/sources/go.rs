//! What a Go file, or a script that changes a definition, declares: each name with its text. Go's own format is relied on:
//! a declaration begins without indentation, and so does its last line.

use std::collections::BTreeMap;

/// The names that a file declares, with their text: functions, methods (`Type.Method`), types, fields of structs
/// (`Type.Field`), constants and variables. Of comments only markers are kept, those of the definition's generator.
pub(super) type Declared = BTreeMap<String, String>;

const MARKER: &str = "// +kubebuilder:";

/// The declarations of a Go file.
pub(super) fn go(text: &str) -> Declared {
    let lines: Vec<&str> = text.lines().collect();
    let mut declared = Declared::new();
    let mut at = 0;
    let mut markers = String::new();
    while let Some(line) = lines.get(at) {
        if line.starts_with(MARKER) {
            markers.push_str(line);
        } else if line.is_empty() {
            markers.clear();
        }
        let end = at + length(&lines[at..]);
        let body = &lines[at..end];
        if let Some(name) = line.strip_prefix("func ").and_then(function) {
            declared.insert(name, code(body));
        } else if let Some((name, rest)) = line.strip_prefix("type ").and_then(|rest| rest.split_once(' ')) {
            if rest.starts_with("struct {") {
                fields(name, body, &mut declared);
            }
            declared.insert(name.to_owned(), std::mem::take(&mut markers) + &code(body));
        } else if matches!(*line, "const (" | "var (" | "type (") {
            members(body, &mut declared);
        } else if let Some(rest) = line.strip_prefix("const ").or_else(|| line.strip_prefix("var ")) {
            declared.insert(word(rest).to_owned(), code(body));
        }
        at = end;
    }
    declared
}

/// How many lines the declaration has that begins here.
fn length(lines: &[&str]) -> usize {
    let is_open = lines[0].ends_with(['{', '(', ',']);
    let is_declaration = ["func ", "type ", "const ", "var ", "import "]
        .iter()
        .any(|keyword| lines[0].starts_with(keyword));
    if !(is_declaration && is_open) {
        return 1;
    }
    let is_last = |line: &&str| line.starts_with(['}', ')']) && !line.ends_with('{');
    lines
        .iter()
        .position(is_last)
        .map_or(lines.len(), |last| last + 1)
}

/// The name of a function, from the text after `func`.
fn function(text: &str) -> Option<String> {
    let Some(method) = text.strip_prefix('(') else {
        return Some(word(text).to_owned());
    };
    let (receiver, rest) = method.split_once(") ")?;
    let kind = receiver.rsplit(' ').next()?.trim_start_matches('*');
    Some(format!("{}.{}", word(kind), word(rest)))
}

/// The fields of a struct, each with its markers.
fn fields(of: &str, body: &[&str], declared: &mut Declared) {
    let mut markers = String::new();
    for line in body {
        let Some(inner) = line.strip_prefix('\t') else {
            continue;
        };
        if inner.starts_with(MARKER) {
            markers.push_str(inner);
        } else if inner.starts_with(char::is_alphabetic) {
            let text = std::mem::take(&mut markers) + &code(&[inner]);
            declared.insert(format!("{of}.{}", word(inner)), text);
        }
    }
}

/// The members of a group.
fn members(body: &[&str], declared: &mut Declared) {
    let mut name = None;
    for line in body {
        let inner = line.strip_prefix('\t').unwrap_or_default();
        if inner.starts_with(char::is_alphabetic) {
            name = Some(word(inner).to_owned());
        }
        if let Some(name) = &name {
            *declared.entry(name.clone()).or_default() += &code(&[line]);
        }
    }
}

fn word(text: &str) -> &str {
    let is_outside = |one: char| !one.is_alphanumeric() && one != '_';
    text.split(is_outside).next().unwrap_or_default()
}

/// Lines without their comments, and with single spaces: Go's format aligns columns.
fn code(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| line.trim());
    let lines = lines.filter(|line| line.starts_with(MARKER) || !line.starts_with("//"));
    lines
        .map(|line| line.split(" //").next().unwrap_or(line))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The fields of NodePools that a script of Karpenter's changes in the definition, by their paths.
pub(super) fn script(text: &str) -> Declared {
    let mut declared = Declared::new();
    let commands = text.split("yq eval").skip(1);
    for command in commands.filter(|command| command.contains("karpenter.sh_nodepools.yaml")) {
        let Some((_, path)) = command.split_once(".openAPIV3Schema.") else {
            continue;
        };
        let steps: Vec<&str> = path
            .split(char::is_whitespace)
            .next()
            .unwrap_or_default()
            .split('.')
            .collect();
        let pairs = steps.windows(2).filter(|pair| pair[0] == "properties");
        let name = pairs.map(|pair| pair[1]).collect::<Vec<_>>().join(".");
        *declared.entry(name).or_default() += command.split(" -i pkg/").next().unwrap_or(command);
    }
    declared
}

#[test]
fn declarations_are_found_with_their_text() {
    let declared = go(concat!(
        "package v1\n\nimport (\n\t\"fmt\"\n)\n\n// A is one.\nconst A = 1\n\nvar (\n\t// B is two.\n\tB = sets.New(\n",
        "\t\tA,\n\t)\n\tC = 3\n)\n\n// +kubebuilder:validation:Enum={x}\ntype D string\n\ntype E struct {\n\t// Why.\n",
        "\t// +kubebuilder:default:=1\n\tF   *int `json:\"f\"`\n\tG\n}\n\nfunc (in *E) H(\n\ta int,\n) error {\n",
        "\tif a {\n\t}\n\treturn nil // never\n}\n\nfunc (I[T]) J() {}\n\nfunc k() {\n\t// Why.\n\tk()\n}\n",
    ));
    let expected = [
        ("A", "const A = 1"),
        ("B", "B = sets.New(A,)"),
        ("C", "C = 3)"),
        ("D", "// +kubebuilder:validation:Enum={x}type D string"),
        (
            "E",
            "type E struct {\n// +kubebuilder:default:=1\nF *int `json:\"f\"`\nG\n}",
        ),
        ("E.F", "// +kubebuilder:default:=1F *int `json:\"f\"`"),
        ("E.G", "G"),
        (
            "E.H",
            "func (in *E) H(\na int,\n) error {\nif a {\n}\nreturn nil\n}",
        ),
        ("I.J", "func (I[T]) J() {}"),
        ("k", "func k() {\nk()\n}"),
    ];
    let found = declared.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn a_script_declares_the_fields_of_nodepools_that_it_changes() {
    let declared = script(concat!(
        "# Why\nyq eval '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.items.properties.key.maxLength = 3' ",
        "-i pkg/apis/crds/karpenter.sh_nodepools.yaml\nyq eval '.spec.versions[0].schema.openAPIV3Schema.properties.spec.x = 1' ",
        "-i pkg/apis/crds/karpenter.sh_nodeclaims.yaml\n",
    ));
    assert_eq!(declared.into_keys().collect::<Vec<_>>(), ["spec.a.key"]);
}
