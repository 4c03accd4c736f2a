//! The examples at the end of each `--help`. A test runs every line.

pub const POOLGATE_LINT: &str = "\
Examples:
  poolgate-lint lint pools/
  poolgate-lint budgets --week pools/";

pub const LINT: &str = "\
Examples:
  poolgate lint pools/
  kustomize build overlays/prod | poolgate lint -
  poolgate lint --karpenter-version 1.8 --policy policy.yaml pools/
  poolgate lint --format sarif=lint.sarif --fail-on warning pools/
  poolgate lint --fix --diff pools/
  poolgate lint --statistics --exclude legacy/ .
  kustomize build overlays/prod | poolgate lint --together -      all objects are there
  poolgate lint --cluster --karpenter-version 1.15      what would break when you upgrade";

pub const DEFAULT: &str = "\
Examples:
  poolgate default pools/general.yaml
  poolgate default --diff pools/
  poolgate default --write pools/
  kustomize build overlays/prod | poolgate default -";

pub const BUDGETS: &str = "\
Examples:
  kubectl get nodepools -o yaml | poolgate budgets
  poolgate budgets --pool general --nodes 25 pools/
  poolgate budgets --week --tz Europe/Berlin pools/
  poolgate budgets --at 2026-12-24T18:00 --tz Europe/Berlin pools/
  poolgate budgets --svg week.svg pools/
  poolgate budgets plan --allow 'sat 02:00-06:00 Europe/Berlin'";

pub const RULES: &str = "\
Examples:
  poolgate rules
  poolgate rules never
  poolgate rules schedule-syntax";

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
  poolgate man lint >poolgate-lint.1";
