//! Where poolgate's facts about Karpenter come from. A comment beside each names a file and a declaration in it:
//!
//! - in Rust `// karpenter: pkg/apis/v1/nodepool.go Budget.IsActive`,
//! - on the page of a rule `<!-- karpenter: pkg/apis/v1/nodepool.go NodePoolSpec.Weight -->`: the field has the markers,
//! - for what a script writes into the definition of NodePools `hack/validation/labels.sh` with the path of the field,
//! - `karpenter 1.0.8:` for v1beta1, which newer releases do not have,
//! - `karpenter 1.11.0:` for what is new in that release: `core/src/facts/release/milestones.rs`.
//!
//! `tests/data/karpenter-sources.tsv` records the text of each by a hash, and why the other validations and budget
//! functions are not cited. With a newer Karpenter in `tests/programs/go.mod` this test lists what changed.

mod go;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use ignore::Walk;
use poolgate_core::diagnostic::Origin;
use poolgate_core::policy::FeatureGate;
use poolgate_core::rules::CATALOGUE;
use serde_json::Value;

/// The last release with v1beta1.
const V1BETA1: &str = "1.0.8";
/// The releases that can be read, each with its definition of NodePools.
const DEFINITIONS: &str = "core/tests/data/karpenter-crds.jsonl";
const RECORD: &str = "tests/data/karpenter-sources.tsv";
const HEADER: &str = "# Written by POOLGATE_WRITE=1 cargo test --test oracle sources. Reasons are written by hand.\n\
                      # source\thash\tcited, or why not\n";
const CITED: &str = "cited";
const MODULE: &str = "sigs.k8s.io/karpenter";

/// Files and declarations, as `pkg/apis/v1/nodepool.go Budget.IsActive`, with something about each.
type Sources<T> = BTreeMap<String, T>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sources of a release of Karpenter: `sigs.k8s.io/karpenter` with these options of `go mod download`, or `@v1.9.0` behind
/// it.
fn module(arguments: &[&str]) -> PathBuf {
    let output = Command::new("go")
        .args(["mod", "download", "-json"])
        .args(arguments)
        .current_dir(root().join("tests/programs"))
        .envs([("GOWORK", "off"), ("GOTOOLCHAIN", "auto")])
        .output()
        .expect("Go runs");
    let answer = String::from_utf8_lossy(&output.stdout);
    let directory = answer
        .lines()
        .find_map(|line| line.trim().strip_prefix("\"Dir\": \"")?.strip_suffix("\","));
    let complaint = String::from_utf8_lossy(&output.stderr);
    PathBuf::from(directory.unwrap_or_else(|| panic!("go mod download: {answer}{complaint}")))
}

/// What the files of a release declare, read on demand.
struct Release {
    directory: PathBuf,
    files: BTreeMap<String, go::Declared>,
}

impl Release {
    /// The release that a file of modules requires, as Go downloaded it to build the test programs.
    fn required_by(modules: &str) -> Self {
        Self::new(&["-modfile", modules, MODULE])
    }

    fn tagged(release: &str) -> Self {
        Self::new(&[&format!("{MODULE}@v{release}")])
    }

    fn new(arguments: &[&str]) -> Self {
        Self {
            directory: module(arguments),
            files: BTreeMap::new(),
        }
    }

    fn declared(&mut self, file: &str) -> &go::Declared {
        let path = self.directory.join(file);
        self.files.entry(file.to_owned()).or_insert_with(|| {
            let text = fs::read_to_string(path).unwrap_or_default();
            if extension(file) == "sh" {
                go::script(&text)
            } else {
                go::go(&text)
            }
        })
    }

    /// The text of a declaration.
    fn find(&mut self, source: &str) -> Option<&str> {
        let (file, name) = source.split_once(' ')?;
        self.declared(file).get(name).map(String::as_str)
    }

