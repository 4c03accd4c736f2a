//! Reviews of NodeClaims: which of them the gate decides on, and the texts of its answers.

use std::fmt::Write as _;

use poolgate_core::api::NodeLimitMode;
use poolgate_core::facts::{GROUP, NODEPOOL_LABEL};
use poolgate_core::json::{FieldMask, Json};
use poolgate_core::nodelimit::ledger::{Denial, Full};
use poolgate_core::value::label::label_value;

use crate::serving::admission::answer;
use crate::serving::admission::envelope::{self, AdmissionRequest, Operation, Text, shortened, text};
use crate::serving::admission::{Answer, Malformed, inquiry};

/// The name of a denial of the gate in audit annotations.
const RULE: &str = "node-limit";

/// As much of a NodeClaim as is read.
const CLAIM: FieldMask<'_> = FieldMask::Only(&[(
    "metadata",
    FieldMask::Only(&[
        ("name", FieldMask::All),
        ("uid", FieldMask::All),
        ("deletionTimestamp", FieldMask::All),
        ("labels", FieldMask::Only(&[(NODEPOOL_LABEL, FieldMask::All)])),
    ]),
)]);

/// A NodeClaim, as far as it is read.
struct Claim<'b> {
    pool: Option<Text<'b>>,
    uid: Text<'b>,
    name: Text<'b>,
    is_deleted: bool,
}

impl<'b> Claim<'b> {
    fn new(mut claim: Json<'b>) -> Self {
        let mut metadata = claim.take("metadata");
        let pool = match metadata.take("labels").take(NODEPOOL_LABEL) {
            Json::String(pool) => Some(pool),
            _ => None,
        };
        Self {
            pool,
            uid: text(&mut metadata, "uid"),
            name: text(&mut metadata, "name"),
            is_deleted: !metadata.take("deletionTimestamp").is_null(),
        }
    }
}

/// A review of a NodeClaim that is about to be created in a pool. It does not keep the body, and takes 8 KiB at most while it
/// waits.
#[derive(Debug)]
pub struct NodeClaimReview {
    request: AdmissionRequest<'static>,
    /// The pool's name.
    pub pool: Box<str>,
    /// The NodeClaim's uid; empty if it has none.
    pub uid: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

/// Reads the review of a NodeClaim creation. If the gate has nothing to decide, returns the answer. Fails only if
/// there is no request to answer.
pub fn open(body: &[u8]) -> Result<Result<NodeClaimReview, Answer<'_>>, Malformed> {
    let (request, objects) = match envelope::open(body, CLAIM) {
        Ok(read) => read,
        Err(Malformed::NotAReview(error)) => {
            let request = envelope::open_without_objects(body)?;
            return Ok(Err(if is_reviewed(&request) {
                answer::unreadable(&request, &error)
            } else {
                answer::admitted(&request, None)
            }));
        }
        Err(error) => return Err(error),
    };
    if !is_reviewed(&request) {
        return Ok(Err(answer::admitted(&request, None)));
    }
    Ok(created(request, Claim::new(objects.new)))
}

/// Whether a NodeClaim is about to be created.
fn is_reviewed(request: &AdmissionRequest<'_>) -> bool {
    let kind = &request.kind;
    kind.group == GROUP
        && kind.kind == "NodeClaim"
        && request.sub_resource.is_empty()
        && request.operation == Operation::Create
}

fn created<'b>(request: AdmissionRequest<'b>, claim: Claim<'_>) -> Result<NodeClaimReview, Answer<'b>> {
    match claim.pool {
        // What the API server rejects as a label is not the name of a pool, and not a path either.
        Some(pool) if !claim.is_deleted && !pool.is_empty() && label_value(&pool).is_ok() => {
            Ok(NodeClaimReview {
                request: request.detached(),
                pool: pool.into(),
                uid: shortened(&claim.uid).into(),
                name: shortened(&claim.name).into(),
            })
        }
        _ => Err(answer::admitted(&request, None)),
    }
}

