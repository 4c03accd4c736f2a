//! Which values of one label several requirements allow together: the algebra of Karpenter's scheduler
//! (`Requirement.Intersection` of `sigs.k8s.io/karpenter/pkg/scheduling`). Knows nothing of labels or NodePools.

use super::Operator;

/// Longest range of integers that is searched for one that is not excluded. With `NotIn` lists longer than this, a
/// range is not considered empty.
const LONGEST_SEARCH: u64 = 10_000;

/// What one or several requirements allow. If nothing is allowed, the label may still be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Selection<'a> {
    /// The only values allowed; if `None`, all except [`Selection::excluded`].
    allowed: Option<WordSet<'a>>,
    /// Values that are not allowed. Empty if `allowed` is set.
    excluded: WordSet<'a>,
    /// The smallest integer allowed; with a bound, values that are not integers are not allowed.
    at_least: Option<i64>,
    /// The largest integer allowed.
    at_most: Option<i64>,
}

impl<'a> Selection<'a> {
    /// What one requirement allows. A numeric operator takes its bound from the first value; a value that cannot be
    /// read sets no bound, because other rules reject it.
    // karpenter: pkg/scheduling/requirement.go NewRequirementWithFlexibility
    pub fn new(operator: Operator, values: &[&'a str]) -> Self {
        let bound = || values.first().and_then(|value| integer(value));
        let listed = || values.iter().copied().collect();
        match operator {
            Operator::In => Self::only(listed()),
            Operator::NotIn => Self {
                excluded: listed(),
                ..Self::default()
            },
            Operator::Exists => Self::default(),
            Operator::DoesNotExist => Self::nothing(),
            Operator::Gt => match bound() {
                Some(i64::MAX) => Self::nothing(),
                bound => Self::between(bound.map(|bound| bound + 1), None),
            },
            Operator::Gte => Self::between(bound(), None),
            Operator::Lt => Self::between(None, bound().map(|bound| bound.saturating_sub(1))),
            Operator::Lte => Self::between(None, bound()),
        }
    }

    /// What all of them allow together. Takes no more time than sorting the values does.
    pub fn all(selections: impl IntoIterator<Item = Self>) -> Self {
        let mut selections = selections.into_iter();
        let Some(first) = selections.next() else {
            return Self::default();
        };
        let Some(second) = selections.next() else {
            return Self::default().and(first);
        };
        let (mut lists, mut open, mut excluded) = (Vec::new(), Self::default(), Vec::new());
        for mut selection in [first, second].into_iter().chain(selections) {
            if selection.allowed.is_some() {
                lists.push(selection);
            } else {
                // Sorted once, not once for each of the selections.
                excluded.append(&mut selection.excluded.0);
                open = open.and(selection);
            }
        }
        let excluding = Self {
            excluded: excluded.into_iter().collect(),
            ..Self::default()
        };
        let together = open.and(excluding);
        // Starting with the shortest list, so that no list is walked for every other one.
        lists.sort_by_key(|list| list.allowed.as_ref().map_or(0, WordSet::len));
        lists.into_iter().fold(together, Self::and)
    }

    /// The values that both selections allow.
    // karpenter: pkg/scheduling/requirement.go Requirement.Intersection
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let at_least = self.at_least.max(other.at_least);
        let at_most = [self.at_most, other.at_most].into_iter().flatten().min();
        let bounds = Self::between(at_least, at_most);
        if bounds.is_inside_out() {
            return Self::nothing();
        }
        let allowed = match (self.allowed, other.allowed) {
            (None, None) => {
                return Self {
                    excluded: self.excluded.or(other.excluded),
                    ..bounds
                };
            }
            (Some(one), None) => one.filtered(|value| !other.excluded.has(value)),
            (None, Some(other)) => other.filtered(|value| !self.excluded.has(value)),
            (Some(one), Some(other)) if other.len() < one.len() => other.filtered(|value| one.has(value)),
            (Some(one), Some(other)) => one.filtered(|value| other.has(value)),
        };
        Self::only(allowed.filtered(|value| bounds.is_within_bounds(value)))
    }

