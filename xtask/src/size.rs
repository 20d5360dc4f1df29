//! What the crates amount to: code lines outside tests, functions, and the habits that a house is rebuilt to lose.
//!
//! A code line is one with a token on it that is no comment: blank lines, comments and doc comments do not count, nor
//! does what is compiled for tests alone (`#[cfg(test)]` items and the files of such modules). Files are found as the
//! compiler finds them, by the modules that name them.
//!
//! Must not know: what the code does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Expr, ExprMatch, File, FnArg, Ident, Item, Meta, Pat, Signature};

/// The counts of a crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    code_lines: usize,
    functions: usize,
    /// Functions whose name begins with `refuse`.
    refusing: usize,
    /// Parameters that are taken apart where they are declared: `(a, b): (A, B)`.
    tuple_parameters: usize,
    /// `match () { () if … }`, an `if` in another form.
    unit_matches: usize,
}

/// Prints a row for each crate.
pub fn print(root: &Path) -> Result<()> {
    let header = ["crate", "code lines", "functions", "refuse*", "tuple parameters", "match ()"];
    println!("{}", row(&header.map(String::from)));
    let mut total = Counts::default();
    for source in sources(root)? {
        let counts = counts_of_crate(&source)?;
        println!("{}", counts_row(&name_of(root, &source), counts));
        total = total.plus(counts);
    }
    println!("{}", counts_row("all", total));
    Ok(())
}

fn counts_row(name: &str, counts: Counts) -> String {
    let Counts { code_lines, functions, refusing, tuple_parameters, unit_matches } = counts;
    let numbers = [code_lines, functions, refusing, tuple_parameters, unit_matches];
    let cells: Vec<String> =
        std::iter::once(name.to_owned()).chain(numbers.iter().map(usize::to_string)).collect();
    row(&cells)
}

fn row(cells: &[String]) -> String {
    cells.iter().map(|cell| format!("{cell:<18}")).collect::<String>().trim_end().to_owned()
}

/// The first file of each crate: a library and a program of one crate are two.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("crates")).context("crates")? {
        let folder = entry?.path().join("src");
        found.extend(
            ["lib.rs", "main.rs"].map(|name| folder.join(name)).into_iter().filter(|it| it.is_file()),
        );
    }
    found.sort();
    Ok(found)
}

fn name_of(root: &Path, source: &Path) -> String {
    let below = source.strip_prefix(root.join("crates")).unwrap_or(source);
    below.iter().next().unwrap_or_default().to_string_lossy().into_owned()
}

fn counts_of_crate(first: &Path) -> Result<Counts> {
    let mut total = Counts::default();
    let mut files = vec![(first.to_path_buf(), first.parent().unwrap_or(first).to_path_buf())];
    while let Some((path, folder)) = files.pop() {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let (counts, modules) = counts_of_text(&text).with_context(|| path.display().to_string())?;
        total = total.plus(counts);
        for module in modules {
            let below = folder.join(&module);
            let file = below.with_extension("rs");
            files.push((if file.is_file() { file } else { below.join("mod.rs") }, below));
        }
    }
    Ok(total)
}

/// The counts of a file, and the modules that have files of their own, as paths below it.
fn counts_of_text(text: &str) -> Result<(Counts, Vec<PathBuf>)> {
    let mut file: File = syn::parse_file(text)?;
    let mut visitor = Counting::default();
    visitor.visit_file_mut(&mut file);
    let mut lines = BTreeSet::new();
    note_lines(file.to_token_stream(), &mut lines);
    Ok((Counts { code_lines: lines.len(), ..visitor.counts }, visitor.modules))
}

impl Counts {
    fn plus(self, other: Counts) -> Counts {
        Counts {
            code_lines: self.code_lines + other.code_lines,
            functions: self.functions + other.functions,
            refusing: self.refusing + other.refusing,
            tuple_parameters: self.tuple_parameters + other.tuple_parameters,
            unit_matches: self.unit_matches + other.unit_matches,
        }
    }
}