    /// The Go files below a directory that are neither tests nor generated, and the scripts.
    fn files_below(&self, directory: &str) -> Vec<String> {
        let files =
            Walk::new(self.directory.join(directory)).map(|entry| entry.expect("a file of the module"));
        let files = files.filter_map(|entry| {
            let path = entry
                .path()
                .strip_prefix(&self.directory)
                .ok()?
                .to_str()?
                .to_owned();
            let is_generated = path.contains("/zz_generated");
            let is_code = extension(&path) == "go" && !path.ends_with("_test.go") && !is_generated;
            (is_code || extension(&path) == "sh").then_some(path)
        });
        files.collect()
    }

    /// What has to be cited, or to have a reason: in `pkg/apis/v1` exported functions, all of validation, and whatever has
    /// markers of validation; what scripts write into the definition; elsewhere validations and functions of budgets.
    fn wanted(&mut self) -> BTreeSet<String> {
        let mut wanted = BTreeSet::new();
        for (directory, is_wanted) in [
            ("pkg/apis/v1", is_of_api as fn(&str, &str, &str) -> bool),
            ("hack/validation", |_, _, _| true),
            ("pkg/controllers", is_of_budgets),
            ("pkg/utils", is_of_budgets),
        ] {
            for file in self.files_below(directory) {
                let declared = self.declared(&file).iter();
                let names = declared.filter(|(name, text)| is_wanted(&file, name, text));
                wanted.extend(names.map(|(name, _)| format!("{file} {name}")));
            }
        }
        wanted
    }
}

fn extension(file: &str) -> &str {
    file.rsplit('.').next().unwrap_or_default()
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_of_api(file: &str, name: &str, text: &str) -> bool {
    let is_exported = last(name).starts_with(char::is_uppercase);
    let is_function = text.starts_with("func ") && (is_exported || file.ends_with("_validation.go"));
    // The first line of a type has the markers above it, and those of its fields are theirs.
    let own = text.split("struct {").next().unwrap_or(text);
    let has_markers = own.contains("+kubebuilder:validation:") || own.contains("+kubebuilder:default");
    is_function || has_markers && !file.ends_with("_status.go")
}

fn is_of_budgets(_: &str, name: &str, text: &str) -> bool {
    let name = last(name);
    let is_budget = name.contains("Budget") || name.contains("AllowedDisruption");
    text.starts_with("func ") && (is_budget || name.starts_with("Validate"))
}

/// A citation: the release, if it is not the recorded one, and the source.
fn citation(line: &str) -> Option<Result<(Option<&str>, &str), &str>> {
    let line = line.trim();
    let text = line
        .strip_prefix("// karpenter")
        .or_else(|| line.strip_prefix("<!-- karpenter"))?;
    // Prose may begin with the word.
    if !text.starts_with(':') && !text.starts_with(" 1") && !text.starts_with(" 0") {
        return None;
    }
    let text = text.strip_suffix("-->").unwrap_or(text).trim_end();
    let parsed = text
        .split_once(": ")
        .map(|(release, source)| (release.trim(), source));
    let parsed = parsed.filter(|(_, source)| source.split(' ').count() == 2);
    Some(match parsed {
        Some(("", source)) => Ok((None, source)),
        Some((release, source)) => Ok((Some(release), source)),
        None => Err(line),
    })
}

/// All citations of `core` by their release, [`None`] for the recorded one, each with the files that have it.
type Citations = BTreeMap<Option<String>, Sources<BTreeSet<String>>>;

fn citations(problems: &mut Problems) -> Citations {
    let mut found = Citations::new();
    for entry in Walk::new(root().join("core")) {
        let entry = entry.expect("a file of core");
        let path = entry.path();
        if !path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "md")
        {
            continue;
        }
        let text = fs::read_to_string(path).expect("a file of core is read");
        let file = path
            .strip_prefix(root())
            .expect("below the root")
            .display()
            .to_string();
        for line in text.lines() {
            match citation(line) {
                None => {}
                Some(Err(line)) => problems.add("not in the form of a citation", format!("{file}: {line}")),
                Some(Ok((release, source))) => {
                    let of_release = found.entry(release.map(ToOwned::to_owned)).or_default();
                    of_release
                        .entry(source.to_owned())
                        .or_default()
                        .insert(file.clone());
                }
            }
        }
    }
    found
}

