//! `assert_layout!`: a plan's drawing as a snapshot. Feature `snapshot`.

/// Compares the layout of a plan with its snapshot in the `snapshots` folder of the calling package.
///
/// The snapshot is named for the plan, or as the second argument says. A new or changed layout fails the test and is
/// reviewed with `cargo insta review`.
///
/// With `templates = "folder"` at the end, the templates of the plan that are files are checked first, as
/// [`Plan::check_templates`](crate::Plan::check_templates) does: they are read from that folder of the calling package. The
/// macro has no executor to ask, so without it files are not looked at.
///
/// # Panics
/// When the layout differs from its snapshot, or a template has a mistake.
///
/// ```no_run
/// use hermes_plan::{assert_layout, prelude::*};
///
/// let plan = Plan::new("length", |word: Step<String>| word.map(|word| word.len()))?;
/// assert_layout!(plan);
/// assert_layout!(plan, "length-of-a-word");
/// assert_layout!(plan, templates = "prompts");
/// # Ok::<(), PlanErrors>(())
/// ```
#[macro_export]
macro_rules! assert_layout {
    ($plan:expr $(,)?) => {
        match &$plan {
            plan => $crate::assert_layout!(plan, plan.layout().name()),
        }
    };
    ($plan:expr, templates = $folder:literal $(,)?) => {
        match &$plan {
            plan => $crate::assert_layout!(plan, plan.layout().name(), templates = $folder),
        }
    };
    ($plan:expr, $name:expr, templates = $folder:literal $(,)?) => {
        match (&$plan, &$name) {
            (plan, name) => {
                let folder = ::std::path::Path::new(::core::env!("CARGO_MANIFEST_DIR")).join($folder);
                let read = |path: &str| ::std::fs::read_to_string(folder.join(path));
                if let ::core::result::Result::Err(mistakes) = plan.check_templates(read) {
                    ::core::panic!("{mistakes}");
                }
                $crate::assert_layout!(plan, name);
            }
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
