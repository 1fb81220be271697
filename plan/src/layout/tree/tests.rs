//! The tree's box characters, and that a line stays one line.

use super::Drawing;

#[test]
fn lines_hang_below_each_other() {
    let drawing = Drawing::with(
        "plan",
        vec![
            Drawing::with("a", vec![Drawing::with("b", vec![Drawing::leaf("c")]), Drawing::leaf("d")]),
            Drawing::with("e", vec![Drawing::leaf("f")]),
        ],
    );
    assert_eq!(drawing.to_string(), "plan\n├─ a\n│  ├─ b\n│  │  └─ c\n│  └─ d\n└─ e\n   └─ f");
}

#[test]
fn a_line_stays_one_line() {
    let drawing = Drawing::with("a\nb", vec![Drawing::leaf("\u{2028}c\rd\u{202e}é")]);
    assert_eq!(drawing.to_string(), "a\\nb\n└─ \\u{2028}c\\rd\\u{202e}é");
}
