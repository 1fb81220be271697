//! Records keep what they are given; bytes that are no record are refused.
