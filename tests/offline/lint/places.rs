//! Each finding is at the line and column where the mistake is, whatever surrounds it.

use super::concise;
use crate::support::nodepool::SOUND;

/// Marks each position that a finding must point at.
const HERE: char = '▸';

/// Six mistakes, in the order of the text.
const MISTAKES: &str = "\
# 池の設定 🚀
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  ▸weigth: 5
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 1m
    budgets:
    - nodes: \"0\"
      schedule: ▸0 9 * * sat-sun
      duration: 8h
    - ▸nodes: \"5\"
      schedule: \"@daily\"
  limits:
    cpu: ▸\"1e2147483648\"
    memory: ▸\"-1Gi\"
  template:
    spec:
      ▸nodeClassRef:
        group: karpenter.k8s.aws
        name: default
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
";

/// A key is what is wrong, or the value below it.
const KEYS: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  limits:
    ▸CPU: \"100\"
  template:
    metadata:
      labels:
        ▸karpenter.sh/initialized: \"true\"
        ▸spaces are not allowed: a
        example.com/a: ▸a/b
      annotations: {▸owned by: me}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
      - {key: ▸node.cilium.io/agent-not-ready, effect: NoExecute}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
";

#[test]
fn a_wrong_key_is_pointed_at_and_not_its_value() {
    let rules = [
        "limit-unknown",
        "label-restricted",
        "label-key",
        "label-value",
        "template-annotations",
        "taint-startup",
    ];
    assert_places(KEYS, &rules);
}

const RULES: [&str; 6] = [
    "field-unknown",
    "schedule-syntax",
    "budget-duration",
    "limit-amount",
    "limit-amount",
    "field-required",
];

/// The text without its marks, and the line and column of each mark.
fn unmarked(text: &str) -> (String, Vec<(usize, usize)>) {
    let mut places = Vec::new();
    let mut plain = String::new();
    let (mut line, mut column) = (1, 1);
    for character in text.chars() {
        match character {
            HERE => {
                places.push((line, column));
                continue;
            }
            '\n' => (line, column) = (line + 1, 1),
            '\u{feff}' => {}
            _ => column += 1,
        }
        plain.push(character);
    }
    (plain, places)
}

/// Line, column and rule of each finding that is printed.
fn found(stdout: &str) -> Vec<(usize, usize, String)> {
    let place = |line: &str| {
        let mut parts = line.splitn(4, ':');
        assert_eq!(parts.next(), Some("pool.yaml"), "{line}");
        let mut number = || parts.next()?.parse().ok();
        let (line, column) = (number()?, number()?);
        let rule = parts.next()?.split_once('[')?.1.split_once(']')?.0;
        Some((line, column, rule.to_owned()))
    };
    stdout
        .lines()
        .map(|line| place(line).unwrap_or_else(|| panic!("{line}")))
        .collect()
}

#[track_caller]
fn assert_places(marked: &str, rules: &[&str]) {
    let (text, places) = unmarked(marked);
    let outcome = concise(&text);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let expected: Vec<_> = places
        .iter()
        .zip(rules)
        .map(|((line, column), rule)| (*line, *column, (*rule).to_owned()))
        .collect();
    assert_eq!(found(&outcome.stdout), expected, "{text}\n{}", outcome.stdout);
    assert_eq!(places.len(), rules.len());
}

#[test]
fn six_mistakes_are_six_findings_each_at_its_place() {
    assert_places(MISTAKES, &RULES);
}

#[test]
fn carriage_returns_and_a_byte_order_mark_move_nothing() {
    assert_places(&MISTAKES.replace('\n', "\r\n"), &RULES);
    assert_places(&format!("\u{feff}{MISTAKES}"), &RULES);
    let first = format!(
        "\u{feff}{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: a}}, ▸spek: 1, {}",
        "spec: {disruption: {budgets: [{nodes: 10%}], consolidateAfter: 1m}, limits: {cpu: \"1\", memory: 1Gi}, \
         template: {spec: {requirements: [], \
         nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}}}}\n"
    );
    assert_places(&first, &["field-unknown"]);
}

#[test]
fn a_tab_is_one_column_and_so_is_any_character() {
    let tabs = MISTAKES.replace(": ▸", ":\t\t▸");
    assert!(tabs.contains("cpu:\t\t▸"));
    assert_places(&tabs, &RULES);
    let wide = MISTAKES.replace(
        "    cpu: ▸\"1e2147483648\"\n    memory: ▸\"-1Gi\"",
        "    {▸\"日本語🚀\": ▸x, cpu: ▸\"1e2147483648\", memory: ▸\"-1Gi\"}",
    );
    let rules = [&RULES[..3], &["limit-unknown", "limit-amount"], &RULES[3..]].concat();
    assert_places(&wide, &rules);
}

#[test]
fn documents_and_lists_keep_their_places() {
    let later = format!("kind: ConfigMap\n---\n{SOUND}---\n{MISTAKES}");
    assert_places(&later, &RULES);
    let indented = MISTAKES.trim_end().replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n-\n  {indented}\n");
    assert_places(&list, &RULES);
    let directory = super::directory(&[("pool.yaml", &list.replace(HERE, ""))]);
    let printed = super::lint_in(directory.path(), &["--output", "github", "pool.yaml"], "").stdout;
    assert!(printed.contains("items[0].spec.limits.cpu"), "{printed}");
}

#[test]
fn json_has_places_too() {
    let json = "{\"apiVersion\": \"karpenter.sh/v1\", \"kind\": \"NodePool\", \"metadata\": {\"name\": \"a\"},\n \
                \"spec\": {\"limits\": {\"cpu\": ▸\"-1\", \"memory\": \"1Gi\"},\n\t\"disruption\": {\"budgets\": \
                [{\"nodes\": ▸\"101%\"}], \"consolidateAfter\": \"1m\"}, \"template\": {\"spec\": \
                {\"requirements\": [], \"nodeClassRef\": {\"group\": \"karpenter.k8s.aws\", \"kind\": \
                \"EC2NodeClass\", \"name\": \"d\"}}}}}\n";
    assert_places(json, &["limit-amount", "budget-nodes"]);
}
