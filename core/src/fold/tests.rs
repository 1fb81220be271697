//! The fold takes what can follow and refuses what cannot.
