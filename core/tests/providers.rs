//! Makes the table of what providers know (`core/src/karpenter/provider/tables.rs`) from `core/providers`.

#![cfg(test)]

mod providers {
    pub mod table;
}
