//! The smell test: the plans of the examples are written with the primitives and plain Rust types. No plumbing words, no
//! casts, no untyped values looked up by string.

use proc_macro2::{TokenStream, TokenTree};
use std::{
    fs,
    path::{Path, PathBuf},
};
use syn::{
    Expr, ExprCast, ExprIndex, ExprLit, ExprMethodCall, ExprUnsafe, Ident, ItemUse, Lit, Macro, UseTree,
    spanned::Spanned,
    visit::{self, Visit},
};

/// What an author never has to name.
const PLUMBING: &[&str] = &[
    "Any",
    "Arc",
    "Box",
    "Executor",
    "Graph",
    "Ledger",
    "Mutex",
    "NodeId",
    "PhantomData",
    "Pin",
    "Rc",
    "RefCell",
    "RunId",
    "Runner",
    "StepPath",
    "Value",
    "block_on",
    "context",
    "ctx",
    "downcast",
    "downcast_ref",
    "dyn",
    "from_str",
    "from_value",
    "handoff",
    "json",
    "lease",
    "outbox",
    "petgraph",
    "redb",
    "serde_json",
    "signal",
    "spawn",
    "task",
    "to_value",
    "tokio",
    "transmute",
    "unwrap",
];

/// What smells in a source, with the line.
fn smells(source: &str) -> Vec<String> {
    let file = syn::parse_file(source).unwrap();
    let mut nose = Nose { found: Vec::new() };
    nose.visit_file(&file);
    nose.found
}

struct Nose {
    found: Vec<String>,
}

impl Nose {
    fn smell(&mut self, place: &impl Spanned, what: impl std::fmt::Display) {
        self.found.push(format!("line {}: {what}", place.span().start().line));
    }

    /// Macros are not parsed: their words are looked at one by one.
    fn words(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.words(group.stream()),
                TokenTree::Ident(ident) => self.word(&ident),
                _ => {}
            }
        }
    }

    fn word(&mut self, ident: &Ident) {
        if PLUMBING.iter().any(|word| ident == word) {
            self.smell(ident, ident);
        }
    }
}

impl<'ast> Visit<'ast> for Nose {
    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.word(ident);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // A value of the author's own type, by its name in the contract.
        if names != ["OnExpiry", "Value"] {
            visit::visit_path(self, path);
        }
    }

    fn visit_expr_cast(&mut self, cast: &'ast ExprCast) {
        self.smell(cast, "a cast");
        visit::visit_expr_cast(self, cast);
    }

    fn visit_expr_unsafe(&mut self, block: &'ast ExprUnsafe) {
        self.smell(block, "unsafe");
    }

    fn visit_expr_index(&mut self, index: &'ast ExprIndex) {
        if is_text(&index.index) {
            self.smell(index, "indexing by a string");
        }
        visit::visit_expr_index(self, index);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if (call.method == "get" || call.method == "pointer") && call.args.first().is_some_and(is_text) {
            self.smell(call, "a look-up by a string");
        }
        if call.method == "json" {
            // The end of a command, `.json::<T>()`, is typed: everything but its name is looked at.
            self.visit_expr(&call.receiver);
            call.turbofish.iter().for_each(|types| self.visit_angle_bracketed_generic_arguments(types));
            call.args.iter().for_each(|argument| self.visit_expr(argument));
            return;
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_type_trait_object(&mut self, object: &'ast syn::TypeTraitObject) {
        self.smell(object, "dyn");
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if let UseTree::Path(path) = &item.tree
            && path.ident == "hermes_workflows"
            && !matches!(&*path.tree, UseTree::Path(inner) if inner.ident == "prelude" || inner.ident == "patterns")
        {
            self.smell(item, "more than the prelude");
        }
        visit::visit_item_use(self, item);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        visit::visit_path(self, &call.path);
        self.words(call.tokens.clone());
    }
}

fn is_text(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(ExprLit { lit: Lit::Str(_), .. }))
        || matches!(expression, Expr::Reference(reference) if is_text(&reference.expr))
}

/// The files of the examples that hold plans: `plan.rs`, `plans.rs` and what is in `plans/`.
fn plan_files() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut found = Vec::new();
    for example in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
        found.extend(
            ["plan.rs", "plans.rs"].map(|name| example.join(name)).into_iter().filter(|file| file.exists()),
        );
        let folder = example.join("plans");
        if folder.is_dir() {
            found.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn the_plans_of_the_examples_smell_of_nothing() {
    let files = plan_files();
    let named = |name: &str| files.iter().any(|file| file.ends_with(name));
    assert!(named("blog_post/plan.rs") && named("topology/plans.rs"), "{files:?}");
    for file in files {
        let found = smells(&fs::read_to_string(&file).unwrap());
        assert!(found.is_empty(), "{}: {found:#?}", file.display());
    }
}

#[test]
fn the_nose_works() {
    for (source, smell) in [
        ("fn f(x: u8) { x as u64; }", "line 1: a cast"),
        ("fn f(x: X) {\n    x[\"title\"];\n}", "line 2: indexing by a string"),
        ("fn f(x: X) { x.get(\"title\"); }", "line 1: a look-up by a string"),
        ("fn f(x: X) { x.get(&\"title\"); }", "line 1: a look-up by a string"),
        ("fn f(x: serde_json::Thing) {}", "line 1: serde_json"),
        ("fn f(x: &Value) {}", "line 1: Value"),
        ("fn f(x: &dyn Fn()) {}", "line 1: dyn"),
        ("fn f(ctx: u8) {}", "line 1: ctx"),
        ("fn f() { json!(1); }", "line 1: json"),
        ("fn f() { x.json::<Value>(); }", "line 1: Value"),
        ("fn f() { unsafe {} }", "line 1: unsafe"),
        ("fn f() { format!(\"{}\", x.unwrap()); }", "line 1: unwrap"),
        ("use hermes_workflows::plan::graph::Node;", "line 1: more than the prelude"),
    ] {
        assert_eq!(smells(source), [smell], "{source}");
    }
    let clean = "use hermes_workflows::patterns::goal;\nuse hermes_workflows::prelude::*;\nuse a::b as c;\nfn f(x: Step<T>) { x.get(|x| &x.y); list[0]; OnExpiry::Value(x); }";
    assert_eq!(smells(clean), [""; 0]);
}