    /// What is allowed if two values may be one: both, if a list has either.
    #[must_use]
    pub(crate) fn taking_for_one(mut self, values: [&'a str; 2]) -> Self {
        let is_listed = |allowed: &WordSet<'_>| values.iter().any(|value| allowed.has(value));
        self.allowed = self.allowed.map(|allowed| {
            if is_listed(&allowed) {
                allowed.or(values.into_iter().collect())
            } else {
                allowed
            }
        });
        self
    }

    /// What is allowed if this value is read as another one.
    #[must_use]
    pub(crate) fn reading(mut self, value: &str, as_other: &'a str) -> Self {
        for words in self.allowed.iter_mut().chain([&mut self.excluded]) {
            if words.has(value) {
                let read = |word: &'a str| if word == value { as_other } else { word };
                *words = std::mem::take(words).0.into_iter().map(read).collect();
            }
        }
        self
    }

    /// How many values are listed, to choose from or to avoid.
    pub(crate) fn listed(&self) -> usize {
        self.allowed.as_ref().unwrap_or(&self.excluded).len()
    }

    /// Whether a value is allowed.
    // karpenter: pkg/scheduling/requirement.go Requirement.Has
    pub fn has(&self, value: &str) -> bool {
        let listed = match &self.allowed {
            Some(allowed) => allowed.has(value),
            None => !self.excluded.has(value),
        };
        listed && self.is_within_bounds(value)
    }

    /// Whether no value is left. Karpenter then treats the label as one that must not exist.
    pub fn is_empty(&self) -> bool {
        match &self.allowed {
            Some(allowed) => allowed.len() == 0,
            None => self.is_inside_out() || self.excludes_all_between_bounds(),
        }
    }

    /// Whether the label may be absent: Karpenter reads what is left as `NotIn` or `DoesNotExist`. Excluded values that
    /// the bounds rule out anyway do not count.
    // karpenter: pkg/scheduling/requirement.go Requirement.Operator
    // karpenter: pkg/scheduling/requirements.go Requirements.Intersects
    pub fn allows_absence(&self) -> bool {
        match &self.allowed {
            Some(allowed) => allowed.len() == 0,
            None => self.excluded.0.iter().any(|value| self.is_within_bounds(value)),
        }
    }

    /// Whether a node's label can satisfy both: there is a value that both allow, or both allow that it is absent.
    // karpenter: pkg/scheduling/requirement.go Requirement.HasIntersection
    // karpenter: pkg/scheduling/requirements.go Requirements.Intersects
    pub fn meets(&self, other: &Self) -> bool {
        self.intersects(other) || self.allows_absence() && other.allows_absence()
    }

    fn intersects(&self, other: &Self) -> bool {
        let at_most = [self.at_most, other.at_most].into_iter().flatten().min();
        let bounds = Self::between(self.at_least.max(other.at_least), at_most);
        let (listed, other) = match (&self.allowed, &other.allowed) {
            // Karpenter overlooks that all integers between bounds may be excluded.
            (None, None) => return !bounds.is_inside_out(),
            (Some(one), Some(two)) if two.len() < one.len() => (two, self),
            (Some(one), _) => (one, other),
            (None, Some(two)) => (two, self),
        };
        let mut values = listed.0.iter();
        values.any(|value| other.has(value) && bounds.is_within_bounds(value))
    }

    /// Whether every value that is within the bounds and not excluded is allowed.
    pub fn is_open(&self) -> bool {
        self.allowed.is_none()
    }

    /// How many values are left, if that is known: for a range, the number of its integers.
    pub fn count(&self) -> Option<usize> {
        if let Some(allowed) = &self.allowed {
            return Some(allowed.len());
        }
        let (least, most) = (self.at_least?, self.at_most?);
        if least > most {
            return Some(0);
        }
        let numbers = usize::try_from(most.abs_diff(least)).ok()?.checked_add(1)?;
        let is_number = |text: &str| {
            integer(text).is_some_and(|number| (least..=most).contains(&number) && number.to_string() == text)
        };
        let excluded = self.excluded.0.iter().filter(|text| is_number(text)).count();
        Some(numbers.saturating_sub(excluded))
    }

    /// The smallest whole number allowed, if it is certain that none is smaller.
    pub fn least(&self) -> Option<i64> {
        match &self.allowed {
            Some(allowed) => {
                let numbers: Option<Vec<i64>> = allowed.0.iter().map(|text| integer(text)).collect();
                numbers?.into_iter().min()
            }
            None => self.at_least,
        }
    }

    /// The largest whole number allowed, if it is certain that none is larger.
    pub fn most(&self) -> Option<i64> {
        match &self.allowed {
            Some(allowed) => {
                let numbers: Option<Vec<i64>> = allowed.0.iter().map(|text| integer(text)).collect();
                numbers?.into_iter().max()
            }
            None => self.at_most,
        }
    }

    fn only(values: WordSet<'a>) -> Self {
        Self {
            allowed: Some(values),
            ..Self::default()
        }
    }

    fn nothing() -> Self {
        Self::only(WordSet::default())
    }

    fn between(at_least: Option<i64>, at_most: Option<i64>) -> Self {
        Self {
            at_least,
            at_most,
            ..Self::default()
        }
    }

    fn is_inside_out(&self) -> bool {
        matches!((self.at_least, self.at_most), (Some(least), Some(most)) if least > most)
    }

    // karpenter: pkg/scheduling/requirement.go withinBounds
    fn is_within_bounds(&self, value: &str) -> bool {
        if self.at_least.is_none() && self.at_most.is_none() {
            return true;
        }
        integer(value).is_some_and(|number| {
            self.at_least.is_none_or(|least| number >= least)
                && self.at_most.is_none_or(|most| number <= most)
        })
    }

    /// Karpenter itself overlooks this case, but no instance type has a value that is left.
    fn excludes_all_between_bounds(&self) -> bool {
        let (Some(least), Some(most)) = (self.at_least, self.at_most) else {
            return false;
        };
        let size = most.abs_diff(least);
        size < LONGEST_SEARCH
            && size < u64::try_from(self.excluded.len()).unwrap_or(u64::MAX)
            && (least..=most).all(|number| self.excluded.has(&number.to_string()))
    }
}

/// A whole number as Go's `strconv.Atoi` reads it.
pub fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Sorted words, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct WordSet<'a>(Vec<&'a str>);

