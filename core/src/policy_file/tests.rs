use std::time::Duration;

use crate::api::AtLimit;
use crate::diagnostic::{Origin, RuleId, Severity};
use crate::policy::{Level, Policy};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::manifest::{self, Limits};

const HEAD: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";

const EXAMPLES: [&str; 4] = [
    include_str!("../../../docs/examples/policy/production.yaml"),
    include_str!("../../../docs/examples/policy/cluster.yaml"),
    include_str!("../../../docs/examples/policy/defaults.yaml"),
    include_str!("../../../docs/examples/policy/exemptions.yaml"),
];

fn policy(body: &str) -> Policy {
    let text = format!("{HEAD}{body}");
    match parse(&text) {
        Ok(reading) => reading.policy,
        Err(mistakes) => panic!("{mistakes:?}"),
    }
}

/// The mistakes of a file with this body, which begins in line 3.
fn mistakes(body: &str) -> Vec<String> {
    let text = format!("{HEAD}{body}");
    let mistakes = parse(&text).expect_err(body);
    mistakes.shown.iter().map(ToString::to_string).collect()
}

#[test]
fn what_yaml_reads_as_no_text_gets_a_word_and_a_rule_of_lint_has_no_level() {
    assert_eq!(
        mistakes("enforcement: off\nrules:\n  manifest-syntax: off\n"),
        [
            "3:14: expected a string, found false. Write enforce or warn",
            r#"5:3: "manifest-syntax": there is no such rule. Run `poolgate rules` for the list. The rules of lint alone have no level"#,
        ]
    );
}

#[test]
fn a_file_that_says_nothing_is_the_built_in_policy() {
    assert_eq!(policy(""), Policy::default());
    assert_eq!(
        policy("bounds:\nrules:\nexemptions: null\n---\n# nothing more\n"),
        Policy::default()
    );
}

#[test]
fn every_mistake_is_reported_at_once_with_place_and_suggestion() {
    let body = "\
enforcment: warn
rules:
  schedule-sintax: off
  field-type: loud
defaults:
  consolidateAfter: 5
  budgets:
    - nodes: 110%
bounds:
  limits:
    max: {node: 5, cpu: -1, memory: lots}
  budgets:
    maxPercent: 20%
    freezeWindows:
      - schedule: 0 9 * * sat-sun
  template:
    capacityTypes: on-demand
overLimit: Delete
";
    assert_eq!(
        mistakes(body),
        [
            r#"3:1: there is no field "enforcment". Did you mean enforcement?"#,
            r#"5:3: "schedule-sintax": there is no such rule. Did you mean schedule-syntax?"#,
            r#"6:15: "loud" is not allowed here. Write error or warning or note or off"#,
            r#"8:21: expected a string, found 5. Write it in quotes: "5""#,
            r#"10:14: "110%": a percentage must be from 0% to 100%. Write 100%"#,
            r#"13:11: "node": nodes have no resource of this name. Did you mean nodes?"#,
            "13:25: expected a quantity of 0 or more (such as 500 or 4Ti), found -1",
            r#"13:37: "lots": a quantity is a number with an optional suffix, such as 500m, 1000 or 64Gi"#,
            r#"15:17: expected a whole number, found "20%". Write 20"#,
            "17:9: duration is missing. Add it: The length of the window",
            r#"17:19: "0 9 * * sat-sun": the range sat-sun runs backwards (6 to 0). Write sat,sun"#,
            r#"19:20: expected a list, found "on-demand". Begin each element with a dash"#,
            r#"20:12: "Delete" is not allowed here. Write report or terminate"#,
        ]
    );
}

#[test]
fn a_policy_may_have_any_name_of_one_line() {
    policy("metadata: {name: Team_A's policy *}\n");
    assert_eq!(
        mistakes("metadata: {name: \"a\\nb\"}\n"),
        ["3:18: \"a\\nb\": the string must be one line"]
    );
}

