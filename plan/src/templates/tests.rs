//! What a template reads, on which line, and what it renders to.

use super::{line::line_of, *};
use hermes_core::{failure::FailureClass, schema::Schema, value::Val};
use serde_json::json;

fn render(source: &'static str, inputs: &[(&str, Val)]) -> Result<String, hermes_core::failure::Failure> {
    let ready = ReadyTemplate::new("x.html", source).unwrap();
    ready.render(inputs.iter().map(|(name, value)| (*name, value)))
}

fn missing(source: &'static str, inputs: &[(&str, Option<Schema>)]) -> Vec<String> {
    let ready = ReadyTemplate::new("x", source).unwrap();
    ready.missing(inputs).into_iter().map(|missing| missing.variable).collect()
}

#[test]
fn the_line_is_the_first_that_reads_the_variable() {
    assert_eq!(line_of("a\n{{ a }}", "a"), Some(2), "text is not a variable");
    assert_eq!(line_of("{# a #}\n{{ ab }}{{ x.a }}\n{{ b\n + a }}", "a"), Some(4));
    assert_eq!(line_of("{% if section.title_md %}\n{{ section.title }}", "section.title"), Some(2));
    assert_eq!(line_of("{% if x\n  == größe.a %}", "größe.a"), Some(2));
    assert_eq!(line_of("{{ section . title }}", "section.title"), None);
    assert_eq!(line_of("no braces, {{ and one that never ends a", "a"), Some(1));
}

#[test]
fn a_file_name_changes_nothing_of_what_is_rendered() {
    let text = [("text", Val::from_json(json!("<a> & \"b\"")))];
    assert_eq!(render("{{ text }}", &text).unwrap(), "<a> & \"b\"");
    assert_eq!(render("{{ text | tojson }}", &text).unwrap(), r#""<a> & \"b\"""#);
}

#[test]
fn numbers_are_rendered_as_they_are_stored() {
    let numbers = json!([u64::MAX, i64::MIN, 0.1, 1.0, 1e300, null, true]);
    let value = [("numbers", Val::from_json(numbers.clone()))];
    assert_eq!(render("{{ numbers | tojson }}", &value).unwrap(), numbers.to_string());
    let each = render("{% for n in numbers %}{{ n }} {% endfor %}", &value).unwrap();
    assert!(each.starts_with("18446744073709551615 -9223372036854775808 0.1 1.0 "), "{each}");
}

#[test]
fn only_a_line_break_at_the_end_is_dropped() {
    assert_eq!(render("\n a \n\n", &[]).unwrap(), "\n a \n");
}

#[test]
fn what_is_undefined_is_a_failure_also_where_it_is_only_tested() {
    let value = [("a", Val::from_json(json!({})))];
    for source in
        ["{{ a.b }}", "{% if a.b %}{% endif %}", "{% for x in a.b %}{% endfor %}", "{{ a.b.c }}", "{{ b }}"]
    {
        let failure = render(source, &value).unwrap_err();
        assert_eq!(failure.class, FailureClass::TemplateFailed, "{source}");
        assert!(failure.message.starts_with("x.html:1: undefined value"), "{failure}");
    }
    let asked = "{% if a.b is defined %}{{ a.b }}{% else %}none{% endif %} {{ a.b | default('-') }}";
    assert_eq!(render(asked, &value).unwrap(), "none -");
}

#[test]
fn an_input_may_have_the_name_of_something_built_in() {
    let text = || Some(Schema::of::<String>());
    assert_eq!(missing("{{ range }} {{ range.x }} {{ dict }}", &[("range", text())]), ["range.x"]);
    assert_eq!(
        missing("{{ a.x }} {{ b.x }}", &[("a", None), ("b", text())]),
        ["b.x"],
        "of `a` nothing is known"
    );
}

#[test]
fn the_same_source_has_the_same_hash_under_every_name() {
    let [one, other] = ["one", "other"].map(|id| ReadyTemplate::new(id, "a").unwrap().used().clone());
    assert_eq!(one.source, other.source);
    assert_ne!(one.source, ReadyTemplate::new("one", "a\n").unwrap().used().source);
}
