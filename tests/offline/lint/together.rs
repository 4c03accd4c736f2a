//! `--together`: what its cases cannot show.

use std::fs;

use serde_json::Value;

use super::lint_in;
use crate::schemas::assert_sarif;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::program::root;
use crate::support::schemas::assert_described;

/// The rules that no review applies.
const ACROSS: &str =
    "nodepool-repeated,node-class-missing,nodepool-overlap,nodepools-frozen,capacity-reservations";

#[test]
fn the_place_of_the_other_object_is_as_the_schemas_say() {
    let directory = directory(&[("a.yaml", SOUND), ("b.yaml", SOUND)]);
    let printed = |format: &str| {
        let flags = [
            "--together",
            "--select=nodepool-repeated",
            "--output",
            format,
            ".",
        ];
        let outcome = lint_in(directory.path(), &flags, "");
        serde_json::from_str(&outcome.stdout).expect("JSON")
    };
    let json: Value = printed("json");
    assert_described(&json);
    assert_eq!(json["results"][0]["related"][0]["file"], "a.yaml", "{json}");
    let sarif: Value = printed("sarif");
    assert_sarif(&sarif);
    let result = &sarif["runs"][0]["results"][0];
    let uri = |location: &Value| location["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(uri(&result["locations"][0]), "b.yaml");
    assert_eq!(uri(&result["relatedLocations"][0]), "a.yaml");
}

#[test]
fn manifests_of_real_people_have_no_finding_across_them_but_classes_kept_elsewhere() {
    let files = fs::read_dir(root().join("tests/corpus")).expect("the corpus");
    let paths = files.map(|file| file.expect("an entry").path());
    let mut reported = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
        let path = path.to_str().expect("UTF-8");
        let arguments = ["--together", "--output=concise", "--select", ACROSS, path];
        let outcome = lint_in(root(), &arguments, "");
        let lines = outcome.stdout.lines().map(str::to_owned);
        reported
            .extend(lines.filter(|line| ACROSS.split(',').any(|rule| line.contains(&format!("[{rule}]")))));
    }
    let elsewhere = |line: &&String| line.contains("note[node-class-missing]");
    assert!(reported.iter().filter(elsewhere).count() > 20, "{reported:?}");
    reported.retain(|line| !elsewhere(&line));
    assert_eq!(reported, [""; 0]);
}