/// What is wrong, by its kind.
#[derive(Default)]
struct Problems(BTreeMap<&'static str, Vec<String>>);

impl Problems {
    fn add(&mut self, kind: &'static str, what: String) {
        self.0.entry(kind).or_default().push(what);
    }

    fn check(&self) {
        let mut text = String::new();
        for (kind, all) in &self.0 {
            let _ = writeln!(text, "{kind}:\n  {}", all.join("\n  "));
        }
        assert!(
            text.is_empty(),
            "\n{text}CONTRIBUTING.md, \"Cite Karpenter\", says what to do."
        );
    }
}

/// The record: for each source a hash, and [`CITED`] or a reason.
fn recorded() -> Sources<(String, String)> {
    let text = fs::read_to_string(root().join(RECORD)).unwrap_or_default();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let [source, hash, reason] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{RECORD}: a row has three columns: {row}");
        };
        (source.to_owned(), (hash.to_owned(), reason.to_owned()))
    })
    .collect()
}

/// FNV-1a, which is the same in every release of Rust.
fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The page of a rule about what Karpenter or the API server does, by its path.
fn pages() -> impl Iterator<Item = String> {
    let rules = CATALOGUE.iter().filter(|rule| {
        let kinds = rule.page().kinds;
        kinds.iter().any(|kind| kind.origin != Origin::Poolgate)
    });
    rules.map(|rule| format!("core/rules/{}.md", rule.id))
}

#[test]
fn each_fact_about_karpenter_names_its_source_and_each_validation_is_cited_or_has_a_reason() {
    let mut problems = Problems::default();
    let mut found = citations(&mut problems);
    let cited = found.remove(&None).expect("the recorded release is cited");
    let of_v1beta1 = found.remove(&Some(V1BETA1.to_owned())).expect("v1beta1 is cited");
    let mut old = Release::required_by(&format!("karpenter-{V1BETA1}.mod"));
    for (source, files) in &of_v1beta1 {
        if old.find(source).is_none() {
            problems.add("cited, and not in 1.0.8", format!("{source} {files:?}"));
        }
    }
    let mut newest = Release::required_by("go.mod");
    let recorded = recorded();
    let mut current = Sources::new();
    for (source, files) in &cited {
        match newest.find(source) {
            Some(text) => {
                current.insert(source.clone(), (hash(text), CITED.to_owned()));
            }
            None => problems.add(
                "cited, and not in the recorded release",
                format!("{source} {files:?}"),
            ),
        }
    }
    let reason_of = |source: &str| {
        recorded
            .get(source)
            .map(|(_, reason)| reason.clone())
            .filter(|reason| reason != CITED)
    };
    for source in newest.wanted() {
        if cited.contains_key(&source) {
            continue;
        }
        match (reason_of(&source), newest.find(&source)) {
            (Some(reason), Some(text)) => {
                current.insert(source, (hash(text), reason));
            }
            _ => problems.add("neither cited nor excepted with a reason", source),
        }
    }
    let citing: BTreeSet<&String> = cited.values().chain(of_v1beta1.values()).flatten().collect();
    for page in pages().filter(|page| !citing.contains(page)) {
        match reason_of(&page) {
            Some(reason) => {
                current.insert(page, ("-".to_owned(), reason));
            }
            None => problems.add("a page without a citation or a reason", page),
        }
    }
    let mut text = HEADER.to_owned();
    for (source, (hash, reason)) in &current {
        let _ = writeln!(text, "{source}\t{hash}\t{reason}");
    }
    if env::var_os("POOLGATE_WRITE").is_some() {
        fs::write(root().join(RECORD), text).expect("the record is written");
    } else {
        for (source, (hash, reason)) in &recorded {
            match current.get(source) {
                None if cited.contains_key(source) => {}
                None => problems.add("recorded, and gone, or no longer to be cited", source.clone()),
                Some((_, now)) if now != reason => {
                    problems.add("cited, and excepted with a reason", source.clone());
                }
                Some((now, _)) if now != hash => problems.add("changed since it was read", source.clone()),
                Some(_) => {}
            }
        }
        for source in current.keys().filter(|source| !recorded.contains_key(*source)) {
            problems.add("cited, and not recorded", source.clone());
        }
    }
    problems.check();
}

