//! Weaves all changes of a file into its text, each behind its switch.
//!
//! Edits the text at the spans of the syntax tree, so that everything else, including line numbers,
//! is unchanged. Knows the form of each kind of change, but nothing of files and builds.

use std::collections::HashMap;
use std::ops::Range;

use proc_macro2::{LineColumn, Span};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Signature, UnOp};

use crate::change::{Change, Genre, Place};

/// A file with its switches.
#[derive(Default)]
pub struct Woven {
    pub text: String,
    /// The bytes that belong to a single change.
    pub switches: Vec<(Range<usize>, usize)>,
    /// The ranges that were rewritten around changes, with those changes.
    pub wraps: Vec<(Range<usize>, Vec<usize>)>,
    /// Changes that cannot be woven, with the reasons.
    pub left_out: Vec<(usize, &'static str)>,
}

enum Piece {
    Text(String),
    /// The text of a single change.
    Switch(usize, String),
    Open,
    Close(Vec<usize>),
}

struct Edit {
    at: usize,
    skip: usize,
    pieces: Vec<Piece>,
}

/// `changes` are numbered; `path` is that of the function that reports whether one is on.
pub fn weave(source: &str, changes: &[(usize, &Change)], path: &str) -> syn::Result<Woven> {
    let file = syn::parse_file(source)?;
    let mut wanted: HashMap<(Genre, Place), Vec<(usize, &str)>> = HashMap::new();
    for (number, change) in changes {
        let same = wanted.entry((change.genre, change.span.start)).or_default();
        same.push((*number, &change.replacement));
    }
    let mut weaver = Weaver { wanted, path, edits: Vec::new(), left_out: Vec::new(), frozen: None };
    weaver.visit_file(&file);
    let rest = weaver.wanted.values().flatten().map(|(number, _)| (*number, "not found"));
    let mut left_out = weaver.left_out;
    left_out.extend(rest);
    let mut woven = Woven { left_out, ..Woven::default() };
    weaver.edits.sort_by_key(|edit| edit.at);
    apply(source, &weaver.edits, &mut woven);
    Ok(woven)
}

fn apply(source: &str, edits: &[Edit], woven: &mut Woven) {
    let (mut done, mut open) = (0, Vec::new());
    for edit in edits {
        woven.text.push_str(&source[done..edit.at]);
        done = edit.at + edit.skip;
        for piece in &edit.pieces {
            let start = woven.text.len();
            match piece {
                Piece::Text(text) => woven.text.push_str(text),
                Piece::Switch(number, text) => {
                    woven.text.push_str(text);
                    woven.switches.push((start..woven.text.len(), *number));
                }
                Piece::Open => open.push(start),
                Piece::Close(numbers) => {
                    let start = open.pop().unwrap_or_default();
                    if !numbers.is_empty() {
                        woven.wraps.push((start..woven.text.len(), numbers.clone()));
                    }
                }
            }
        }
    }
    woven.text.push_str(&source[done..]);
}

const CONST_FN: &str = "const fn";
const TARGET: &str = "target of an assignment";

struct Weaver<'a> {
    wanted: HashMap<(Genre, Place), Vec<(usize, &'a str)>>,
    path: &'a str,
    edits: Vec<Edit>,
    left_out: Vec<(usize, &'static str)>,
    /// The reason nothing can be woven here.
    frozen: Option<&'static str>,
}

fn text(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

fn place(at: LineColumn) -> Place {
    Place { line: at.line, column: at.column + 1 }
}

fn start(of: Span) -> usize {
    of.byte_range().start
}

fn end(of: Span) -> usize {
    of.byte_range().end
}

impl<'a> Weaver<'a> {
    /// The changes of that kind at a place, unless nothing can be woven there.
    fn take(&mut self, genre: Genre, span: Span) -> Vec<(usize, &'a str)> {
        let found = self.wanted.remove(&(genre, place(span.start()))).unwrap_or_default();
        if let Some(why) = self.frozen {
            self.left_out.extend(found.iter().map(|(number, _)| (*number, why)));
            return Vec::new();
        }
        found
    }

    fn is(&self, number: usize) -> String {
        format!("{}({number})", self.path)
    }

    fn edit(&mut self, at: usize, skip: usize, pieces: Vec<Piece>) {
        self.edits.push(Edit { at, skip, pieces });
    }

    fn within(&mut self, why: &'static str, visit: impl FnOnce(&mut Self)) {
        let before = self.frozen.replace(why);
        visit(self);
        self.frozen = before;
    }

    /// The original value comes first, so that a change does not determine its type.
    fn choice(&self, unchanged: &str, changed: &[(usize, String)]) -> Vec<Piece> {
        let any: Vec<String> = changed.iter().map(|(number, _)| self.is(*number)).collect();
        let mut pieces = vec![text(format!("if !({}) {{ {unchanged} }} ", any.join(" | ")))];
        for (at, (number, changed_text)) in changed.iter().enumerate() {
            let last = at + 1 == changed.len();
            let when = if last { String::new() } else { format!("if {} ", self.is(*number)) };
            pieces.push(text(format!("else {when}")));
            pieces.push(Piece::Switch(*number, format!("{{ {changed_text} }} ")));
        }
        pieces
    }

    fn function(&mut self, signature: &Signature, block: &Block, visit: impl FnOnce(&mut Self)) {
        let before = self.frozen;
        if signature.constness.is_some() {
            self.frozen = Some(CONST_FN);
        } else {
            self.frozen = None;
        }
        if let Some(first) = block.stmts.first() {
            // The first returned value determines the type that `impl` stands for.
            let written = signature.output.to_token_stream().to_string();
            let opaque = written.split(|c: char| !c.is_alphanumeric()).any(|word| word == "impl");
            let frozen = self.frozen;
            if opaque {
                self.frozen = self.frozen.or(Some("returns impl"));
            }
            let changes = self.take(Genre::FnValue, first.span());
            self.frozen = frozen;
            let pieces = changes.iter().map(|(number, value)| {
                Piece::Switch(*number, format!(" if {} {{ return {value}; }}", self.is(*number)))
            });
            let pieces = pieces.collect();
            self.edit(end(block.brace_token.span.open()), 0, pieces);
        }
        visit(self);
        self.frozen = before;
    }

    fn operator(&mut self, node: &syn::ExprBinary, changes: &[(usize, &str)]) {
        let op = node.op.span();
        let (compares, sign) = (compares(&node.op), node.op.to_token_stream().to_string());
        let (lead, between) = if compares { ("&(", "), &(") } else { ("(", "), (") };
        self.edit(start(node.span()), 0, vec![Piece::Open, text(format!("(match ({lead}"))]);
        self.visit_expr(&node.left);
        self.edit(start(op), op.byte_range().len(), vec![text(between)]);
        self.visit_expr(&node.right);
        let changed: Vec<_> =
            changes.iter().map(|(number, sign)| (*number, format!("l__ {sign} r__"))).collect();
        let mut pieces = vec![text(")) { (l__, r__) => ")];
        pieces.extend(self.choice(&format!("l__ {sign} r__"), &changed));
        pieces.push(text("})"));
        pieces.push(Piece::Close(changes.iter().map(|(number, _)| *number).collect()));
        self.edit(end(node.span()), 0, pieces);
    }

    fn assignment(&mut self, node: &syn::ExprBinary, changes: &[(usize, &str)]) {
        let target = node.left.to_token_stream().to_string();
        let sign = node.op.to_token_stream().to_string();
        // The target may be repeated after the value: nothing is woven into it.
        self.within(TARGET, |this| this.visit_expr(&node.left));
        let skip = start(node.right.span()) - start(node.span());
        self.edit(start(node.span()), skip, vec![Piece::Open, text("(match (")]);
        self.visit_expr(&node.right);
        let changed: Vec<_> = changes
            .iter()
            .map(|(number, sign)| (*number, format!("{target} {sign} r__")))
            .collect();
        let mut pieces = vec![text(") { r__ => ")];
        pieces.extend(self.choice(&format!("{target} {sign} r__"), &changed));
        pieces.push(text("})"));
        pieces.push(Piece::Close(changes.iter().map(|(number, _)| *number).collect()));
        self.edit(end(node.span()), 0, pieces);
    }

    fn lazy(&mut self, node: &syn::ExprBinary, number: usize) {
        let op = node.op.span();
        let same = if matches!(node.op, BinOp::And(_)) { "!=" } else { "==" };
        let between = format!("; if l__ {same} {} {{ ", self.is(number));
        self.edit(start(node.span()), 0, vec![Piece::Open, text("({ let l__: bool = ")]);
        self.visit_expr(&node.left);
        self.edit(start(op), op.byte_range().len(), vec![text(between)]);
        self.visit_expr(&node.right);
        let pieces = vec![text(" } else { l__ } })"), Piece::Close(vec![number])];
        self.edit(end(node.span()), 0, pieces);
    }

    fn guard(&mut self, guard: &Expr) {
        let changes = self.take(Genre::MatchArmGuard, guard.span());
        if changes.is_empty() {
            return self.visit_expr(guard);
        }
        let mut before = String::from("(");
        for (number, value) in &changes {
            let (not, and) = if *value == "true" { ("", "||") } else { ("!", "&&") };
            before.push_str(&format!("{not}{} {and} ", self.is(*number)));
        }
        before.push('(');
        self.edit(start(guard.span()), 0, vec![Piece::Open, text(before)]);
        self.visit_expr(guard);
        let numbers = changes.iter().map(|(number, _)| *number).collect();
        self.edit(end(guard.span()), 0, vec![text("))"), Piece::Close(numbers)]);
    }
}

fn compares(op: &BinOp) -> bool {
    use BinOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_))
}

fn assigns(op: &BinOp) -> bool {
    op.to_token_stream().to_string().ends_with('=') && !compares(op)
}

/// Whether `let` is one of the operands of a chain of `&&`.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(node) if matches!(node.op, BinOp::And(_)) => {
            has_let(&node.left) || has_let(&node.right)
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Weaver<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig, &node.block, |this| visit::visit_item_fn(this, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig, &node.block, |this| visit::visit_impl_item_fn(this, node));
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        match &node.default {
            Some(block) => {
                self.function(&node.sig, block, |this| visit::visit_trait_item_fn(this, node));
            }
            None => visit::visit_trait_item_fn(self, node),
        }
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        let lazy = matches!(node.op, BinOp::And(_) | BinOp::Or(_));
        let before = self.frozen;
        if lazy && has_let(&Expr::Binary(node.clone())) {
            self.frozen = before.or(Some("let chain"));
        }
        let changes = self.take(Genre::BinaryOperator, node.op.span());
        self.frozen = before;
        match &changes[..] {
            [] => visit::visit_expr_binary(self, node),
            [(number, _), ..] if lazy => self.lazy(node, *number),
            _ if assigns(&node.op) => self.assignment(node, &changes),
            _ => self.operator(node, &changes),
        }
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let not = matches!(node.op, UnOp::Not(_));
        let changes = self.take(Genre::UnaryOperator, node.op.span());
        let [(number, _), ..] = changes[..] else { return visit::visit_expr_unary(self, node) };
        let op = node.op.span();
        let pieces = vec![Piece::Open, text("({ let v__ = ")];
        self.edit(start(op), op.byte_range().len(), pieces);
        self.visit_expr(&node.expr);
        let unchanged = if not { "!v__" } else { "-v__" };
        let mut pieces = vec![text("; ")];
        pieces.extend(self.choice(unchanged, &[(number, "v__".to_owned())]));
        pieces.extend([text("})"), Piece::Close(vec![number])]);
        self.edit(end(node.span()), 0, pieces);
    }

    /// A match without an arm may lack a case, which is an error about the match as a whole.
    fn visit_expr_match(&mut self, node: &'ast syn::ExprMatch) {
        let arms = node.arms.iter().map(|arm| (Genre::MatchArm, place(arm.span().start())));
        let found = arms.filter_map(|at| self.wanted.get(&at)).flatten();
        let numbers: Vec<usize> = found.map(|(number, _)| *number).collect();
        self.edit(start(node.span()), 0, vec![Piece::Open]);
        visit::visit_expr_match(self, node);
        self.edit(end(node.span()), 0, vec![Piece::Close(numbers)]);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let removed = self.take(Genre::MatchArm, node.span());
        if let Some((number, _)) = removed.first() {
            let guard = format!(" if !{} ", self.is(*number));
            self.edit(end(node.pat.span()), 0, vec![Piece::Switch(*number, guard)]);
        }
        if let Some((_, guard)) = &node.guard {
            self.guard(guard);
        }
        self.visit_expr(&node.body);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        let mut without = Vec::new();
        for (at, field) in node.fields.iter().enumerate() {
            let changes = self.take(Genre::StructField, field.span());
            without.extend(changes.iter().map(|(number, _)| (*number, at)));
        }
        if without.is_empty() {
            return visit::visit_expr_struct(self, node);
        }
        let mut pieces = vec![Piece::Open, text("(")];
        for (number, at) in &without {
            let mut less = node.clone();
            less.fields = node
                .fields
                .iter()
                .enumerate()
                .filter(|(i, _)| i != at)
                .map(|(_, f)| f)
                .cloned()
                .collect();
            if !less.fields.empty_or_trailing() {
                less.fields.push_punct(syn::token::Comma::default());
            }
            let less = less.to_token_stream();
            let when = format!("if {} {{ {less} }} else ", self.is(*number));
            pieces.push(Piece::Switch(*number, when));
        }
        pieces.push(text("{ "));
        self.edit(start(node.span()), 0, pieces);
        visit::visit_expr_struct(self, node);
        let numbers = without.iter().map(|(number, _)| *number).collect();
        self.edit(end(node.span()), 0, vec![text(" })"), Piece::Close(numbers)]);
    }

    fn visit_expr_closure(&mut self, node: &'ast syn::ExprClosure) {
        let before = self.frozen.take();
        // Calls in a const fn must be const, and an assignment's target is written twice.
        if matches!(before, Some(CONST_FN | TARGET)) {
            self.frozen = before;
        }
        self.visit_expr(&node.body);
        self.frozen = before;
    }

    // Switches cannot be read at compile time.

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        self.within("constant", |this| visit::visit_item_const(this, node));
    }

    fn visit_item_static(&mut self, node: &'ast syn::ItemStatic) {
        self.within("constant", |this| visit::visit_item_static(this, node));
    }

    fn visit_impl_item_const(&mut self, node: &'ast syn::ImplItemConst) {
        self.within("constant", |this| visit::visit_impl_item_const(this, node));
    }

    fn visit_trait_item_const(&mut self, node: &'ast syn::TraitItemConst) {
        self.within("constant", |this| visit::visit_trait_item_const(this, node));
    }

    fn visit_expr_const(&mut self, node: &'ast syn::ExprConst) {
        self.within("constant", |this| visit::visit_expr_const(this, node));
    }

    fn visit_variant(&mut self, node: &'ast syn::Variant) {
        self.within("constant", |this| visit::visit_variant(this, node));
    }

    fn visit_expr_repeat(&mut self, node: &'ast syn::ExprRepeat) {
        self.visit_expr(&node.expr);
        self.within("constant", |this| this.visit_expr(&node.len));
    }

    fn visit_type(&mut self, node: &'ast syn::Type) {
        self.within("constant", |this| visit::visit_type(this, node));
    }

    fn visit_generic_argument(&mut self, node: &'ast syn::GenericArgument) {
        self.within("constant", |this| visit::visit_generic_argument(this, node));
    }

    fn visit_pat(&mut self, node: &'ast syn::Pat) {
        self.within("pattern", |this| visit::visit_pat(this, node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Span as At;

    /// Weaves changes that are given as the text at their place, the genre and the replacement.
    fn woven(source: &str, changes: &[(&str, Genre, &str)]) -> Woven {
        let change = |&(at, genre, replacement): &(&str, Genre, &str)| {
            let before = &source[..source.find(at).expect("it is there")];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let (file, name, replacement) = (String::new(), String::new(), replacement.to_owned());
            let span = At { start: Place { line, column } };
            Change { file, genre, name, replacement, span }
        };
        let changes: Vec<Change> = changes.iter().map(change).collect();
        let numbered: Vec<(usize, &Change)> = (1..).zip(&changes).collect();
        let woven = weave(source, &numbered, "m::is").expect("the source parses");
        syn::parse_file(&woven.text).unwrap_or_else(|error| panic!("{error}: {}", woven.text));
        assert_eq!(woven.text.matches('\n').count(), source.matches('\n').count());
        woven
    }

    /// The numbers of the switches, in the order of the text.
    fn asked(woven: &Woven) -> Vec<usize> {
        let parts = woven.text.split("m::is(").skip(1);
        parts.filter_map(|part| part.split(')').next()?.parse().ok()).collect()
    }

    #[test]
    fn a_function_returns_another_value() {
        let woven = woven("fn f() -> u8 {\n    g()\n}", &[("g()", Genre::FnValue, "1")]);
        assert_eq!(woven.text, "fn f() -> u8 { if m::is(1) { return 1; }\n    g()\n}");
        let (range, number) = &woven.switches[0];
        assert_eq!((&woven.text[range.clone()], *number), (" if m::is(1) { return 1; }", 1));
    }

    #[test]
    fn operators_are_chosen_by_value() {
        let source = "fn f() -> bool { a + 1 < b }";
        let less = ("<", Genre::BinaryOperator, ">");
        let plus = ("+", Genre::BinaryOperator, "-");
        let woven = woven(source, &[less, plus]);
        let sum = "(match ((a ), ( 1)) { (l__, r__) => if !(m::is(2)) { l__ + r__ } \
                   else { l__ - r__ } })";
        let text = format!(
            "fn f() -> bool {{ (match (&({sum} ), &( b)) {{ (l__, r__) => if !(m::is(1)) \
             {{ l__ < r__ }} else {{ l__ > r__ }} }}) }}"
        );
        assert_eq!(woven.text, text);
        assert_eq!(woven.wraps.len(), 2);
    }

    #[test]
    fn several_changes_of_an_operator_each_have_a_switch() {
        let at = "<";
        let of = |sign| (at, Genre::BinaryOperator, sign);
        let woven = woven("fn f() -> bool { a < b }", &[of("=="), of(">"), of("<=")]);
        assert_eq!(asked(&woven), [1, 2, 3, 1, 2]);
        assert_eq!(woven.switches.len(), 3);
    }

    #[test]
    fn lazy_operators_write_their_operands_once() {
        let and = ("&&", Genre::BinaryOperator, "||");
        let or = ("||", Genre::BinaryOperator, "&&");
        let woven = woven("fn f() -> bool { a && b() || c }", &[and, or]);
        assert_eq!(asked(&woven), [1, 2]);
        assert!(woven.text.contains("l__ != m::is(1) {  b() }"), "{}", woven.text);
        assert!(woven.text.contains("l__ == m::is(2) {  c }"), "{}", woven.text);
    }

    #[test]
    fn an_assignment_writes_its_target_after_the_value() {
        let source = "fn f() { a[i] += b; }";
        let woven = woven(source, &[("+=", Genre::BinaryOperator, "-=")]);
        assert!(woven.text.contains("(match (b) { r__ => if !(m::is(1)) { a [i] += r__ } else "));
    }

    #[test]
    fn arms_guards_signs_and_fields_are_switched() {
        let source = "fn f() { match x { A => {}\n B if y => {} _ => S { a: !z, ..d } } }";
        let changes = [
            ("A =>", Genre::MatchArm, ""),
            ("y =>", Genre::MatchArmGuard, "true"),
            ("y =>", Genre::MatchArmGuard, "false"),
            ("!z", Genre::UnaryOperator, ""),
            ("a: !z", Genre::StructField, ""),
        ];
        let woven = woven(source, &changes);
        assert_eq!(asked(&woven), [1, 2, 3, 5, 4]);
        assert!(woven.text.contains("A if !m::is(1)  => {}"), "{}", woven.text);
        assert!(woven.text.contains("if (m::is(2) || !m::is(3) && (y)) =>"), "{}", woven.text);
    }

    #[test]
    fn what_cannot_be_woven_is_reported() {
        let source = "const A: u8 = 1 + 2;\nconst fn f() -> u8 { 3 * 4 }\n\
                      fn g() { if let B = c && d {} }\nfn h() -> impl I { j() }";
        let changes = [
            ("+", Genre::BinaryOperator, "-"),
            ("*", Genre::BinaryOperator, "/"),
            ("&&", Genre::BinaryOperator, "||"),
            ("j()", Genre::FnValue, "k()"),
            ("c &&", Genre::UnaryOperator, ""),
        ];
        let woven = woven(source, &changes);
        assert_eq!(woven.text, source);
        let why: Vec<&str> = woven.left_out.iter().map(|(_, why)| *why).collect();
        assert_eq!(why, ["constant", "const fn", "let chain", "returns impl", "not found"]);
    }
}
