//! The grammars of the texts that stand in a NodePool, each with exactly the meaning that Karpenter's own
//! parser gives it. Knows nothing of NodePools.
