//! How the text of an expression is split and how its operators bind.

use std::any::TypeId;

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr};
use datafusion_sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

/// Generic SQL in which only backticks quote a name.
#[derive(Debug)]
pub(crate) struct ExprDialect;

impl Dialect for ExprDialect {
    /// The parser's rules for the generic dialect hold.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`'
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_'
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }

    /// Makes a balanced tree of a chain of ANDs or of ORs, so that the depth of the tree, and
    /// with it the stack that later steps need, does not grow with the chain's length.
    fn parse_infix(
        &self,
        parser: &mut Parser,
        first: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let (keyword, operator, precedence) = if parser.peek_keyword(Keyword::AND) {
            (Keyword::AND, BinaryOperator::And, Precedence::And)
        } else if parser.peek_keyword(Keyword::OR) {
            (Keyword::OR, BinaryOperator::Or, Precedence::Or)
        } else {
            return None;
        };
        let precedence = self.prec_value(precedence);
        let mut terms = vec![first.clone()];
        while parser.parse_keyword(keyword) {
            match parser.parse_subexpr(precedence) {
                Ok(term) => terms.push(term),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(balance(terms, &operator)))
    }
}

/// Joins the terms in order. The first one stands if there is no other.
fn balance(mut terms: Vec<Expr>, operator: &BinaryOperator) -> Expr {
    while terms.len() > 1 {
        let mut halved = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            halved.push(match rest.next() {
                Some(right) => Expr::BinaryOp {
                    left: Box::new(left),
                    op: operator.clone(),
                    right: Box::new(right),
                },
                None => left,
            });
        }
        terms = halved;
    }
    terms.pop().unwrap_or(Expr::Tuple(Vec::new()))
}
