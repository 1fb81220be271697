//! Drawings compared with their snapshots.

/// Compares a drawing with its snapshot, in the folder where `assert_layout!` keeps its own.
pub(crate) fn assert_drawing(name: &str, drawing: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, drawing));
}