#[cfg(test)]
impl NodeClaimReview {
    /// A review of a NodeClaim with this UID that is about to be created in a pool.
    pub fn of_creation(pool: &str, uid: &str) -> Self {
        let claim =
            serde_json::json!({"metadata": {"name": uid, "uid": uid, "labels": {NODEPOOL_LABEL: pool}}});
        let review = serde_json::json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "review",
                "kind": {"group": GROUP, "version": "v1", "kind": "NodeClaim"},
                "operation": "CREATE",
                "object": claim,
            },
        });
        let body = review.to_string();
        let Ok(review) = open(body.as_bytes()).expect("a review") else {
            panic!("it is answered without the gate");
        };
        review
    }
}

impl NodeClaimReview {
    /// Whether it is an inquiry: nothing is stored, so it is admitted, and the decision is in a warning.
    pub fn is_inquiry(&self) -> bool {
        inquiry::is_inquiry(&self.request)
    }

    /// It is admitted with this warning.
    pub fn tell(&self, warning: String) -> Answer<'static> {
        answer::admitted_with_warning(&self.request, warning)
    }

    /// Whether this is a dry run.
    pub fn is_dry_run(&self) -> bool {
        self.request.dry_run
    }

    /// The limit allows it.
    pub fn admit(&self) -> Answer<'static> {
        answer::admitted(&self.request, None)
    }

    /// The limit is reached, but it is admitted: only the audit log says so.
    pub fn admit_beyond(&self) -> Answer<'static> {
        answer::admitted(&self.request, Some(RULE))
    }

    /// The limit is reached.
    pub fn deny(&self, denied: &Denial) -> Answer<'static> {
        answer::forbidden(&self.request, sentence(&self.pool, denied), RULE)
    }

    /// Whether the limit is reached is not known.
    pub fn deny_undecided(&self, error: &str) -> Answer<'static> {
        let text = format!(
            "poolgate cannot tell whether NodePool {} is at its node limit: {error}. /gate/strict denies NodeClaims \
             until it can",
            self.pool
        );
        answer::forbidden(&self.request, text, RULE)
    }
}

/// Why a claim is denied, and what can be done about it.
pub fn sentence(pool: &str, denied: &Denial) -> String {
    match denied {
        Denial::Full(full) => full_sentence(pool, full),
        Denial::Busy => format!(
            "NodePool {pool} is below its node limit, but too many NodeClaim creations are in flight. Retry in \
             about a minute"
        ),
        Denial::LedgerLost => format!(
            "NodePool {pool} may be at its node limit. Its limit is new or its ledger was lost, so not all \
             admissions are on record. Retry in about a minute"
        ),
    }
}

fn full_sentence(pool: &str, full: &Full) -> String {
    let Full {
        limit,
        occupied,
        terminating,
        outstanding,
        disrupted,
        stale,
    } = full;
    let mut text = format!(
        "NodePool {pool} is at its node limit of {} ({}): {} towards it",
        limit.nodes,
        limit.mode.as_str(),
        match occupied.saturating_sub(*outstanding) {
            1 => "1 NodeClaim counts".to_owned(),
            existing => format!("{existing} NodeClaims count"),
        }
    );
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let is_held = limit.mode == NodeLimitMode::Hard && *terminating > 0;
    // Writing to a String cannot fail.
    if is_held {
        let _ = write!(text, " ({terminating} {} terminating)", are(*terminating));
    }
    if *outstanding > 0 {
        let places = if *outstanding == 1 {
            "1 place is held by a creation".to_owned()
        } else {
            format!("{outstanding} places are held by creations")
        };
        let _ = write!(text, ", {places} not seen yet");
    }
    if *stale {
        text += " (by the last count, because listing NodeClaims takes too long)";
    } else if limit.surge > 0 {
        let _ = write!(
            text,
            ". Its surge of {} admits one more for each node that Karpenter is replacing, now {disrupted}",
            limit.surge
        );
    }
    text += ". Raise the limit, or wait until a node is gone";
    if is_held {
        text += " (terminationGracePeriod bounds its drain)";
    }
    text
}

#[cfg(test)]
mod tests {
    use poolgate_core::nodelimit::ledger::LimitInForce;
    use serde_json::{Value, json};

    use super::*;