#[test]
fn what_contradicts_itself_is_a_mistake() {
    assert_eq!(
        mistakes("bounds:\n  template:\n    expireAfter: {min: 48h, max: 24h}\n"),
        ["5:24: min is 48h, longer than max, 24h"]
    );
    assert_eq!(
        mistakes("exemptions:\n  - rules: [\"*\"]\n"),
        [
            "4:5: this exemption selects no NodePool. Add pools or labels. For all NodePools, set the level under rules \
             instead"
        ]
    );
    assert_eq!(
        mistakes("defaults:\n  budgets:\n    - nodes: \"0\"\n      schedule: \"@daily\"\n"),
        [
            "5:7: duration is missing, but a window requires schedule and duration. Add it, or remove the other one"
        ]
    );
    assert_eq!(
        mistakes("cluster: {providerVersion: 1.14.0}\n"),
        ["3:11: providerVersion requires provider. Add provider, such as aws"]
    );
    let built_in = mistakes("bounds:\n  budgets:\n    maxPercent: 5\n");
    assert_eq!(built_in.len(), 1, "{built_in:?}");
    assert!(built_in[0].starts_with("3:1: a NodePool with the built-in defaults would be denied: "));
    let written = mistakes("bounds:\n  budgets: {maxPercent: 5}\ndefaults:\n  budgets:\n    - nodes: 6%\n");
    assert!(
        written[0].starts_with("7:14: a NodePool with the defaults would be denied: "),
        "{written:?}"
    );
}

#[test]
fn defaults_are_accepted_by_the_release_that_the_policy_declares() {
    let of = |cluster: &str, defaults: &str| format!("cluster: {{{cluster}}}\ndefaults: {defaults}\n");
    let on = |release: &str, defaults: &str| of(&format!("karpenter: \"{release}\""), defaults);
    let balanced = "{consolidationPolicy: Balanced}";
    let repair = "{budgets: [{nodes: 10%, reasons: [Unhealthy]}]}";
    for accepted in [on("1.14", balanced), on("1.15", repair)] {
        policy(&accepted);
    }
    for release in ["0.37", "1.0", "1.1", "1.4", "1.8", "1.9", "1.13", "1.14", "1.15"] {
        policy(&on(release, "{}"));
    }
    let denied = mistakes(&on("1.8", balanced));
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert!(denied[0].starts_with("4:"), "{denied:?}");
    assert!(
        denied[0].ends_with("Set defaults that Karpenter 1.8.0 accepts"),
        "{denied:?}"
    );
    for denied in [
        on("1.14", repair),
        of("provider: gcp, providerVersion: 0.5.0", balanced),
    ] {
        assert_eq!(mistakes(&denied).len(), 1, "{denied}");
    }
}

#[test]
fn a_file_is_one_document_without_doubles() {
    assert_eq!(
        mistakes("enforcement: warn\nenforcement: enforce\n"),
        [
            r#"4:1: the key "enforcement" is already set. The last value counts for kubectl, and kustomize rejects the file"#
        ]
    );
    let second = format!("enforcement: warn\n---\n{HEAD}");
    assert_eq!(
        mistakes(&second),
        ["4:1: a second document begins here, but a file contains one policy. Put it into a separate file"]
    );
    assert_eq!(mistakes("rules: {a: [b}\n").len(), 1);
    for nothing in ["", "# nothing\n", "---\n"] {
        let mistakes = parse(nothing).expect_err("a mistake");
        assert!(
            mistakes.shown[0]
                .message
                .starts_with("the file contains no policy. "),
            "{mistakes:?}"
        );
    }
    let other = parse("apiVersion: v1\nkind: ConfigMap\ndata: {}\n").expect_err("mistakes");
    let other: Vec<String> = other.shown.iter().map(ToString::to_string).collect();
    assert_eq!(
        other[..2],
        [
            r#"1:13: "v1" is not allowed here. Write poolgate.dev/v1alpha1"#.to_owned(),
            r#"2:7: "ConfigMap" is not allowed here. Write Policy"#.to_owned(),
        ]
    );
}

#[test]
fn a_file_of_nothing_but_mistakes_is_reported_in_part() {
    let lines: Vec<String> = (0..1000).map(|number| format!("field{number}: 1\n")).collect();
    let body = lines.concat();
    let mistakes = parse(&format!("{HEAD}{body}")).expect_err("mistakes");
    assert_eq!((mistakes.shown.len(), mistakes.omitted), (100, 900));
    assert_eq!(mistakes.to_string(), "1000 mistakes in the policy");
}

