//! poolgate's own NodePool annotations, and the field `nodeLimitMode`.
//!
//! poolgate ignores an annotation that it cannot read, that is misspelt, or that is in another place.

use super::findings::Findings;
use super::lifetime::drains_without_end;
use super::limits::PoolLimits;
use crate::api::{
    AT_LIMIT_ANNOTATION, AtLimit, FREEZE_ANNOTATION, Freeze, KEY_PREFIX, MAX_SURGE, NODE_LIMIT_ANNOTATION,
    NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode, OF_NODES, OF_POOLS, OVER_LIMIT_ANNOTATION, OverLimit,
    SURGE_ANNOTATION, annotation_path,
};
use crate::diagnostic::{ErrorType, FieldPath, Suggestion, nearest};
use crate::facts::ApiVersion;
use crate::json::Json;
use crate::pool::{Disruption, Field, Map, NodePool, Template};
use crate::rules::rule::Rule;

pub static POOLGATE_ANNOTATION: Rule = rule!("poolgate-annotation", Error, Poolgate);
pub static POOLGATE_ANNOTATION_EFFECT: Rule = rule!("poolgate-annotation-effect", Warning, Poolgate);

const IGNORED: &str = "poolgate would ignore the annotation";
const NO_EFFECT: &str = "poolgate ignores this key";

pub fn check(
    pool: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    check_modes(pool, old, findings);
    check_word(
        pool,
        OVER_LIMIT_ANNOTATION,
        OverLimit::ANNOTATED,
        "write Report, or Terminate to delete the cheapest nodes above the limit",
        findings,
    );
    check_word(
        pool,
        AT_LIMIT_ANNOTATION,
        AtLimit::VALUES,
        "write Repair, Replace to also replace drifted nodes, or Block to replace none",
        findings,
    );
    check_freeze(pool, findings);
    check_replace(pool, findings);
    check_surge(pool, limits, findings);
    check_names(pool, findings);
}

/// Reports the keys of poolgate's domain that it does not read where they are.
fn check_names(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    for (key, value) in ours(pool.annotations).filter(|(key, _)| !OF_POOLS.contains(key)) {
        check_name(key, value, findings);
    }
    for (key, value) in ours(pool.labels) {
        check_place(FieldPath::of(&["metadata", "labels"]), key, value, findings);
    }
    let template = &pool.template;
    for (map, field) in [(template.labels, "labels"), (template.annotations, "annotations")] {
        for (key, value) in ours(map).filter(|(key, _)| !OF_NODES.contains(key)) {
            check_place(Template::metadata_path(field), key, value, findings);
        }
    }
}

/// The keys of poolgate's domain, without those that the API server drops.
fn ours(map: Field<Map<'_>>) -> impl Iterator<Item = (&str, &Json<'_>)> {
    let all = map.present().into_iter().flatten();
    all.filter(|(key, value)| key.starts_with(KEY_PREFIX) && !value.is_null())
}

/// The key that this one was probably intended to be.
fn likely_key(key: &str, known: &'static [&'static str]) -> Option<String> {
    let names = known.iter().filter_map(|known| known.strip_prefix(KEY_PREFIX));
    let likely = nearest(key.strip_prefix(KEY_PREFIX)?, names)?;
    Some(format!("{KEY_PREFIX}{likely}"))
}

/// Reports an annotation of the pool that has none of the names.
fn check_name(key: &str, value: &Json<'_>, findings: &mut Findings<'_>) {
    let path = FieldPath::of(&["metadata", "annotations"]).key(key.to_owned());
    let title = "poolgate has no annotation of this name";
    match likely_key(key, &OF_POOLS) {
        Some(likely) => findings
            .report(&POOLGATE_ANNOTATION, path, value, title)
            .consequence(IGNORED)
            .suggest(Suggestion::did_you_mean(likely)),
        None => findings
            .report(&POOLGATE_ANNOTATION_EFFECT, path, ErrorType::note(value), title)
            .consequence(NO_EFFECT)
            .suggest("remove it, or use a domain of your own"),
    };
}

