//! A tolerant, borrowed view of a NodePool: v1 and v1beta1 in one model.

use serde_json::{Map, Value};

use super::{ApiVersion, Field};

/// A NodePool as far as the rules look at it. Borrowed from the JSON as it came.
#[derive(Debug)]
pub struct NodePool<'a> {
    /// The version it is written in.
    pub version: ApiVersion,
    /// `metadata.annotations`.
    pub annotations: Field<&'a Map<String, Value>>,
    /// `spec`.
    pub spec: Field<&'a Map<String, Value>>,
    /// `spec.disruption`.
    pub disruption: Field<Disruption<'a>>,
    /// `spec.limits`.
    pub limits: Field<&'a Map<String, Value>>,
    /// `spec.template`.
    pub template: Template<'a>,
}

/// `spec.disruption`.
#[derive(Debug)]
pub struct Disruption<'a> {
    /// `budgets`: those elements that are objects, each with its place in the list.
    pub budgets: Field<Vec<Budget<'a>>>,
    /// `consolidationPolicy`.
    pub consolidation_policy: Field<&'a str>,
    /// `consolidateAfter`.
    pub consolidate_after: Field<&'a str>,
    /// `nodeLimitMode`.
    pub node_limit_mode: Field<&'a str>,
}

/// One element of `spec.disruption.budgets`.
#[derive(Debug)]
pub struct Budget<'a> {
    /// Its place in the list, from 0.
    pub index: usize,
    /// `nodes`.
    pub nodes: Field<&'a str>,
    /// `schedule`.
    pub schedule: Field<&'a str>,
    /// `duration`.
    pub duration: Field<&'a str>,
}

/// `spec.template`.
#[derive(Debug)]
pub struct Template<'a> {
    /// `metadata.labels`.
    pub labels: Field<&'a Map<String, Value>>,
    /// `spec.requirements`: those elements that are objects, each with its place in the list.
    pub requirements: Field<Vec<Requirement<'a>>>,
    /// `spec.nodeClassRef`.
    pub node_class_ref: Field<&'a Map<String, Value>>,
}

/// One element of `spec.template.spec.requirements`.
#[derive(Debug)]
pub struct Requirement<'a> {
    /// Its place in the list, from 0.
    pub index: usize,
    /// `key`.
    pub key: Field<&'a str>,
    /// `operator`.
    pub operator: Field<&'a str>,
}
