//! The words: names that are plumbing, or too general to mean anything, appear in no public name, no error text, and
//! nothing that authors read.

use proc_macro2::{TokenStream, TokenTree};
use std::{
    fs,
    path::{Path, PathBuf},
};
use syn::{
    Attribute, Field, File, ImplItem, Item, LitStr, TraitItem, Variant, Visibility,
    visit::{self, Visit},
};

/// Each as the words it consists of.
const BANNED: &[&[&str]] = &[
    &["handoff"],
    &["handoffs"],
    &["hand", "off"],
    &["external"],
    &["signal"],
    &["signals"],
    &["wait", "key"],
    &["wait", "keys"],
    &["outbox"],
    &["lease"],
    &["leases"],
    &["ctx"],
    &["context", "handle"],
    &["context", "handles"],
    &["task"],
    &["tasks"],
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The words of a text or a name: `WaitKey`, `wait_key` and `wait key` are two words each.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The banned words in a text.
fn banned(text: &str) -> Vec<String> {
    let words = words(text);
    let has = |banned: &[&str]| words.windows(banned.len()).any(|window| window == banned);
    BANNED.iter().filter(|banned| has(banned)).map(|banned| banned.join(" ")).collect()
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn what_authors_read_is_free_of_them() {
    let mut read = vec![root().join("README.md"), root().join("src/lib.rs")];
    files(&root().join("examples"), &mut read);
    assert!(read.len() > 10, "{read:?}");
    for file in read {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let found = banned(line);
            assert!(found.is_empty(), "{}:{}: {found:?} in {line:?}", file.display(), number + 1);
        }
    }
}

/// What a package shows: its public names, and the texts in its code (errors, layouts, messages), tests left out.
#[derive(Default)]
struct Shown {
    names: Vec<String>,
    texts: Vec<String>,
}

impl Shown {
    fn of(source: &str) -> Self {
        let file: File = syn::parse_file(source).unwrap();
        let mut shown = Self::default();
        shown.visit_file(&file);
        shown
    }

    fn name(&mut self, visibility: &Visibility, name: &syn::Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.names.push(name.to_string());
        }
    }

    fn texts(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.texts(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                        self.texts.push(text.value());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Shown {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(item) => self.name(&item.vis, &item.sig.ident),
            Item::Struct(item) => self.name(&item.vis, &item.ident),
            Item::Enum(item) => self.name(&item.vis, &item.ident),
            Item::Trait(item) => self.name(&item.vis, &item.ident),
            Item::Type(item) => self.name(&item.vis, &item.ident),
            Item::Const(item) => self.name(&item.vis, &item.ident),
            Item::Static(item) => self.name(&item.vis, &item.ident),
            Item::Mod(item) => self.name(&item.vis, &item.ident),
            Item::Macro(item) => self.names.extend(item.ident.as_ref().map(ToString::to_string)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(item) => self.name(&item.vis, &item.sig.ident),
            ImplItem::Const(item) => self.name(&item.vis, &item.ident),
            _ => {}
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if let TraitItem::Fn(item) = item {
            self.names.push(item.sig.ident.to_string());
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.names.push(variant.ident.to_string());
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if let Some(name) = &field.ident {
            self.name(&field.vis, name);
        }
        visit::visit_field(self, field);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        // Comments may use any word, as may the settings of derives.
        if attribute.path().is_ident("error")
            && let Ok(list) = attribute.meta.require_list()
        {
            self.texts(list.tokens.clone());
        }
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.texts.push(text.value());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.texts(call.tokens.clone());
    }
}

#[test]
fn public_names_and_texts_are_free_of_them() {
    let (mut names, mut texts) = (0, 0);
    for package in ["core", "plan", "executor", "runners"] {
        let mut sources = Vec::new();
        files(&root().join(package).join("src"), &mut sources);
        for file in sources {
            let place = file.display().to_string();
            if file.extension().is_none_or(|extension| extension != "rs") || place.contains("tests") {
                continue;
            }
            let shown = Shown::of(&fs::read_to_string(&file).unwrap());
            (names, texts) = (names + shown.names.len(), texts + shown.texts.len());
            for text in shown.names.iter().chain(&shown.texts) {
                let found = banned(text);
                assert!(found.is_empty(), "{place}: {found:?} in {text:?}");
            }
        }
    }
    assert!(names > 500 && texts > 500, "{names} names, {texts} texts: these are not all");
}

#[test]
fn the_reader_works() {
    for text in
        ["a task", "TaskName", "wait_key", "WaitKey", "the Context handle", "x.ctx()", "Signal!", "hand-off"]
    {
        assert_eq!(banned(text).len(), 1, "{text}");
    }
    for text in ["multitasking", "contexts", "waiting for a key", "release", "externally", "on hand"] {
        assert_eq!(banned(text), [""; 0], "{text}");
    }
    let shown = Shown::of(
        r#"
        /// A comment.
        pub enum Trouble { #[error("a text")] First { inside: u8 } }
        pub struct Form { pub field: u8, hidden: u8 }
        impl Form { pub fn method(&self) { format!("in a macro {}", 1); let _ = "plain"; } fn own() {} }
        pub trait Shape { fn area(&self); }
        "#,
    );
    assert_eq!(shown.names, ["Trouble", "First", "Form", "field", "method", "Shape", "area"]);
    assert_eq!(shown.texts, ["a text", "in a macro {}", "plain"]);
}
