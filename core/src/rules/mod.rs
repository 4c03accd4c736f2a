//! The catalogue: every rule that poolgate knows, and the one pass that applies them.
