//! Makes the table of what providers know (`core/src/facts/provider/tables.rs`) from `core/providers`, and compares
//! each row of that with what the providers' Go modules register (`core/tests/data/providers.jsonl`).

#![cfg(test)]

mod providers {
    mod definition;
    mod record;
    mod recorded;
    mod table;
}
