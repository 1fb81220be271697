//! `assert_layout!`: a plan's drawing as a snapshot. Feature `snapshot`.

/// Compares the layout of a plan with its snapshot in the `snapshots` folder of the calling package.
///
/// The snapshot is named for the plan, or as the second argument says. A new or changed layout fails the test and is
/// reviewed with `cargo insta review`.
///
/// ```no_run
/// use hermes_plan::{assert_layout, prelude::*};
///
/// let plan = Plan::new("length", |word: Step<String>| word.map(|word| word.len()))?;
/// assert_layout!(plan);
/// assert_layout!(plan, "length-of-a-word");
/// # Ok::<(), PlanErrors>(())
/// ```
#[macro_export]
macro_rules! assert_layout {
    ($plan:expr $(,)?) => {
        match &$plan {
            plan => $crate::assert_layout!(plan, plan.layout().name()),
        }
    };
    ($plan:expr, $name:expr $(,)?) => {
        match (&$plan, &$name) {
            (plan, name) => {
                let mut settings = $crate::__insta::Settings::clone_current();
                settings.set_snapshot_path(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/snapshots"));
                settings.set_prepend_module_to_snapshot(false);
                settings.set_omit_expression(true);
                settings.bind(|| {
                    $crate::__insta::assert_snapshot!(
                        ::std::string::ToString::to_string(name),
                        plan.layout().text()
                    );
                });
            }
        }
    };
}
