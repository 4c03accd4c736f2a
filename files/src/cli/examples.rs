//! The examples at the end of each `--help`. A test runs every line.

/// `PROGRAM` stands for the program's name.
pub const ALONE: &str = "\
Examples:
  PROGRAM lint pools/
  PROGRAM budgets --week pools/";

pub const LINT: &str = "\
Examples:
  poolgate lint                                         all manifests below the current directory
  poolgate lint --fix --diff pools/                     show what --fix would change
  poolgate lint --kustomize overlays/prod               what your kustomize renders
  poolgate lint -o sarif=lint.sarif --fail-on warning pools/
  poolgate lint --karpenter-version 1.8 --policy policy.yaml pools/
  poolgate lint --cluster --karpenter-version 1.15      what would break when you upgrade";

pub const UPGRADE: &str = "\
Examples:
  poolgate upgrade --from 1.8 --to 1.15 pools/
  poolgate upgrade --from 1.8 --to 1.15 -o markdown pools/
  poolgate upgrade --cluster --to 1.15                  from the installed release";

pub const DEFAULT: &str = "\
Examples:
  poolgate default pools/general.yaml
  poolgate default --diff pools/
  poolgate default --write pools/
  kustomize build overlays/prod | poolgate default -";

pub const DIFF: &str = "\
Examples:
  poolgate diff old.yaml new.yaml
  poolgate diff --git HEAD --kustomize overlays/prod
  kustomize build overlays/prod | poolgate diff --nodes 40 old.yaml -
  poolgate diff --git HEAD -o markdown pools/
  poolgate diff --git HEAD --nodes general=40 --max-drift 5 pools/
  kustomize build overlays/prod | poolgate diff --cluster -      which nodes drift";

pub const BUDGETS: &str = "\
The number of a budget limits how many nodes are disrupted simultaneously, not how many in total: when one node is gone, the
next may be disrupted. It cannot limit a rate, such as one node an hour. Nodes that are not ready or already being deleted
count against it. Budgets limit neither expiration (before Karpenter 1.0 they do) nor spot interruption. Drift does not
compare prices, so the new node may cost more.

Examples:
  kubectl get nodepools -o yaml | poolgate budgets
  poolgate budgets --pool general --nodes 25 pools/
  poolgate budgets --week --tz Europe/Berlin pools/
  poolgate budgets --at 2026-12-24T18:00 --tz Europe/Berlin pools/
  poolgate budgets --svg week.svg pools/
  poolgate budgets plan --allow 'sat 02:00-06:00 Europe/Berlin'";

pub const LSP: &str = "\
Examples:
  poolgate lsp
  poolgate lsp --karpenter-version 1.15 --ignore manifest-variable";

pub const RULES: &str = "\
Examples:
  poolgate rules
  poolgate rules never";

pub const EXPLAIN: &str = "\
Examples:
  poolgate explain schedule-syntax
  poolgate explain spec.disruption.consolidateAfter
  poolgate explain nodepool.spec.limits";

pub const SCHEMA: &str = "\
Examples:
  poolgate schema --provider aws >nodepool.json
  poolgate schema --karpenter-version 1.8 --policy policy.yaml >nodepool.json
  poolgate schema --kind EC2NodeClass >ec2nodeclass.json";

pub const POLICY: &str = "\
Examples:
  poolgate policy check policy.yaml
  poolgate policy schema >policy.schema.json";

pub const CRD: &str = "\
Examples:
  kubectl get crd nodepools.karpenter.sh -o yaml | poolgate crd patch | kubectl replace -f -";

pub const COMPLETIONS: &str = "\
Examples:
  poolgate completions bash >poolgate.bash && . ./poolgate.bash
  poolgate completions fish >poolgate.fish";

pub const MAN: &str = "\
Examples:
  poolgate man lint >lint.1";
