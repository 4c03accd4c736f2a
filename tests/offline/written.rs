//! What holds for everything that `lint --fix` and `default --write` write, whatever is in the files.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::support::program;

/// How many manifests are written in one run of the program.
const BATCH: usize = 20;

/// A field in one of its spellings, or missing, with one of the values. `*d` is an alias of a value that is itself
/// a mistake in most fields.
fn field(
    indent: usize,
    names: &'static [&'static str],
    values: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let line = move |name: &str, value: &str| format!("{}{name}: {value} # {name}\n", " ".repeat(indent));
    prop_oneof![
        1 => Just(String::new()),
        3 => (select(names), select(values)).prop_map(move |(name, value)| line(name, value)),
    ]
}

const DURATIONS: &[&str] = &[
    "30", "\"30\"", "1d", "'1d'", "30s", "720h", "never", "Never", "1h 30m", "012", "on", "~", "1.5", "*d",
    "!!str 1d", "1hr", "-5m",
];
const COUNTS: &[&str] = &[
    "5", "-1", "\"5\"", "10%", "101%", "0", "012", "0x1F", "'1 0%'", "on", "1.0", "*d",
];
const VALUES: &[&str] = &[
    "[012, 1.0, 0x1F]",
    "[on, yes, 1.10]",
    "[a, a]",
    "[\"1\", 2]",
    "[-3]",
    "[\"+7\"]",
    "[]",
    "a",
    "[*d, 9]",
    "[x y]",
];

fn any_budget() -> impl Strategy<Value = String> {
    let fields = (
        field(6, &["nodes", "Nodes"], COUNTS),
        field(
            6,
            &["reasons"],
            &["[drifted]", "[Empty, empty]", "[underutilised]", "Drifted", "*d"],
        ),
        field(
            6,
            &["schedule", "Schedule"],
            &[
                "0 9 * * *",
                "0 9 * * sat-sun",
                "\"@daily\"",
                "0 9 * * 7",
                "9",
                "UTC 0 9 * * *",
            ],
        ),
        field(
            6,
            &["duration"],
            &["8", "8h", "1d", "'90s'", "8hr", "on", "*d", "1h30m"],
        ),
    );
    fields.prop_map(|(nodes, reasons, schedule, duration)| {
        let fields = [nodes, reasons, schedule, duration].concat();
        match fields.strip_prefix("      ") {
            Some(fields) => format!("    - {fields}"),
            None => "    - {}\n".into(),
        }
    })
}

fn any_disruption() -> impl Strategy<Value = String> {
    let policies = &[
        "WhenUnderutilized",
        "whenempty",
        "WhenEmpty",
        "WhenEmptyOrUnderutilized",
        "on",
        "*d",
    ];
    let fields = (
        field(4, &["consolidationPolicy", "consolidationpolicy"], policies),
        field(4, &["consolidateAfter", "ConsolidateAfter"], DURATIONS),
        field(4, &["expireAfter"], DURATIONS),
        field(4, &["nodeLimitMode"], &["hard", "Soft", "on"]),
        vec(any_budget(), 0..3),
    );
    fields.prop_map(|(policy, after, expire, mode, budgets)| {
        let budgets = match budgets.as_slice() {
            [] => String::new(),
            budgets => format!("    budgets:\n{}", budgets.concat()),
        };
        match [policy, after, expire, mode, budgets].concat() {
            fields if fields.is_empty() => fields,
            fields => format!("  disruption:\n{fields}"),
        }
    })
}

fn any_requirement() -> impl Strategy<Value = String> {
    let keys = &[
        "example.com/a",
        "kubernetes.io/arch",
        "karpenter.sh/capacity-type",
        "topology.kubernetes.io/zone",
    ];
    let operators = &["In", "in", "NotIn", "Gt", "gt", "exists", "on"];
    (
        select(&keys[..]),
        field(8, &["operator"], operators),
        field(8, &["values"], VALUES),
        field(8, &["minValues"], COUNTS),
    )
        .prop_map(|(key, operator, values, least)| format!("      - key: {key}\n{operator}{values}{least}"))
}

/// A whole NodePool with mistakes.
fn any_pool() -> impl Strategy<Value = String> {
    let spec = (
        field(
            2,
            &["weight", "Weight", "wieght"],
            &["10", "\"10\"", "\"010\"", "'200'", "012", "on", "1.5", "*d"],
        ),
        any_disruption(),
        field(
            4,
            &["cpu", "memory"],
            &[
                "100", "\"100\"", "012", "0x10", "1.5", "100 Gi", "1000gi", "on", "1_0", "1e3", "*d",
            ],
        ),
        field(6, &["expireAfter", "ExpireAfter"], DURATIONS),
        field(6, &["terminationGracePeriod"], DURATIONS),
        vec(any_requirement(), 0..3),
        field(8, &["effect"], &["noSchedule", "NoSchedule", "on", "*d"]),
    );
    (select(&["v1", "v1beta1"][..]), spec).prop_map(
        |(version, (weight, disruption, limit, expire, grace, requirements, effect))| {
            let requirements = match requirements.as_slice() {
                [] => "      requirements: []\n".into(),
                requirements => format!("      requirements:\n{}", requirements.concat()),
            };
            let limits = if limit.is_empty() { limit } else { format!("  limits:\n{limit}") };
            format!(
                "apiVersion: karpenter.sh/{version}\nkind: NodePool\nmetadata:\n  name: a\n  \
                 annotations: {{example.com/a: &d 1d}}\nspec:\n{weight}{disruption}{limits}  template:\n    spec:\n      \
                 nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n{expire}{grace}\
                 {requirements}      taints:\n      - key: example.com/team\n{effect}"
            )
        },
    )
}