/// Each release that can be read, oldest first.
fn readable() -> Vec<String> {
    let text = fs::read_to_string(root().join(DEFINITIONS)).expect("the recorded definitions are read");
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let releases = records.flat_map(|record| record["releases"].as_array().cloned().expect("releases"));
    releases
        .map(|release| release.as_str().expect("a release").to_owned())
        .collect()
}

/// The feature gates of a release, each with its default.
fn gates(release: &str) -> BTreeMap<String, String> {
    let options = Release::tagged(release)
        .directory
        .join("pkg/operator/options/options.go");
    let text = fs::read_to_string(options).expect("the options");
    // Older releases have them in one string, newer ones as data.
    let written = text.split("\"FEATURE_GATES\", \"").nth(1);
    if let Some(written) = written.and_then(|rest| rest.split('"').next()) {
        let gates = written.split(',').filter_map(|gate| gate.split_once('='));
        return gates.map(|(gate, on)| (gate.to_owned(), on.to_owned())).collect();
    }
    let quoted = |line: &str, key: &str| line.trim().strip_prefix(key).map(|rest| rest.trim().to_owned());
    let mut names = text.lines().filter_map(|line| quoted(line, "Name:"));
    let mut defaults = text.lines().filter_map(|line| quoted(line, "Default:"));
    let mut gates = BTreeMap::new();
    while let (Some(name), Some(on)) = (names.next(), defaults.next()) {
        let name = name.trim_matches(['"', ',']).to_owned();
        gates.insert(name, on.trim_matches(',').to_owned());
    }
    gates
}

#[test]
fn feature_gates_keep_their_defaults_from_1_14_1_to_the_recorded_release_and_the_policy_knows_all() {
    let (before, now) = (gates("1.14.1"), gates("1.15.0"));
    assert!(before.len() >= 6, "{before:?}");
    for (gate, on) in &before {
        assert_eq!(now.get(gate), Some(on), "{gate}");
    }
    let known: BTreeSet<&str> = FeatureGate::VALUES.iter().copied().collect();
    let named: BTreeSet<&str> = now.keys().map(String::as_str).collect();
    assert_eq!(known, named);
    assert_eq!(
        gates("1.5.0").get("ReservedCapacity").map(String::as_str),
        Some("false")
    );
    assert_eq!(
        gates("1.6.0").get("ReservedCapacity").map(String::as_str),
        Some("true")
    );
}

#[test]
#[ignore = "downloads a dozen releases of Karpenter"]
fn each_milestone_that_only_code_shows_is_new_in_the_release_that_it_names() {
    let mut problems = Problems::default();
    let found = citations(&mut problems);
    let readable = readable();
    let mut releases: BTreeMap<String, Release> = BTreeMap::new();
    let mut read = |release: &str, source: &str| {
        let release = releases
            .entry(release.to_owned())
            .or_insert_with(|| Release::tagged(release));
        release.find(source).map(ToOwned::to_owned)
    };
    let mut seen = 0;
    for (release, sources) in found {
        let Some(release) = release.filter(|release| release != V1BETA1) else {
            continue;
        };
        let at = readable.iter().position(|known| *known == release);
        let Some(before) = at.and_then(|at| readable.get(at.checked_sub(1)?)) else {
            problems.add("cited, and not among the recorded definitions", release);
            continue;
        };
        for source in sources.into_keys() {
            seen += 1;
            match (read(&release, &source), read(before, &source)) {
                (None, _) => problems.add("not in its release", format!("{release} {source}")),
                (now, then) if now == then => problems.add("not new", format!("{release} {source}")),
                _ => {}
            }
        }
    }
    problems.check();
    assert!(seen > 8, "{seen}");
}