#[test]
fn an_exemption_names_rules_by_their_first_words_too() {
    let named = |text: &str| {
        let policy = policy(&format!("exemptions:\n  - pools: [a]\n    rules: [{text}]\n"));
        let mut rules: Vec<&str> = policy.exemptions[0].rules.iter().map(|id| id.as_str()).collect();
        rules.sort_unstable();
        rules.join(" ")
    };
    assert_eq!(named("policy-limit"), "policy-limit-max policy-limit-required");
    assert_eq!(named("\"policy-limit-*\""), named("policy-limit"));
    assert_eq!(named("limit-zero"), "limit-zero");
    let wrong = mistakes("exemptions:\n  - pools: [a]\n    rules: [policy-lim]\n");
    assert!(wrong[0].contains("there is no such rule"), "{wrong:?}");
}

#[test]
fn off_means_off_although_yaml_reads_false() {
    let rule = RuleId::new("limit-zero");
    for off in ["off", "\"off\"", "Off", "false"] {
        let policy = policy(&format!("rules:\n  limit-zero: {off}\n"));
        assert_eq!(policy.levels.get(rule, Origin::Silent), Some(Level::Off), "{off}");
    }
}

#[test]
fn what_karpenter_rejects_itself_stays_a_warning_and_that_is_noted() {
    let text = format!("{HEAD}rules:\n  weight: off\n  limit-zero: off\n  expire-after: note\n");
    let reading = parse(&text).expect("a policy");
    let level = |rule, origin| reading.policy.levels.get(RuleId::new(rule), origin);
    let (note, warning) = (
        Level::Severity(Severity::Note),
        Level::Severity(Severity::Warning),
    );
    assert_eq!(level("weight", Origin::Schema), Some(warning));
    assert_eq!(level("expire-after", Origin::Schema), Some(warning));
    assert_eq!(level("expire-after", Origin::Silent), Some(note));
    let notes: Vec<String> = reading.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "4:11: weight stays a warning because Karpenter rejects it anyway",
            "6:17: expire-after stays a warning where Karpenter rejects it anyway",
        ]
    );
}

