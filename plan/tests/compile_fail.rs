//! What the types refuse, and what the compiler then says: its message is the author's error message.

#[test]
fn the_compiler_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