impl WordSet<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn has(&self, word: &str) -> bool {
        self.0.binary_search(&word).is_ok()
    }

    /// The words of either.
    fn or(self, other: Self) -> Self {
        if other.len() == 0 {
            return self;
        }
        self.0.into_iter().chain(other.0).collect()
    }

    /// The words that are wanted.
    fn filtered(mut self, is_wanted: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|word| is_wanted(word));
        self
    }
}

impl<'a> FromIterator<&'a str> for WordSet<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(words: I) -> Self {
        let mut words: Vec<&str> = words.into_iter().collect();
        words.sort_unstable();
        words.dedup();
        Self(words)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_cost::assert_in_proportion;

    const UNIVERSE: &[&str] = &["0", "1", "2", "3", "4", "007", "a", "b", "9223372036854775807"];

    /// Whether one requirement allows one value, computed directly.
    fn allows(operator: Operator, values: &[&str], value: &str) -> bool {
        let bound = || values[0].parse::<i64>().unwrap();
        let number = value.parse::<i64>();
        match operator {
            Operator::In => values.contains(&value),
            Operator::NotIn => !values.contains(&value),
            Operator::Exists => true,
            Operator::DoesNotExist => false,
            Operator::Gt => number.is_ok_and(|number| number > bound()),
            Operator::Gte => number.is_ok_and(|number| number >= bound()),
            Operator::Lt => number.is_ok_and(|number| number < bound()),
            Operator::Lte => number.is_ok_and(|number| number <= bound()),
        }
    }

    fn requirement() -> impl Strategy<Value = (Operator, Vec<&'static str>)> {
        let listed = prop::collection::vec(prop::sample::select(UNIVERSE), 0..6);
        let bound = prop::sample::select(&["0", "1", "2", "3", "4", "9223372036854775807"][..]);
        prop_oneof![
            (
                prop::sample::select(&[Operator::In, Operator::NotIn, Operator::Exists][..]),
                listed
            ),
            (
                prop::sample::select(
                    &[
                        Operator::Gt,
                        Operator::Gte,
                        Operator::Lt,
                        Operator::Lte,
                        Operator::DoesNotExist
                    ][..]
                ),
                bound.prop_map(|bound| vec![bound])
            ),
        ]
    }