/// Reports a key that poolgate does not read in this map.
fn check_place(map: FieldPath, key: &str, value: &Json<'_>, findings: &mut Findings<'_>) {
    let likely = || likely_key(key, &OF_POOLS).or_else(|| likely_key(key, &OF_NODES));
    let help = if OF_POOLS.contains(&key) {
        "move it to metadata.annotations".into()
    } else {
        likely().map_or_else(|| "remove it".into(), Suggestion::did_you_mean)
    };
    let title = "poolgate does not read this key here";
    findings
        .report(
            &POOLGATE_ANNOTATION_EFFECT,
            map.key(key.to_owned()),
            ErrorType::note(value),
            title,
        )
        .consequence(NO_EFFECT)
        .suggest(help);
}

/// Reports an annotation that is none of these words, ignoring case.
fn check_word(
    pool: &NodePool<'_>,
    key: &'static str,
    words: &'static [&'static str],
    suggestion: &'static str,
    findings: &mut Findings<'_>,
) {
    let Some(word) = pool.annotation(key).and_then(Json::as_str) else {
        return;
    };
    if !words.iter().any(|known| known.eq_ignore_ascii_case(word)) {
        findings
            .unsupported(
                &POOLGATE_ANNOTATION,
                annotation_path(key),
                word,
                words,
                "the annotation has no such value",
            )
            .consequence(IGNORED)
            .suggest(suggestion);
    }
}

/// The number in an annotation; reports one that is not a whole number in digits.
pub(super) fn check_number(
    pool: &NodePool<'_>,
    key: &'static str,
    example: &str,
    findings: &mut Findings<'_>,
) -> Option<u32> {
    let number = pool.annotated_number(key);
    let text = pool.annotation(key).and_then(Json::as_str);
    if let (None, Some(text)) = (number, text) {
        findings
            .report(
                &POOLGATE_ANNOTATION,
                annotation_path(key),
                text,
                "the annotation must be a whole number",
            )
            .consequence(IGNORED)
            .suggest(format!("write digits, such as \"{example}\""));
    }
    number
}

/// Reports a freeze that cannot be read.
fn check_freeze(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let text = pool.annotation(FREEZE_ANNOTATION).and_then(Json::as_str);
    let (
        Some(Freeze {
            mistake: Some(mistake),
            ..
        }),
        Some(text),
    ) = (pool.freeze(), text)
    else {
        return;
    };
    let timed = format!("until={}", text.trim());
    let help = if Freeze::parse(&timed).mistake.is_none() {
        Suggestion::write(timed)
    } else {
        "write until=2026-12-24T00:00:00Z or forever, then by=NAME and reason=TEXT".into()
    };
    findings
        .report(
            &POOLGATE_ANNOTATION,
            annotation_path(FREEZE_ANNOTATION),
            text,
            mistake,
        )
        .consequence("the NodePool is frozen until the annotation is corrected or removed")
        .suggest(help);
}

/// Checks the field and the annotation that replaces it if the CRD lacks the field, alone and together.
fn check_modes(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    let field = pool.node_limit_mode_field();
    let annotation = pool.node_limit_mode_annotation();
    if let Some(text) = field {
        check_mode(text, || Disruption::path("nodeLimitMode"), findings);
    }
    if let Some(text) = annotation {
        check_mode(text, || annotation_path(NODE_LIMIT_MODE_ANNOTATION), findings);
    }
    let mode = |text: Option<&str>| text.and_then(NodeLimitMode::parse);
    let is_the_newer = old.is_some_and(|old| {
        let (old_field, old_annotation) = (old.node_limit_mode_field(), old.node_limit_mode_annotation());
        (old_field != field) != (old_annotation != annotation)
    });
    if let (Some(field), Some(annotation)) = (mode(field), mode(annotation))
        && field != annotation
        && !is_the_newer
    {
        let title = format!(
            "the annotation contradicts spec.disruption.nodeLimitMode, which is {}",
            field.as_str()
        );
        findings
            .report(
                &POOLGATE_ANNOTATION,
                annotation_path(NODE_LIMIT_MODE_ANNOTATION),
                annotation.as_str(),
                title,
            )
            .suggest("set only one of them, or the same mode in both")
            .related(Disruption::path("nodeLimitMode"));
    }
}

