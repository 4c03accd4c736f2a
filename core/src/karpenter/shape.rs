//! The JSON types that the API demands.
