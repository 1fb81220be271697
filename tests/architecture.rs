//! The shape of the workspace: which package may depend on which, no module cycles, and what files may look like.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn arrows_between_packages_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("hermes-core", &[] as &[&str]),
        ("hermes-plan", &["hermes-core"]),
        ("hermes-executor", &["hermes-core", "hermes-plan"]),
        ("hermes-runners", &["hermes-core", "hermes-executor"]),
        ("hermes-workflows", &["hermes-core", "hermes-plan", "hermes-executor", "hermes-runners"]),
    ]);
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    let mut seen = BTreeSet::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let allowed = allowed.get(name).unwrap_or_else(|| panic!("a package nobody planned: {name}"));
        seen.insert(name.to_owned());
        for dependency in &package.dependencies {
            if dependency.kind == DependencyKind::Normal && dependency.name.starts_with("hermes") {
                assert!(
                    allowed.contains(&dependency.name.as_str()),
                    "{name} must not depend on {}",
                    dependency.name
                );
            }
        }
    }
    assert_eq!(seen.len(), allowed.len(), "{seen:?}");
}

#[test]
fn what_is_pure_depends_on_no_runtime_and_no_store() {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    for package in &metadata.packages {
        if !matches!(package.name.as_str(), "hermes-core" | "hermes-plan") {
            continue;
        }
        for dependency in &package.dependencies {
            let runtime =
                ["tokio", "tokio-util", "redb", "rustix", "tempfile"].contains(&dependency.name.as_str());
            assert!(
                !runtime || dependency.kind != DependencyKind::Normal,
                "{} -> {}",
                package.name,
                dependency.name
            );
        }
    }
}

/// All source files of the packages, tests left out.
fn sources() -> Vec<PathBuf> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for package in ["src", "core/src", "plan/src", "executor/src", "runners/src"] {
        walk(&root().join(package), &mut found);
    }
    found
}

#[test]
fn every_file_says_what_it_is_and_stays_small() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} does not open with //!", path.display());
        let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
        let lines = text.lines().count();
        assert!(is_test || lines <= 600, "{} has {lines} lines", path.display());
    }
}

#[test]
fn only_the_ledger_names_redb() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let names = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            code.contains("redb::") || code.contains("use redb")
        });
        let in_ledger = path.strip_prefix(root()).unwrap().starts_with("executor/src/ledger");
        assert!(!names || in_ledger, "{} names redb", path.display());
    }
}

/// The top-level modules of a package and the modules each one uses, by their `crate::` paths.
fn uses(package: &str) -> BTreeMap<String, BTreeSet<String>> {
    let base = root().join(package).join("src");
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources().into_iter().filter(|path| path.starts_with(&base)) {
        let relative = path.strip_prefix(&base).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
        let module = first.trim_end_matches(".rs").to_owned();
        let test = relative.components().any(|part| {
            let part = part.as_os_str().to_str().unwrap();
            part == "tests" || part == "tests.rs"
        });
        if module == "lib" || test {
            continue;
        }
        let text: String = fs::read_to_string(&path)
            .unwrap()
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n");
        let entry = uses.entry(module.clone()).or_default();
        for (at, _) in text.match_indices("crate::") {
            let rest = &text[at + "crate::".len()..];
            let names: Vec<String> = if let Some(group) = rest.strip_prefix('{') {
                top_level(group)
            } else {
                vec![rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()]
            };
            entry.extend(names.into_iter().filter(|name| *name != module));
        }
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for used in uses.values_mut() {
        used.retain(|name| modules.contains(name));
    }
    uses
}

/// The first names in a `{…}` group of a `use`.
fn top_level(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut name = String::new();
    let mut fresh = true;
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(std::mem::take(&mut name));
                fresh = true;
            }
            c if depth == 0 && fresh && (c.is_alphanumeric() || c == '_') => name.push(c),
            ':' if depth == 0 => fresh = false,
            _ => {}
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn modules_of_a_package_import_each_other_in_one_direction() {
    for package in ["core", "plan", "executor", "runners"] {
        let uses = uses(package);
        let mut open = uses.clone();
        // Take away modules that use none of those that are left; what cannot be taken away is a cycle.
        loop {
            let free: Vec<String> =
                open.iter().filter(|(_, used)| used.is_empty()).map(|(name, _)| name.clone()).collect();
            if free.is_empty() {
                break;
            }
            for name in free {
                open.remove(&name);
                for used in open.values_mut() {
                    used.remove(&name);
                }
            }
        }
        assert!(open.is_empty(), "modules of {package} that import each other: {open:#?}");
    }
}
