//! All diagnostics of one object, bounded.

use super::{Diagnostic, Severity};

/// How many diagnostics of one severity a report keeps. A manifest can have hundreds of thousands of mistakes;
/// nobody reads more than these, and an answer must stay small.
pub const MAX_KEPT: usize = 100;

/// The diagnostics of one object, in the order in which they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    kept: Vec<Diagnostic>,
    counts: [usize; 3],
}

impl Report {
    /// Adds a diagnostic; beyond [`MAX_KEPT`] of its severity it is only counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if let Some(count) = self.counts.get_mut(diagnostic.severity as usize) {
            *count += 1;
            if *count <= MAX_KEPT {
                self.kept.push(diagnostic);
            }
        }
    }

    /// The diagnostics that were kept.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// The diagnostics that were kept, to change their words or places.
    pub(crate) fn diagnostics_mut(&mut self) -> &mut [Diagnostic] {
        &mut self.kept
    }

    /// The kept diagnostics of one severity.
    pub fn with_severity(&self, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
        self.kept
            .iter()
            .filter(move |diagnostic| diagnostic.severity == severity)
    }

    /// How many diagnostics of a severity were found, kept or not.
    pub fn count(&self, severity: Severity) -> usize {
        self.counts.get(severity as usize).copied().unwrap_or(0)
    }

    /// How many diagnostics of a severity were found but not kept.
    pub fn omitted(&self, severity: Severity) -> usize {
        self.count(severity).saturating_sub(MAX_KEPT)
    }

    /// Whether the object must be denied.
    pub fn denies(&self) -> bool {
        self.count(Severity::Error) > 0
    }
}

impl IntoIterator for Report {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ErrorType, FieldPath, Origin, RuleId};
    use super::*;

    fn finding(severity: Severity) -> Diagnostic {
        Diagnostic {
            rule: RuleId::new("test"),
            severity,
            own_severity: severity,
            origin: Origin::Silent,
            path: FieldPath::root(),
            error_type: ErrorType::Required,
            title: String::new(),
            consequence: None,
            remarks: Vec::new(),
            help: None,
            related: Vec::new(),
            is_lessened: false,
        }
    }

    #[test]
    fn a_flood_of_warnings_is_bounded_and_never_hides_an_error() {
        let mut report = Report::default();
        for _ in 0..MAX_KEPT * 10 {
            report.push(finding(Severity::Warning));
        }
        assert!(!report.denies());
        report.push(finding(Severity::Error));
        assert!(report.denies());
        assert_eq!(report.with_severity(Severity::Error).count(), 1);
        assert_eq!(report.diagnostics().len(), MAX_KEPT + 1);
        assert_eq!(report.omitted(Severity::Warning), MAX_KEPT * 9);
    }
}