/// The same pools in forms that must not be edited: as patches, encrypted, as templates.
fn untouchable(pools: &[String]) -> Vec<(String, String)> {
    let kinds = |(number, text): (usize, &String)| {
        [
            (format!("patches/{number}.yaml"), text.clone()),
            (format!("sops/{number}.yaml"), format!("{text}sops: {{mac: x}}\n")),
            (
                format!("template/{number}.yaml"),
                text.replace("name: default", "name: '{{ .Values.a }}'"),
            ),
        ]
    };
    pools.iter().enumerate().flat_map(kinds).collect()
}

/// A finding: file, rule and JSON pointer.
type Found = (String, String, String);

/// What lint finds in a folder.
struct Report(Vec<Value>);

impl Report {
    fn of(folder: &Path) -> Self {
        let outcome = program::run_in(folder, &["lint", "--output", "json", "."], "");
        let report: Value = serde_json::from_str(&outcome.stdout).expect("a report");
        let results = report["results"].as_array().expect("results");
        Self(results.clone())
    }

    fn found(&self, wanted: impl Fn(&Value) -> bool) -> HashSet<Found> {
        let results = self.0.iter().filter(|result| wanted(result));
        results
            .map(|result| {
                let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
                (text("file"), text("rule"), text("pointer"))
            })
            .collect()
    }

    fn errors(&self) -> HashSet<Found> {
        self.found(|result| result["severity"] == "error")
    }
}

/// How many fixes the summary reports.
fn fixed(summary: &str) -> usize {
    let reported = summary
        .lines()
        .flat_map(|line| line.split("; "))
        .find_map(|part| part.strip_suffix(" fixed"));
    let count = reported.and_then(|reported| reported.split(' ').next());
    count.map_or(0, |count| count.parse().expect("a number"))
}

fn write(folder: &Path, files: &[(String, String)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
}

fn texts(folder: &Path, files: &[(String, String)]) -> Vec<(String, String)> {
    let read = |name: &String| fs::read_to_string(folder.join(name)).expect("a file");
    files.iter().map(|(name, _)| (name.clone(), read(name))).collect()
}

/// A folder with these pools, one per file, and the names of the files.
fn folder_of(pools: &[String]) -> (tempfile::TempDir, Vec<(String, String)>) {
    let folder = tempfile::tempdir().expect("a directory");
    let named = |(number, text): (usize, &String)| (format!("{number}.yaml"), text.clone());
    let files: Vec<_> = pools.iter().enumerate().map(named).collect();
    write(folder.path(), &files);
    (folder, files)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_fix_writes_passes_the_review_that_asked_for_it(pools in vec(any_pool(), BATCH)) {
        let (folder, files) = folder_of(&pools);
        let before = Report::of(folder.path());
        let edited = before.found(|result| result["edit"].is_object());
        let outcome = program::run_in(folder.path(), &["lint", "--fix", "."], "");
        let after = Report::of(folder.path());
        // An error elsewhere was there before, hidden by the mistake that is fixed. `gt` hides that its value is no number,
        // and that hides that the label has no numbers.
        let hidden_twice = "requirement-unsatisfiable";
        let is_written = |(file, _, pointer): &&Found| {
            let is_below = |place: &str| pointer.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            edited.iter().any(|(edited, _, place)| edited == file && is_below(place))
        };
        let (errors_before, errors_after) = (before.errors(), after.errors());
        let new = errors_after.difference(&errors_before).filter(|(_, rule, _)| rule != hidden_twice);
        let new: Vec<_> = new.filter(is_written).collect();
        prop_assert_eq!(new, Vec::<&Found>::new(), "new errors");
        let left: Vec<_> = after.found(|_| true).intersection(&edited).cloned().collect();
        prop_assert_eq!(left, [], "findings that were fixed");
        let places: HashSet<_> = edited.iter().map(|(file, _, pointer)| (file, pointer)).collect();
        let mut wrong = errors_after
            .iter()
            .filter(|(file, rule, pointer)| rule != hidden_twice && places.contains(&(file, pointer)));
        prop_assert_eq!(wrong.next(), None, "errors at fields that were written");
        prop_assert!(fixed(&outcome.stderr) >= places.len(), "{:?} {}", places, outcome.stderr);
        let once = texts(folder.path(), &files);
        program::run_in(folder.path(), &["lint", "--fix", "."], "");
        prop_assert_eq!(texts(folder.path(), &files), once, "a second run writes nothing");
    }

    #[test]
    fn what_default_writes_brings_no_finding(pools in vec(any_pool(), BATCH)) {
        let (folder, files) = folder_of(&pools);
        let before = Report::of(folder.path());
        program::run_in(folder.path(), &["default", "--write", "."], "");
        let after = Report::of(folder.path());
        let new: Vec<_> = after.errors().difference(&before.errors()).cloned().collect();
        prop_assert_eq!(new, [], "new errors");
        let once = texts(folder.path(), &files);
        program::run_in(folder.path(), &["default", "--write", "."], "");
        prop_assert_eq!(texts(folder.path(), &files), once, "a second run writes nothing");
    }

    #[test]
    fn patches_encrypted_documents_and_templates_stay_as_they_are(pools in vec(any_pool(), BATCH)) {
        let folder = tempfile::tempdir().expect("a directory");
        let files = untouchable(&pools);
        write(folder.path(), &files);
        let patches: Vec<String> = (0..pools.len()).map(|number| format!("{{path: patches/{number}.yaml}}")).collect();
        let kustomization = format!("patches: [{}]\n", patches.join(", "));
        write(folder.path(), &[("kustomization.yaml".into(), kustomization)]);
        program::run_in(folder.path(), &["lint", "--fix", "."], "");
        program::run_in(folder.path(), &["default", "--write", "."], "");
        prop_assert_eq!(texts(folder.path(), &files), files);
    }
}