fn check_mode(text: &str, path: impl FnOnce() -> FieldPath, findings: &mut Findings<'_>) {
    if NodeLimitMode::parse(text).is_some() {
        return;
    }
    findings
        .unsupported(
            &POOLGATE_ANNOTATION,
            path(),
            text,
            NodeLimitMode::VALUES,
            "there is no such node limit mode",
        )
        .consequence("the node limit would have no meaning")
        .help
        .get_or_insert_with(|| "write Hard, or Soft to let replacements exceed the limit temporarily".into());
}

/// Reports a pool that chooses `Replace` without the settings that it requires.
fn check_replace(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(written) = pool.annotation(AT_LIMIT_ANNOTATION) else {
        return;
    };
    if AtLimit::annotated(pool) != Some(AtLimit::Replace) {
        return;
    }
    let has_limit = pool.node_limit_key().is_some();
    let has_end = pool.version != ApiVersion::V1 || !drains_without_end(pool);
    let missing = match (has_limit, has_end) {
        (true, true) => return,
        (false, true) => "Replace requires the annotation poolgate.dev/node-limit",
        (true, false) => "Replace requires terminationGracePeriod",
        (false, false) => "Replace requires poolgate.dev/node-limit and terminationGracePeriod",
    };
    findings
        .report(
            &POOLGATE_ANNOTATION_EFFECT,
            annotation_path(AT_LIMIT_ANNOTATION),
            ErrorType::note(written),
            missing,
        )
        .consequence("no drifted node is replaced at the limit")
        .related(annotation_path(NODE_LIMIT_ANNOTATION))
        .related(Template::path("terminationGracePeriod"))
        .suggest("add the missing setting, or write Repair");
}

fn check_surge(pool: &NodePool<'_>, limits: &PoolLimits<'_>, findings: &mut Findings<'_>) {
    let number = check_number(pool, SURGE_ANNOTATION, "1", findings);
    if let Some(number) = number.filter(|number| *number > MAX_SURGE) {
        findings
            .report(
                &POOLGATE_ANNOTATION,
                annotation_path(SURGE_ANNOTATION),
                number.to_string().as_str(),
                format!("a surge must not exceed {MAX_SURGE}"),
            )
            .consequence(format!("poolgate reads a larger surge as {MAX_SURGE}"))
            .suggest(format!("write {MAX_SURGE} or less"));
    }
    let Some(written) = pool.annotation(SURGE_ANNOTATION).filter(|_| pool.surge() > 0) else {
        return;
    };
    let why = match limits.node_limit(pool, findings.context.policy) {
        _ if !pool.replicas.is_absent() => "poolgate leaves static pools to Karpenter",
        Some(limit) if limit.mode == NodeLimitMode::Soft => "replacements may exceed a Soft limit anyway",
        None if sets_no_limit(pool) => "the pool has no node limit",
        _ => return,
    };
    findings
        .report(
            &POOLGATE_ANNOTATION_EFFECT,
            annotation_path(SURGE_ANNOTATION),
            ErrorType::note(written),
            why,
        )
        .consequence(NO_EFFECT)
        .suggest("remove the annotation");
}

/// True if there is no limit at all. Another rule reports an unreadable one.
fn sets_no_limit(pool: &NodePool<'_>) -> bool {
    let is_in_spec = match pool.limits {
        Field::Absent => false,
        Field::Mistyped | Field::Beyond => true,
        Field::Present(limits) => limits.get("nodes").is_some_and(|nodes| !nodes.is_null()),
    };
    !is_in_spec && pool.node_limit_key().is_none()
}
