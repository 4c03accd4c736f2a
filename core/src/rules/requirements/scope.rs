//! The context of the checks of requirements, and their shared helpers.

use crate::diagnostic::{first_few, quoted};
use crate::facts::shape::CAPACITY_TYPES;
use crate::facts::{Naming, Words};
use crate::pool::Template;
use crate::rules::context::Context;
use crate::rules::label_verdict::LabelFacts;

const OPERATOR: &str = "spec.template.spec.requirements[].operator";

/// The consequence of most mistakes that Karpenter does not reject.
pub const NEVER_LAUNCHES: &str = "the pool never launches a node";

/// The context of the checks of requirements.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The template that has them, and labels, which also become requirements.
    pub template: &'a Template<'a>,
    /// What decides about the labels that they name.
    pub labels: LabelFacts<'a>,
    /// How it derives labels from the names of its instance types, if that is known.
    pub naming: Option<&'static Naming>,
    /// The operators that a requirement may have.
    pub operators: Words<'a>,
    /// Everything besides the object that affects the verdict.
    pub context: Context<'a>,
}

impl<'a> Scope<'a> {
    pub fn new(template: &'a Template<'a>, context: Context<'a>) -> Self {
        let labels = LabelFacts::new(template, &context);
        Self {
            template,
            labels,
            naming: labels.provider.and_then(Naming::of),
            operators: context.karpenter.words(OPERATOR, template.version),
            context,
        }
    }

    /// The capacity types that this release knows.
    pub fn capacity_types(&self) -> &'static [&'static str] {
        CAPACITY_TYPES.words(self.context.release)
    }
}

/// No node can satisfy a demand, which has been reported.
#[derive(Debug)]
pub struct Unsatisfiable;

/// The other values with the same mistake, in brackets: one finding reports all.
pub fn and_others<'v>(others: impl Iterator<Item = &'v str>) -> String {
    match named(others) {
        others if others.is_empty() => others,
        others => format!(" (same for {others})"),
    }
}

/// The first of these values, and the number of the rest.
pub fn named<'v>(values: impl Iterator<Item = &'v str>) -> String {
    const NAMED: usize = 2;
    first_few(values.map(quoted), NAMED)
}
