//! Marks of templates in rendered manifests: only those of Karpenter's own objects make a template.

use super::{assert_code, complete, typed};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

/// Objects with text of other languages that is theirs.
const OTHERS: [&str; 4] = [
    "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec:\n  userData: |\n    mdadm --create /dev/md0 \"${disks[@]}\"\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  application.properties: |\n    url=jdbc:postgresql://${db.host}/app\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x.j2: |\n    {% if a %}\n    %{ if a }\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n#{{ if .a }}\ndata: {}\n#{{ end }}\n",
];

/// A pool that is a template of Terraform, and one of Jinja.
fn templates() -> [(String, &'static str); 2] {
    let terraform = SOUND.replace("name: general", "name: \"${pool.name}\"");
    let jinja = SOUND.replace("  limits:", "{% if limits %}\n  limits:");
    [(terraform, "Terraform"), (jinja, "Jinja")]
}

#[test]
fn text_of_another_language_inside_another_object_hides_no_pool() {
    let wrong = SOUND.replace("100Gi", "-1Gi");
    for other in OTHERS {
        for stream in [format!("{wrong}---\n{other}"), format!("{other}---\n{wrong}")] {
            let folder = directory(&[("a.yaml", &stream), ("b.yaml", SOUND)]);
            for (line, code, said) in [
                ("lint -o concise a.yaml", 1, "[limit-amount]"),
                ("lint -o concise .", 1, "[limit-amount]"),
                ("diff b.yaml a.yaml", 0, "NodePool general changes"),
                ("default a.yaml", 0, "kind: NodePool"),
                ("budgets a.yaml", 0, "NodePool general"),
            ] {
                let outcome = typed(folder.path(), line, "");
                assert_code(&outcome, code, line);
                assert!(outcome.stdout.contains(said), "{line}: {outcome:?}");
            }
            let piped = typed(folder.path(), "lint -o concise -", &stream);
            assert_code(&piped, 1, "-");
        }
    }
}

#[test]
fn a_template_is_not_read_and_the_pool_beside_it_is() {
    let wrong = SOUND.replace("100Gi", "-1Gi").replace("general", "beside");
    for (template, language) in templates() {
        let stream = format!("{template}---\n{wrong}");
        let folder = directory(&[("a.yaml", &stream), ("b.yaml", SOUND), ("alone.yaml", &template)]);
        let said = format!("this document is an unrendered {language} template");
        let lint = typed(folder.path(), "lint -o concise a.yaml", "");
        assert_code(&lint, 2, "lint");
        assert!(lint.stdout.contains("[file-unreadable]"), "{lint:?}");
        assert!(lint.stdout.contains(&said), "{lint:?}");
        assert!(lint.stdout.contains("[limit-amount]"), "{lint:?}");
        assert!(lint.stderr.contains("; 1 document not read\n"), "{lint:?}");
        let budgets = typed(folder.path(), "budgets a.yaml", "");
        assert_code(&budgets, 2, "budgets");
        assert!(budgets.stdout.contains("NodePool beside"), "{budgets:?}");
        assert!(budgets.stderr.contains(&said), "{budgets:?}");
        for line in [
            "default a.yaml",
            "diff b.yaml a.yaml",
            "lint -o concise alone.yaml",
        ] {
            let outcome = typed(folder.path(), line, "");
            assert_code(&outcome, 2, line);
            let all = outcome.stdout.clone() + &outcome.stderr;
            assert!(all.contains(&said), "{line}: {outcome:?}");
        }
        let fixed = typed(folder.path(), "lint --fix a.yaml", "");
        assert_code(&fixed, 2, "--fix");
        let left = std::fs::read_to_string(folder.path().join("a.yaml")).expect("a file");
        assert_eq!(left, stream);
    }
}

#[test]
fn what_another_object_says_above_below_and_beside_a_template_changes_nothing() {
    let [(template, _), _] = templates();
    for other in OTHERS {
        let stream = format!("{other}---\n{template}---\n{SOUND}");
        let folder = directory(&[("a.yaml", &stream)]);
        let outcome = typed(folder.path(), "lint -o concise a.yaml", "");
        assert_code(&outcome, 2, other);
        assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
        assert!(outcome.stderr.starts_with("1 NodePool in 1 file"), "{outcome:?}");
    }
}

#[test]
fn a_folder_is_compared_completed_and_explained_beside_templates_of_other_things() {
    let folder = directory(&[
        ("all/pool.yaml", &complete()),
        ("all/t.yaml", "{{ if x }}\nfoo: bar\n{{ end }}\n"),
        ("all/j.yaml", "{% if x %}\nfoo: bar\n{% endif %}\n"),
        ("all/broken.yaml", "a: [\n"),
        (
            "all/node-class.yaml",
            "{{ if x }}\nkind: EC2NodeClass\n{{ end }}\n",
        ),
    ]);
    for (line, code) in [
        ("lint all", 0),
        ("diff all all", 0),
        ("default --diff all", 0),
        ("budgets all", 0),
        ("budgets all/pool.yaml all/t.yaml", 0),
    ] {
        let outcome = typed(folder.path(), line, "");
        assert_code(&outcome, code, line);
        let is_told = outcome.stderr.contains("all/node-class.yaml:1:2: not compared: ");
        assert_eq!(is_told, line.starts_with("diff"), "{line}: {outcome:?}");
    }
    let related = folder.path().join("all/broken.yaml");
    std::fs::write(related, "# karpenter.sh\na: [\n").expect("a file");
    for (line, code) in [
        ("lint all", 1),
        ("diff all all", 2),
        ("default --diff all", 2),
        ("budgets all", 1),
    ] {
        assert_code(&typed(folder.path(), line, ""), code, line);
    }
}
