//! What holds for every pool.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn as_many_come_in_as_there_are_free_places_and_asking_again_changes_nothing(
        claims in vec((0..12_usize, any::<[bool; 3]>()), 0..6),
        reservations in vec(0..12_usize, 0..6),
        asked in vec((0..12_usize, any::<bool>()), 0..8),
        nodes in 0..10_u32,
        soft in any::<bool>(),
        surge in 0..3_u32,
        surged in btree_set(0..12_usize, 0..3),
        clock in any::<u64>(),
    ) {
        let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        let reservations: Vec<&str> = reservations.iter().map(|number| names[*number].as_str()).collect();
        let asked: Vec<(&str, bool)> = asked.iter().map(|(number, dry)| (names[*number].as_str(), *dry)).collect();
        let mut pool = known(&[], &reservations);
        pool.limit_mut().nodes = nodes;
        if soft {
            pool.limit_mut().mode = NodeLimitMode::Soft;
        } else {
            pool.limit_mut().surge = surge;
        }
        for (number, [deleting, disrupted, initialized]) in claims.iter().copied() {
            let version = pool.view.version() + 1;
            pool.view.upsert(uid(&names[number]), CountedClaim { version, deleting, disrupted, initialized });
        }
        pool.ledger.as_mut().unwrap().surged = surged.iter().map(|number| uid(&names[*number])).collect();
        let more = pool.view.disrupted().min(pool.limit.unwrap().surge.try_into().unwrap());
        let occupied = |ledger: &Ledger| {
            let outside = ledger.reservations().filter(|uid| pool.view.get(uid).is_none()).count();
            pool.view.counts().counted(pool.limit.unwrap().mode) + outside
        };
        let before = occupied(pool.ledger.as_ref().unwrap());
        let (answers, write) = pool.decided(&asked);
        let after = match &write {
            Write::Nothing => pool.ledger.clone().unwrap(),
            Write::Useful(ledger) | Write::Required(ledger) => ledger.clone(),
        };
        let limit = usize::try_from(nodes).unwrap();
        prop_assert!(occupied(&after) <= (limit + more).max(before));
        let denied = answers.iter().any(|answer| matches!(answer, RequestVerdict::Deny(_)));
        prop_assert!(!denied || occupied(&after) >= limit + more);
        let is_there = |uid: &Uid| pool.view.get(uid).is_some() || after.has_reservation(uid);
        prop_assert!(after.surged().iter().all(is_there));
        prop_assert!(after.surged().len() <= occupied(&after).saturating_sub(limit));
        let others = |ledger: &Ledger| {
            let is_one = |uid: &Uid| pool.view.get(uid).is_some() || ledger.has_reservation(uid);
            let uids = names.iter().map(|name| uid(name));
            uids.filter(|uid| is_one(uid) && !ledger.surged().contains(uid)).count()
        };
        let others_before = others(pool.ledger.as_ref().unwrap());
        prop_assert!(soft || others(&after) <= limit.max(others_before), "those above the limit are known");
        let reserved = answers.contains(&RequestVerdict::Reserved);
        prop_assert_eq!(reserved, matches!(write, Write::Required(_)));

        // Whatever the wall clock says.
        pool.clock = clock;
        let (same, write) = pool.decided(&asked);
        prop_assert_eq!(&same, &answers);
        if let Write::Useful(ledger) | Write::Required(ledger) = write {
            prop_assert_eq!(calls(&ledger), calls(&after));
        }

        pool.ledger = Some(after);
        prop_assert_eq!(pool.tidied(), None);
        let (again, _) = pool.decided(&asked);
        for (first, second) in answers.iter().zip(&again) {
            let denied = |answer: &RequestVerdict| matches!(answer, RequestVerdict::Deny(_));
            prop_assert!(denied(first) || !denied(second) || *first == RequestVerdict::Allow);
        }
    }
}