#[test]
fn a_provider_that_contains_another_karpenter_or_is_newer_than_all_known_is_noted() {
    let paths = |cluster: &str| -> Vec<String> {
        let reading = parse(&format!("{HEAD}cluster: {{{cluster}}}\n")).expect("a policy");
        let notes = reading.notes.iter().map(ToString::to_string);
        notes
            .map(|note| note.split(": ").next().unwrap_or_default().to_owned())
            .collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(
        paths("karpenter: 1.13.1, provider: gcp, providerVersion: 0.5.0"),
        none
    );
    assert_eq!(
        paths("karpenter: 1.15.0, provider: gcp, providerVersion: 0.5.0"),
        ["3:22"]
    );
    assert_eq!(
        paths("karpenter: 1.15.0, provider: gcp, providerVersion: 0.6.0"),
        ["3:62"]
    );
    assert_eq!(paths("provider: aws, providerVersion: 1.99.0"), ["3:43"]);
    assert_eq!(paths("provider: aws, providerVersion: 0.34.0"), ["3:43"]);
}

#[test]
fn labels_that_every_node_has_or_no_pool_can_set_are_not_required() {
    let found = |label: &str, cluster: &str| {
        mistakes(&format!(
            "bounds: {{template: {{requiredLabels: [{label}]}}}}\n{cluster}"
        ))
    };
    let every = "every node has this label anyway. Remove it";
    for (label, cluster, wrong) in [
        ("topology.kubernetes.io/zone", "", every),
        ("failure-domain.beta.kubernetes.io/zone", "", every),
        (
            "karpenter.sh/nodepool",
            "",
            "Karpenter sets this label itself, to the name of the NodePool. Remove it",
        ),
        (
            "kubernetes.io/hostname",
            "",
            "the kubelet sets this label on each node. Remove it",
        ),
        (
            "karpenter.k8s.aws/instance-cpu",
            "cluster: {provider: aws}\n",
            every,
        ),
    ] {
        let found = found(label, cluster);
        assert_eq!(found.len(), 1, "{label}: {found:?}");
        assert!(found[0].ends_with(wrong), "{label}: {found:?}");
    }
    for label in ["example.com/team", "karpenter.k8s.aws/instance-cpu"] {
        policy(&format!("bounds: {{template: {{requiredLabels: [{label}]}}}}\n"));
    }
}

#[test]
fn what_happens_at_a_limit_is_read_in_words_and_within_a_day() {
    for word in AtLimit::VALUES {
        let policy = policy(&format!("atLimit: {word}\nrepairGracePeriod: 1h30m\n"));
        assert_eq!(policy.at_limit.as_str(), *word);
        assert_eq!(policy.repair_grace_period, Duration::from_mins(90));
    }
    let repair = |grace: &str| mistakes(&format!("atLimit: repairs\nrepairGracePeriod: {grace}\n"));
    let word = r#"3:10: "repairs" is not allowed here. Did you mean Repair?"#;
    for (grace, wrong) in [
        (
            "0s",
            r#""0s": pods need time to leave a node. Write 10m, for example"#,
        ),
        (
            "25h",
            r#""25h": a broken node has at most a day to drain. Write 24h or less"#,
        ),
        (
            "1.5h",
            r#""1.5h": fractions are not allowed, only whole seconds, minutes and hours"#,
        ),
        ("100ms", r#""100ms": a duration takes only the units s, m and h"#),
        (
            "1d",
            r#""1d": a duration takes only the units s, m and h. Write 24h"#,
        ),
        (
            "never",
            r#""never": Never is no length of time. Write 24h, for example"#,
        ),
        (
            "600",
            r#"expected a string, found 600. Write it in quotes: "600""#,
        ),
    ] {
        assert_eq!(repair(grace), [word.to_owned(), format!("4:20: {wrong}")]);
    }
}

/// The fields of the schema that no value uses, by their paths.
fn unused(schema: &Value, values: &[&Value], path: &str, into: &mut Vec<String>) {
    let fields = schema["properties"].as_object().into_iter().flatten();
    for (name, field) in fields {
        let path = format!("{path}.{name}");
        let found: Vec<&Value> = values.iter().filter_map(|value| value.get(name)).collect();
        if found.is_empty() {
            into.push(path);
        } else if path != ".rules" {
            unused(field, &found, &path, into);
            let elements = found.iter().filter_map(|list| list.as_array()).flatten();
            unused(&field["items"], &elements.collect::<Vec<_>>(), &path, into);
        }
    }
}

#[test]
fn the_examples_use_every_field() {
    let documents: Vec<Value> = EXAMPLES
        .iter()
        .flat_map(|text| manifest::parse(text, &Limits::default()))
        .map(manifest::Document::into_value)
        .collect();
    let mut without = Vec::new();
    unused(
        &schema()["else"],
        &documents.iter().collect::<Vec<_>>(),
        "",
        &mut without,
    );
    assert_eq!(without, [""; 0]);
}

#[test]
fn words_of_poolgate_are_read_in_any_case_and_those_of_karpenter_exactly() {
    let any = "enforcement: Warn\nrules: {policy-limit-max: OFF}\ndefaults: {nodeLimitMode: soft}\noverLimit: Terminate\n\
               atLimit: replace\ncluster: {provider: AWS, webhook: None}\n";
    let exact = any
        .to_lowercase()
        .replace("soft", "Soft")
        .replace("replace", "Replace");
    let exact = exact
        .replace("nodelimitmode", "nodeLimitMode")
        .replace("overlimit", "overLimit");
    assert_eq!(policy(any), policy(&exact.replace("atlimit", "atLimit")));
    assert_eq!(
        mistakes("defaults: {consolidationPolicy: whenEmpty}\n"),
        [r#"3:33: "whenEmpty" is not allowed here. Did you mean WhenEmpty?"#]
    );
}

/// Every single line of an example has an effect: without it the policy is another one, or none.
#[test]
fn no_line_of_an_example_is_lost_on_the_way() {
    for example in EXAMPLES {
        let whole = parse(example).expect("a policy").policy;
        let lines: Vec<&str> = example.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let idle = ["#", "metadata:", "name: production", "reason:"];
            // Built-in values that an example states explicitly.
            let same = ["enforcement: enforce", "overLimit: report", "atLimit: Repair"];
            if idle
                .iter()
                .chain(&same)
                .any(|start| line.trim_start().starts_with(start))
            {
                continue;
            }
            let mut without = lines.clone();
            without.remove(index);
            let without = parse(&without.join("\n"));
            assert!(
                without.is_err() || without.is_ok_and(|reading| reading.policy != whole),
                "{line}"
            );
        }
    }
}

/// An example with some bytes replaced.
fn any_text() -> impl Strategy<Value = String> {
    let example = prop::sample::select(&EXAMPLES[..]);
    let damaged = (
        example,
        any::<prop::sample::Index>(),
        "[-a-z0-9:%{}\\[\\]*\"\n ]{0,6}",
    )
        .prop_map(|(text, index, new)| {
            let at = text.floor_char_boundary(index.index(text.len()));
            let until = text.ceil_char_boundary((at + new.len()).min(text.len()));
            [text.split_at(at).0, &new, text.split_at(until).1].concat()
        });
    prop_oneof![4 => damaged, 1 => ".{0,60}"]
}

proptest! {
    #[test]
    fn any_text_is_a_policy_or_has_mistakes_on_one_line_each(text in any_text()) {
        if let Err(mistakes) = parse(&text) {
            prop_assert!(!mistakes.shown.is_empty());
            for mistake in mistakes.shown {
                prop_assert!(!mistake.message.chars().any(char::is_control), "{:?}", mistake.message);
            }
        }
    }
}

const FILES: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: Files\n";

#[test]
fn a_project_has_a_policy_or_says_which_files_are_read_or_both() {
    let files = format!("{FILES}exclude: [a/]\nenvsubst: [b.env]\ncrd: c.yaml\n");
    let policy = format!("{HEAD}enforcement: warn\n");
    let expected = Files {
        exclude: vec!["a/".to_owned()],
        envsubst: vec!["b.env".to_owned()],
        crd: Some("c.yaml".to_owned()),
    };
    for (text, has_policy, has_files) in [
        (policy.clone(), true, false),
        (files.clone(), false, true),
        (format!("{policy}---\n{files}"), true, true),
        (format!("{files}---\n{policy}---\n# nothing\n"), true, true),
    ] {
        let project = parse_project(&text).unwrap_or_else(|mistakes| panic!("{text}: {mistakes:?}"));
        assert_eq!(project.policy.is_some(), has_policy, "{text}");
        assert_eq!(project.files, has_files.then(|| expected.clone()), "{text}");
    }
}

#[test]
fn mistakes_in_each_document_of_a_project_are_reported_with_their_places() {
    let mistakes = |text: &str| -> Vec<String> {
        let mistakes = parse_project(text).expect_err(text);
        mistakes.shown.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        mistakes(&format!(
            "{HEAD}enforcement: no\n---\n{FILES}excludes: []\n---\n{FILES}---\n{HEAD}"
        )),
        [
            "3:14: expected a string, found false. Write enforce or warn",
            "7:1: there is no field \"excludes\". Did you mean exclude?",
            "8:1: a second document begins here, but a file contains one document of kind Files. Put it into a separate file",
            "11:1: a second document begins here, but a file contains one policy. Put it into a separate file",
        ]
    );
    assert_eq!(
        mistakes("# nothing\n"),
        [
            "1:1: the file contains no policy. Begin it with apiVersion: poolgate.dev/v1alpha1 and kind: Policy"
        ]
    );
}

#[test]
fn a_policy_alone_has_no_document_about_files() {
    let mistakes = parse(&format!("{HEAD}---\n{FILES}"))
        .expect_err("two documents")
        .shown;
    let said: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "3:1: kind: Files is for the commands on files, which read it from .poolgate.yaml. This file must contain one policy alone"
        ]
    );
}
