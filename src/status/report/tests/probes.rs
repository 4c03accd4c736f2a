//! What dry runs find out, and that nothing is made of them where there were none.

use super::*;

/// What the API server says if a webhook has no `caBundle`.
const UNTRUSTED: &str = "Internal error occurred: failed calling webhook \"gate.nodeclaims.poolgate.dev\": failed to call \
     webhook: Post \"https://poolgate-gate.poolgate-system.svc:443/gate?timeout=3s\": tls: failed to verify certificate: x509: \
     certificate signed by unknown authority (possibly because of \"crypto/rsa: verification error\" while trying to verify \
     candidate authority certificate \"poolgate\")";

const FORBIDDEN: &str = "nodepools.karpenter.sh is forbidden: User \"viewer\" cannot create resource \"nodepools\" in API \
     group \"karpenter.sh\" at the cluster scope";

fn without_probes() -> Facts {
    Facts {
        asked: None,
        asked_of_claims: BTreeMap::new(),
        ..well()
    }
}

#[test]
fn without_probes_all_is_well_and_nothing_is_said_of_answers() {
    let report = Report::of(&without_probes(), None);
    assert_eq!((&*report.problems, &*report.unread), (&[][..], &[][..]));
    let text = table::render(&report, 80);
    assert!(
        text.contains("WEBHOOK                          PATH       FAILURE POLICY  CA UNTIL\n"),
        "{text}"
    );
    assert!(
        text.contains("\nWebhooks were not called: --probe calls them.\n"),
        "{text}"
    );
    assert!(text.contains("NODES  MODE  EXCESS  HELD  "), "{text}");
    assert!(text.contains("Policy      built-in\n"), "{text}");
    let json = as_json::from_report(&report);
    assert_eq!(json["probed"], json!(false));
    assert_eq!(json["webhooks"][0]["answers"], json!(null));
}

#[test]
fn an_error_is_a_word_in_the_table_and_whole_below_it() {
    let failed = || {
        Ok(Asked {
            reports: Vec::new(),
            error: Some(UNTRUSTED.into()),
        })
    };
    let facts = Facts {
        asked_of_claims: BTreeMap::from([
            ("general".to_owned(), failed()),
            ("poolgate-status".to_owned(), failed()),
        ]),
        ..well()
    };
    let report = Report::of(&facts, None);
    assert_eq!(report.unread, [""; 0]);
    let text = table::render(&report, 80);
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(110), "{longest:?}: {text}");
    let row = text
        .lines()
        .find(|line| line.starts_with("general "))
        .expect("a row");
    assert!(row.ends_with(" ?"), "{row}");
    let row = text
        .lines()
        .find(|line| line.starts_with("gate.nodeclaims"))
        .expect("a row");
    assert!(row.ends_with(" no       -"), "{row}");
    let said: Vec<&str> = text.split_whitespace().collect();
    let (_, why) = UNTRUSTED.split_once("dev\": ").expect("a reason");
    let why: Vec<&str> = why.split_whitespace().collect();
    assert!(said.windows(why.len()).any(|words| words == why), "{text}");
}

#[test]
fn a_right_that_is_missing_is_said_once_however_many_pools_there_are() {
    let mut facts = Facts {
        asked: Some(Err(FORBIDDEN.into())),
        ..well()
    };
    for pool in ["general", "gpu", "poolgate-status"] {
        let forbidden = FORBIDDEN.replace("nodepools", "nodeclaims");
        facts.asked_of_claims.insert(pool.into(), Err(forbidden));
    }
    let report = Report::of(&facts, None);
    assert_eq!(report.problems, [""; 0]);
    let claims = FORBIDDEN.replace("nodepools", "nodeclaims");
    assert_eq!(
        report.unread,
        [
            format!("dry run of a NodeClaim: {claims}"),
            format!("dry run of a NodePool: {FORBIDDEN}")
        ]
    );
    assert_eq!(report.pools.expect("pools")[0].next, None);
}
