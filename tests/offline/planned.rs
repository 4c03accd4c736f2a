//! `poolgate lint` finds nothing in what `poolgate budgets plan` prints.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::support::full::full;
use crate::support::nodepool::SOUND;
use crate::support::program;

const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const ZONES: [&str; 5] = [
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
];

/// Random hours as users write them.
fn hours(rng: &mut StdRng) -> String {
    let days: Vec<&str> = DAYS.into_iter().filter(|_| rng.random_bool(0.4)).collect();
    let (start, length) = (rng.random_range(0..24), rng.random_range(1..24));
    let minute = [0, 30][rng.random_range(0..2)];
    let zone = ZONES[rng.random_range(0..ZONES.len())];
    let end = (start + length) % 24;
    let time = format!("{start:02}:{minute:02}-{end:02}:{minute:02} {zone}");
    format!("{} {time}", days.join(",")).trim_start().to_owned()
}

/// A wish as arguments of the command.
fn wish(rng: &mut StdRng) -> Vec<String> {
    let mut arguments = Vec::new();
    for flag in ["--allow", "--freeze"] {
        for _ in 0..rng.random_range(0..=2) {
            arguments.push(format!("{flag}={}", hours(rng)));
        }
    }
    if arguments.is_empty() {
        arguments.push(format!("--allow={}", hours(rng)));
    }
    if rng.random_bool(0.3) {
        arguments.push("--nodes=3".into());
    }
    arguments
}

/// The comment above budgets by which no node may ever be disrupted.
const NEVER: &str = "# These hours leave no minute in which a node may be disrupted.\n";

/// The NodePools with the budgets of each variant; empty if the hours need too many.
fn pools(arguments: &[String]) -> Vec<String> {
    let mut all = vec!["budgets", "plan", "--at=2026-01-05"];
    all.extend(arguments.iter().map(String::as_str));
    let outcome = program::run(&all, "");
    if !outcome.status.success() {
        assert!(
            outcome.stderr.contains("Use fewer different hours"),
            "{outcome:?}"
        );
        return Vec::new();
    }
    let variants = outcome.stdout.split("---\n").map(|variant| {
        let (_, budgets) = variant.split_once("    budgets:\n").expect("budgets");
        let never = if variant.contains(NEVER) { NEVER } else { "" };
        format!("{never}{}", SOUND.replace("    - nodes: 10%\n", budgets))
    });
    variants.collect()
}

#[test]
fn planned_budgets_pass_lint_without_findings() {
    let wishes = if full() { 1_000 } else { 40 };
    let mut rng = StdRng::seed_from_u64(20_260_105);
    let (mut planned, mut never) = (0, 0);
    for _ in 0..wishes {
        let arguments = wish(&mut rng);
        let pools = pools(&arguments);
        planned += usize::from(!pools.is_empty());
        let text = pools.join("---\n");
        let outcome = program::run(&["lint", "--isolated", "--output=concise", "-"], &text);
        // If no node may ever be disrupted, the meaning of that is reported as well.
        let frozen = pools.iter().filter(|pool| pool.starts_with(NEVER)).count();
        let (expected, others): (Vec<&str>, Vec<&str>) = outcome
            .stdout
            .lines()
            .partition(|line| line.contains(" note[budget-blocks-drift]: "));
        assert_eq!(others, [""; 0], "{arguments:?}\n{text}");
        assert_eq!(expected.len(), frozen, "{arguments:?}\n{text}");
        never += usize::from(frozen > 0);
    }
    assert!(planned > wishes * 3 / 4, "{planned} of {wishes} could be planned");
    assert!(
        never > 0 && never < wishes / 4,
        "{never} of {wishes} block all disruption"
    );
}

#[test]
fn one_of_two_flags_is_needed_and_days_and_hours_are_taken_as_people_write_them() {
    let plan =
        |arguments: &[&str]| program::run(&[&["budgets", "plan", "--at=2026-01-05"], arguments].concat(), "");
    let none = plan(&[]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    assert!(
        none.stderr.contains("<--allow <HOURS>|--freeze <HOURS>>"),
        "{none:?}"
    );
    let budgets = |arguments: &[&str]| {
        let text = plan(arguments).success();
        text.split_once("spec:").expect("budgets").1.to_owned()
    };
    assert_eq!(
        budgets(&["--allow=saturday 2-6"]),
        budgets(&["--allow=sat 02:00-06:00"])
    );
    assert_eq!(
        budgets(&["--freeze=Monday-friday 9-17:30"]),
        budgets(&["--freeze=mon-fri 09:00-17:30"])
    );
}
