//! A cluster for tests in which no creation is denied, so that none of them waits for another one.

use super::super::guarded::Guarded;
use super::super::shared::Shared;
use super::SETTLED;
use crate::support::karpenter::NodeRepair;

pub static UNDENIED: Shared<Guarded> = Shared::among(3, || Guarded::start_repairing(NodeRepair::On, SETTLED));
