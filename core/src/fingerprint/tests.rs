//! One test a row of the closed table of page "Fingerprint".