/// Takes out what does not count, and counts the rest.
#[derive(Default)]
struct Counting {
    counts: Counts,
    modules: Vec<PathBuf>,
    /// Modules that are written in this file, around what is visited.
    inside: PathBuf,
}

impl VisitMut for Counting {
    fn visit_file_mut(&mut self, file: &mut File) {
        file.attrs.retain(|attribute| !is_doc(attribute));
        file.items.retain(|item| !is_for_tests(item));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        let path = self.inside.join(module.ident.to_string());
        match &mut module.content {
            None => self.modules.push(path),
            Some((_, items)) => {
                items.retain(|item| !is_for_tests(item));
                let outside = std::mem::replace(&mut self.inside, path);
                visit_mut::visit_item_mod_mut(self, module);
                self.inside = outside;
                return;
            }
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        item.items.retain(|item| match item {
            syn::ImplItem::Fn(function) => !function.attrs.iter().any(is_test),
            _ => true,
        });
        visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(|attribute| !is_doc(attribute));
    }

    fn visit_signature_mut(&mut self, signature: &mut Signature) {
        self.counts.functions += 1;
        self.counts.refusing += usize::from(is_refusing(&signature.ident));
        let is_tuple = |argument: &&FnArg| matches!(argument, FnArg::Typed(typed) if matches!(*typed.pat, Pat::Tuple(_)));
        self.counts.tuple_parameters += signature.inputs.iter().filter(is_tuple).count();
        visit_mut::visit_signature_mut(self, signature);
    }

    fn visit_expr_match_mut(&mut self, expression: &mut ExprMatch) {
        let is_unit = matches!(&*expression.expr, Expr::Tuple(tuple) if tuple.elems.is_empty());
        self.counts.unit_matches += usize::from(is_unit);
        visit_mut::visit_expr_match_mut(self, expression);
    }
}

fn is_refusing(name: &Ident) -> bool {
    name.to_string().starts_with("refuse")
}

fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

/// `#[test]`, `#[cfg(test)]`.
fn is_test(attribute: &Attribute) -> bool {
    let is_cfg = attribute.path().is_ident("cfg")
        && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test");
    is_cfg || attribute.path().is_ident("test")
}

fn is_for_tests(item: &Item) -> bool {
    let attributes = match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(is_test)
}

/// The lines on which tokens are.
fn note_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                lines.extend(lines_of(group.span_open()).chain(lines_of(group.span_close())));
                note_lines(group.stream(), lines);
            }
            other => lines.extend(lines_of(other.span())),
        }
    }
}

/// A text in quotes may be on several.
fn lines_of(span: Span) -> impl Iterator<Item = usize> {
    span.start().line..=span.end().line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_tests_do_not_count() {
        let text = "//! Header.

/// A comment.
pub fn refuse_all((one, two): (u8, u8), (): ()) -> u8 {
    // Why.
    match () {
        () if one > two => one,
        () => two, // More.
    }
}

mod inner {
    mod file;

    impl Thing {
        #[cfg(test)]
        fn only_tested() {}
        #[doc = \"words\"]
        fn counted(&self) -> &str {
            \"a
             b\"
        }
    }
}

#[cfg(test)]
mod elsewhere;

#[cfg(test)]
mod tests {
    fn refuse_none((a, b): (u8, u8)) {}
}
";
        let (counts, modules) = counts_of_text(text).expect("it is Rust");
        let expected =
            Counts { code_lines: 15, functions: 2, refusing: 1, tuple_parameters: 2, unit_matches: 1 };
        assert_eq!((counts, modules), (expected, vec![PathBuf::from("inner/file")]));
    }

    #[test]
    fn each_crate_of_this_tree_is_counted() {
        let root = crate::root();
        let sources = sources(&root).expect("the crates");
        assert!(sources.len() >= 7, "{sources:?}");
        for source in sources {
            let counts = counts_of_crate(&source).expect("all its files");
            assert!(counts.code_lines > 100 && counts.functions > 0, "{source:?}: {counts:?}");
        }
    }
}
