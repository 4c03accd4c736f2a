//! The examples at the end of each `--help`. A test runs every line.

pub const POOLGATE: &str = "\
Examples:
  poolgate lint pools/                                        mistakes, before the cluster has them
  kubectl get nodepools -o yaml | poolgate budgets            when nodes may be disrupted
  poolgate serve --self-signed --no-cluster --ca-out ca.crt   the webhook, on this machine";

pub const SERVE: &str = "\
Examples:
  poolgate serve --self-signed --no-cluster --ca-out ca.crt
  poolgate serve --tls-cert tls.crt --tls-key tls.key --policy policy.yaml";

pub const GATE: &str = "\
Examples:
  poolgate gate --tls-cert tls.crt --tls-key tls.key
  poolgate gate --observe --tls-cert tls.crt --tls-key tls.key      only count denials";

pub const RECONCILE: &str = "\
Examples:
  poolgate reconcile --observe          only log what would be done
  poolgate reconcile --over-limit terminate --max-terminations-per-minute 5
  poolgate reconcile --unhold-all       remove all marks and exit";

pub const CERTIFICATES: &str = "\
Examples:
  poolgate certificates --namespace poolgate-system";

pub const STATUS: &str = "\
Examples:
  poolgate status
  poolgate status --context prod --probe      also call the webhooks
  poolgate status --watch=30s
  poolgate status -o json";

pub const WHY: &str = "\
Examples:
  poolgate why node ip-10-0-1-2.ec2.internal
  poolgate why pool general
  poolgate why pod -f deploy.yaml pools/";

pub const ROLLOUT: &str = "\
Examples:
  poolgate rollout
  poolgate rollout nodepool/general --wait --timeout 30m
  poolgate rollout ec2nodeclass/default --wait -o json";

pub const FREEZE: &str = "\
Examples:
  poolgate freeze general --until 4h --reason 'incident 4711'
  poolgate freeze --all --until 2099-12-27T08:00 --tz Europe/Berlin --reason 'Black Friday'
  poolgate freeze general batch --forever --reason 'migration' --by platform-team";

pub const UNFREEZE: &str = "\
Examples:
  poolgate unfreeze general
  poolgate unfreeze --all";

pub const ADMIT: &str = "\
Examples:
  poolgate admit <review.json
  poolgate admit --mutate --policy policy.yaml <review.json";