    fn review(operation: &str, object: &Value, old: &Value) -> Vec<u8> {
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "review",
                "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodeClaim"},
                "operation": operation,
                "name": "general-x7k2p",
                "object": object,
                "oldObject": old,
                "dryRun": true,
            },
        })
        .to_string()
        .into_bytes()
    }

    fn claim(pool: Option<&str>) -> Value {
        json!({"metadata": {"name": "general-x7k2p", "uid": "u-1", "labels": {NODEPOOL_LABEL: pool, "team": "blue"}}})
    }

    fn answered(body: &[u8]) -> Value {
        match open(body).expect("a review") {
            Err(answer) => serde_json::from_slice(&answer.body).expect("JSON"),
            Ok(claim) => panic!("not decided for {}", claim.pool),
        }
    }

    #[test]
    fn the_gate_decides_on_a_creation_by_the_pool_of_its_label() {
        let body = review("CREATE", &claim(Some("general")), &Value::Null);
        let Ok(claim) = open(&body).expect("a review") else {
            panic!("answered at once");
        };
        assert_eq!(
            (&*claim.pool, &*claim.uid, &*claim.name),
            ("general", "u-1", "general-x7k2p")
        );
        assert!(claim.is_dry_run());
        let answer: Value = serde_json::from_slice(&claim.admit().body).expect("JSON");
        assert_eq!(answer["response"], json!({"uid": "review", "allowed": true}));
    }

    #[test]
    fn what_does_not_count_is_admitted() {
        let mut going = claim(Some("general"));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        for (operation, object, old) in [
            ("CREATE", claim(None), Value::Null),
            ("CREATE", going, Value::Null),
            ("CREATE", claim(Some("../nodepools")), Value::Null),
            ("CREATE", json!({}), Value::Null),
            ("UPDATE", claim(Some("other")), claim(Some("general"))),
            ("DELETE", Value::Null, claim(Some("general"))),
        ] {
            let answer = answered(&review(operation, &object, &old));
            assert_eq!(answer["response"]["allowed"], true, "{operation} {object} {old}");
        }
    }

    #[test]
    fn a_denial_says_how_the_pool_is_filled_and_what_to_do() {
        let full = |mode, surge, occupied, terminating, outstanding| {
            let limit = LimitInForce {
                nodes: 5,
                mode,
                surge,
                pool_version: 1,
            };
            let full = Full {
                limit,
                occupied,
                terminating,
                outstanding,
                disrupted: 1,
                stale: false,
            };
            sentence("general", &Denial::Full(full))
        };
        assert_eq!(
            full(NodeLimitMode::Hard, 0, 6, 2, 1),
            "NodePool general is at its node limit of 5 (Hard): 5 NodeClaims count towards it (2 are terminating), \
             1 place is held by a creation not seen yet. Raise the limit, or wait until a node is gone \
             (terminationGracePeriod bounds its drain)"
        );
        assert_eq!(
            full(NodeLimitMode::Soft, 0, 1, 2, 0),
            "NodePool general is at its node limit of 5 (Soft): 1 NodeClaim counts towards it. Raise the limit, or \
             wait until a node is gone"
        );
        assert_eq!(
            full(NodeLimitMode::Hard, 2, 6, 0, 0),
            "NodePool general is at its node limit of 5 (Hard): 6 NodeClaims count towards it. Its surge of 2 \
             admits one more for each node that Karpenter is replacing, now 1. Raise the limit, or wait until a \
             node is gone"
        );
    }

    #[test]
    fn a_denial_is_forbidden_as_by_a_quota_and_named_in_the_audit_log() {
        let body = review("CREATE", &claim(Some("general")), &Value::Null);
        let Ok(claim) = open(&body).expect("a review") else {
            panic!("answered at once");
        };
        let answer: Value = serde_json::from_slice(&claim.deny(&Denial::Busy).body).expect("JSON");
        let response = &answer["response"];
        assert_eq!(
            (&response["allowed"], &response["status"]["code"]),
            (&json!(false), &json!(403))
        );
        assert_eq!(response["auditAnnotations"], json!({"denied-by": "node-limit"}));
        let answer: Value = serde_json::from_slice(&claim.admit_beyond().body).expect("JSON");
        assert_eq!(answer["response"]["allowed"], true);
        assert_eq!(
            answer["response"]["auditAnnotations"],
            json!({"not-denied-by": "node-limit"})
        );
    }
}
