//! Detects import cycles between the files of a crate.
//!
//! An edge is a path to an item of another file: in a `use`, an expression or a type. `mod child;` and a
//! re-export are not edges; a path through a re-export is an edge to the file that defines the item. Test
//! code is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// A module path below the crate root, such as `["http", "posts"]`.
type Module = Vec<String>;

#[derive(Default)]
struct File {
    children: BTreeSet<String>,
    /// The names that its `use` items bring into scope, each with its path.
    imports: BTreeMap<String, Module>,
    globs: Vec<Module>,
    paths: BTreeSet<Module>,
}

/// The import cycles of a crate, each as the list of its edges. `root` is its `lib.rs` or `main.rs`.
pub(crate) fn cycles(root: &Path) -> Vec<Vec<String>> {
    let mut files = BTreeMap::new();
    read(root, Vec::new(), &mut files);
    let edges: BTreeMap<&Module, BTreeSet<Module>> = files
        .iter()
        .map(|(module, file)| {
            let targets = file.paths.iter().filter_map(|path| resolve(&files, module, path, 0));
            (module, targets.filter(|target| target != module).collect())
        })
        .collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut seen = BTreeSet::new();
    for module in files.keys() {
        if seen.contains(module) {
            continue;
        }
        let forward = reachable(&edges, module);
        let cycle: Vec<Module> =
            forward.into_iter().filter(|other| reachable(&edges, other).contains(module)).collect();
        if !cycle.is_empty() {
            let arrows = |from: &Module| {
                let inside = edges[from].iter().filter(|to| cycle.contains(to)).map(name);
                format!("{} -> {}", name(from), inside.collect::<Vec<_>>().join(", "))
            };
            found.push(cycle.iter().map(arrows).collect());
            seen.extend(cycle);
        }
    }
    found
}

fn name(module: &Module) -> String {
    if module.is_empty() { "(root)".into() } else { module.join("::") }
}

/// All modules that are reachable over edges; the module itself only if it is in a cycle.
fn reachable(edges: &BTreeMap<&Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Module> = vec![from];
    while let Some(module) = open.pop() {
        for next in edges.get(module).into_iter().flatten() {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

fn read(path: &Path, module: Module, files: &mut BTreeMap<Module, File>) {
    let source = fs::read_to_string(path).unwrap();
    let parsed = syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = Reader { module: module.clone(), file: File::default() };
    reader.visit_file(&parsed);
    let folder = match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => path.parent().unwrap().to_path_buf(),
        _ => path.with_extension(""),
    };
    for child in &reader.file.children {
        let candidates: [PathBuf; 2] =
            [folder.join(format!("{child}.rs")), folder.join(child).join("mod.rs")];
        let path =
            candidates.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no file for {child}"));
        read(path, [module.clone(), vec![child.clone()]].concat(), files);
    }
    files.insert(module, reader.file);
}

struct Reader {
    module: Module,
    file: File,
}

impl Reader {
    /// The path from the crate root; `None` if it leads to another crate.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => {
                let parent = self.module[..self.module.len().checked_sub(1)?].to_vec();
                return match rest.first().map(String::as_str) {
                    Some("super") => Reader { module: parent, file: File::default() }.absolute(rest),
                    _ => Some([parent, rest.to_vec()].concat()),
                };
            }
            _ if self.file.children.contains(first) || self.file.imports.contains_key(first) => {
                return Some([self.module.clone(), path.to_vec()].concat());
            }
            _ => return None,
        };
        Some([base, rest.to_vec()].concat())
    }

    fn add_use(&mut self, tree: &UseTree, prefix: &[String], is_reexport: bool) {
        match tree {
            UseTree::Path(path) => {
                self.add_use(&path.tree, &[prefix, &[path.ident.to_string()]].concat(), is_reexport);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, prefix, is_reexport);
                }
            }
            UseTree::Name(name) => {
                let ident = name.ident.to_string();
                let path = if ident == "self" {
                    prefix.to_vec()
                } else {
                    [prefix, std::slice::from_ref(&ident)].concat()
                };
                let ident = if ident == "self" { prefix.last().cloned().unwrap_or_default() } else { ident };
                self.import(ident, &path, is_reexport);
            }
            UseTree::Rename(rename) => {
                let path = [prefix, &[rename.ident.to_string()]].concat();
                self.import(rename.rename.to_string(), &path, is_reexport);
            }
            UseTree::Glob(_) => {
                if let Some(path) = self.absolute(prefix) {
                    self.file.globs.push(path.clone());
                    if !is_reexport {
                        self.file.paths.insert(path);
                    }
                }
            }
        }
    }

    fn import(&mut self, name: String, path: &[String], is_reexport: bool) {
        if let Some(path) = self.absolute(path) {
            if !is_reexport {
                self.file.paths.insert(path.clone());
            }
            self.file.imports.insert(name, path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_file(&mut self, file: &'ast syn::File) {
        // Child modules first: the path of a `use` may begin with one.
        for item in &file.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && !is_test(&module.attrs)
            {
                self.file.children.insert(module.ident.to_string());
            }
        }
        for item in &file.items {
            if let Item::Use(item) = item
                && !is_test(&item.attrs)
            {
                self.add_use(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
            }
        }
        visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, _: &'ast ItemUse) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1
            && let Some(path) = self.absolute(&names)
        {
            self.file.paths.insert(path);
        }
        visit::visit_path(self, path);
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

/// The file that defines the item of a path.
fn resolve(files: &BTreeMap<Module, File>, from: &Module, path: &[String], depth: usize) -> Option<Module> {
    assert!(depth < 32, "the path {path:?} in {} resolves in a loop", name(from));
    let mut module: Module = Vec::new();
    for (index, segment) in path.iter().enumerate() {
        let file = &files[&module];
        if file.children.contains(segment) {
            module.push(segment.clone());
        } else if let Some(target) = file.imports.get(segment) {
            let target = [target.clone(), path[index + 1..].to_vec()].concat();
            return (target != path).then(|| resolve(files, from, &target, depth + 1)).flatten();
        } else {
            // Defined in this file, or imported by a glob, which is rare and counted as this file.
            return Some(module);
        }
    }
    Some(module)
}
