//! From text to a syntax tree of bounded depth.

use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::dialect::ExprDialect;
use crate::{ExprError, Result};

/// The longest text that is parsed.
const MAX_BYTES: usize = 4 << 20;

/// How deeply parentheses, functions and prefixes may nest.
const MAX_NESTING: usize = 50;

/// How many operators other than AND and OR may follow each other, those around the parentheses
/// included: `a + b + c` is a tree as deep as it has operators.
const MAX_CHAIN: usize = 256;

/// Parses one expression that fills the whole text.
pub(crate) fn parse(sql: &str) -> Result<Expr> {
    if sql.len() > MAX_BYTES {
        return Err(ExprError::syntax(format!(
            "the text has {} bytes, more than the {MAX_BYTES} that are allowed",
            sql.len()
        )));
    }
    let tokens = Tokenizer::new(&ExprDialect, sql).tokenize_with_location()?;
    check_chains(&tokens)?;
    let mut parser = Parser::new(&ExprDialect)
        .with_recursion_limit(MAX_NESTING)
        .with_tokens_with_locations(tokens);
    let expr = parser.parse_expr()?;
    let next = parser.next_token();
    match next.token {
        Token::EOF => Ok(expr),
        token => Err(ExprError::syntax(format!(
            "Expected: end of the expression, found: {token}{}",
            next.span.start
        ))),
    }
}

/// One open parenthesis, bracket or CASE.
#[derive(Debug, Default)]
struct Level {
    is_case: bool,
    /// BETWEENs whose AND is still to come.
    betweens: usize,
    chain: usize,
    longest: usize,
}

/// Refuses chains of operators that would make too deep a tree.
///
/// The count errs on the safe side: every token that is not plainly an operand counts.
fn check_chains(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut levels = vec![Level::default()];
    let mut outer = 0usize;
    let mut after_period = false;
    for token in tokens {
        let Some(level) = levels.last_mut() else {
            break;
        };
        match (&token.token, keyword(&token.token, after_period)) {
            (Token::RParen | Token::RBracket, _) => while close(&mut levels, &mut outer) {},
            (_, Keyword::END) if level.is_case => {
                close(&mut levels, &mut outer);
            }
            (_, Keyword::AND) if level.betweens > 0 => level.betweens -= 1,
            (Token::Comma, _)
            | (_, Keyword::AND | Keyword::OR | Keyword::WHEN | Keyword::THEN | Keyword::ELSE) => {
                level.chain = 0;
            }
            (Token::Whitespace(_) | Token::Period | Token::Number(..), _) => {}
            (Token::Word(_), Keyword::NoKeyword) => {}
            (operator, keyword) => {
                level.betweens += usize::from(keyword == Keyword::BETWEEN);
                level.chain += 1;
                level.longest = level.longest.max(level.chain);
                if outer + level.chain > MAX_CHAIN {
                    return Err(ExprError::syntax(format!(
                        "more than {MAX_CHAIN} operators in a row{}",
                        token.span.start
                    )));
                }
                let is_case = keyword == Keyword::CASE;
                if is_case || matches!(operator, Token::LParen | Token::LBracket) {
                    outer += level.chain;
                    levels.push(Level {
                        is_case,
                        ..Level::default()
                    });
                }
            }
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            after_period = token.token == Token::Period;
        }
    }
    Ok(())
}

/// Closes the innermost level. Returns whether that was a CASE, whose longest chain then counts
/// for the level around it.
fn close(levels: &mut Vec<Level>, outer: &mut usize) -> bool {
    if levels.len() < 2 {
        return false;
    }
    let Some(closed) = levels.pop() else {
        return false;
    };
    if let Some(level) = levels.last_mut() {
        *outer -= level.chain.min(*outer);
        if closed.is_case {
            level.chain += closed.longest;
            level.longest = level.longest.max(level.chain);
        }
    }
    closed.is_case
}

fn keyword(token: &Token, after_period: bool) -> Keyword {
    match token {
        Token::Word(word) if !after_period => word.keyword,
        _ => Keyword::NoKeyword,
    }
}