    fn together<'a>(requirements: &[(Operator, Vec<&'a str>)]) -> Selection<'a> {
        Selection::all(
            requirements
                .iter()
                .map(|(operator, values)| Selection::new(*operator, values)),
        )
    }

    proptest! {
        #[test]
        fn what_all_allow_is_what_each_allows(requirements in prop::collection::vec(requirement(), 0..5)) {
            let together = together(&requirements);
            for value in UNIVERSE {
                let each = requirements
                    .iter()
                    .all(|(operator, values)| allows(*operator, values, value));
                prop_assert_eq!(together.has(value), each, "{} in {:?}", value, requirements);
                prop_assert!(!(each && together.is_empty()));
            }
        }

        #[test]
        fn what_is_called_empty_holds_no_value_and_the_order_never_matters(
            requirements in prop::collection::vec(requirement(), 0..5)
        ) {
            let together = together(&requirements);
            let selections = || requirements
                .iter()
                .map(|(operator, values)| Selection::new(*operator, values));
            let forwards = selections().fold(Selection::default(), Selection::and);
            let backwards = selections().rev().fold(Selection::default(), Selection::and);
            prop_assert_eq!(together.is_empty(), forwards.is_empty());
            prop_assert_eq!(forwards.is_empty(), backwards.is_empty());
            let listed = requirements
                .iter()
                .any(|(operator, _)| matches!(operator, Operator::In | Operator::DoesNotExist));
            if listed {
                let none = !UNIVERSE.iter().any(|value| together.has(value));
                prop_assert_eq!(together.is_empty(), none, "{:?}", requirements);
            }
        }
    }

    #[test]
    fn the_cost_of_many_requirements_on_one_label_is_in_proportion_to_their_values() {
        let numbers = |size: usize| (0..size).map(|number| format!("{number:07}")).collect::<Vec<_>>();
        for operator in [Operator::NotIn, Operator::In, Operator::Gt, Operator::Exists] {
            assert_in_proportion(1 << 15, numbers, |numbers| {
                let each = numbers.iter().map(|number| Selection::new(operator, &[number]));
                assert!(!Selection::all(each).has("0000000") || operator == Operator::Exists);
            });
        }
    }

    #[test]
    fn bounds_are_inclusive_whichever_way_they_are_written() {
        let between = |requirements: &[(Operator, Vec<&'static str>)]| together(requirements);
        assert!(between(&[(Operator::Gt, vec!["5"]), (Operator::Lt, vec!["6"])]).is_empty());
        let seven = between(&[(Operator::Gt, vec!["6"]), (Operator::Lte, vec!["7"])]);
        assert!(!seven.is_empty() && seven.has("7") && seven.has("007"));
        assert!(seven.is_open() && !seven.has("6") && !seven.has("8"));
    }

    #[test]
    fn a_range_of_which_every_number_is_excluded_is_empty() {
        let bounds = [(Operator::Gte, vec!["2"]), (Operator::Lte, vec!["3"])];
        let with = |values| [bounds.to_vec(), vec![(Operator::NotIn, values)]].concat();
        assert!(together(&with(vec!["2", "3"])).is_empty());
        assert!(!together(&with(vec!["2", "4"])).is_empty());
    }

    #[test]
    fn what_a_list_or_a_range_leaves_can_be_counted() {
        let between = |low, high| [(Operator::Gte, vec![low]), (Operator::Lte, vec![high])];
        assert_eq!(together(&between("2", "4")).count(), Some(3));
        assert_eq!(together(&between("4", "4")).count(), Some(1));
        let without_three = [
            between("2", "4").to_vec(),
            vec![(Operator::NotIn, vec!["3", "03", "9", "a"])],
        ]
        .concat();
        assert_eq!(together(&without_three).count(), Some(2));
        let listed = (Operator::In, vec!["1", "2", "2", "3"]);
        assert_eq!(together(std::slice::from_ref(&listed)).count(), Some(3));
        assert_eq!(together(&[listed, (Operator::Gt, vec!["1"])]).count(), Some(2));
        assert_eq!(together(&[(Operator::Gt, vec!["1"])]).count(), None);
        let whole_range = between("-9223372036854775808", "9223372036854775807");
        assert_eq!(together(&whole_range).count(), None);
        assert_eq!(Selection::new(Operator::DoesNotExist, &[]).count(), Some(0));
    }

    #[test]
    fn the_least_that_is_allowed_is_known_of_numbers_and_of_lower_bounds() {
        let least = |requirements: &[(Operator, Vec<&'static str>)]| together(requirements).least();
        assert_eq!(least(&[(Operator::In, vec!["16", "8"])]), Some(8));
        assert_eq!(
            least(&[(Operator::In, vec!["16", "8"]), (Operator::Gt, vec!["8"])]),
            Some(16)
        );
        assert_eq!(least(&[(Operator::Gt, vec!["8"])]), Some(9));
        assert_eq!(
            least(&[(Operator::Gte, vec!["8"]), (Operator::Lt, vec!["32"])]),
            Some(8)
        );
        assert_eq!(least(&[(Operator::In, vec!["8", "large"])]), None);
        assert_eq!(
            least(&[(Operator::Lt, vec!["8"]), (Operator::NotIn, vec!["1"])]),
            None
        );
        assert_eq!(least(&[(Operator::DoesNotExist, vec![])]), None);
    }

    #[test]
    fn the_largest_integer_does_not_wrap_around() {
        let largest = vec!["9223372036854775807"];
        assert!(Selection::new(Operator::Gt, &largest).is_empty());
        assert!(Selection::new(Operator::Gte, &largest).has(largest[0]));
        assert!(!Selection::new(Operator::Lt, &["0"]).has("0"));
    }
}
