//! What can be wrong with an expression.

use datafusion_common::{DataFusionError, SchemaError};
use datafusion_sql::sqlparser::parser::ParserError;
use datafusion_sql::sqlparser::tokenizer::TokenizerError;

/// A result whose error is an [`ExprError`].
pub type Result<T> = std::result::Result<T, ExprError>;

/// A mistake in an expression, or a failure to evaluate it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExprError {
    /// The text is not an expression.
    #[error("syntax error: {message}")]
    Syntax {
        /// What was expected, what was found, and where.
        message: String,
    },
    /// A column, or a field of a struct, that does not exist or whose name is ambiguous.
    #[error("no column named '{name}'{}", offer_columns(suggestions, available))]
    UnknownColumn {
        /// The name asked for; a field of a struct with the names above it, joined by dots.
        name: String,
        /// Names that exist and are near, best first.
        suggestions: Vec<String>,
        /// All names that exist in that place.
        available: Vec<String>,
    },
    /// A function that does not exist.
    #[error("no function named '{name}'{}", offer(suggestions))]
    UnknownFunction {
        /// The name asked for.
        name: String,
        /// Names that exist and are near, best first.
        suggestions: Vec<String>,
    },
    /// Types that do not go together.
    #[error("type error: {message}")]
    Type {
        /// Which operands, with their types.
        message: String,
    },
    /// Valid SQL that an expression over single rows cannot hold.
    #[error("not supported in an expression: {what}")]
    Unsupported {
        /// The construct.
        what: String,
    },
    /// A value made the evaluation fail.
    #[error("evaluation failed: {message}")]
    Evaluation {
        /// What happened.
        message: String,
    },
}

impl ExprError {
    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::Syntax {
            message: message.into(),
        }
    }

    pub(crate) fn types(message: impl Into<String>) -> Self {
        Self::Type {
            message: message.into(),
        }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    pub(crate) fn evaluation(message: impl Into<String>) -> Self {
        Self::Evaluation {
            message: message.into(),
        }
    }

    /// An error of the planner.
    pub(crate) fn planning(error: DataFusionError) -> Self {
        match error {
            DataFusionError::SQL(error, _) => (*error).into(),
            DataFusionError::NotImplemented(what) if what.contains("ast node") => {
                Self::unsupported("this kind of expression")
            }
            DataFusionError::NotImplemented(what) => Self::unsupported(tidy(&what)),
            DataFusionError::SchemaError(error, _) => schema(&error),
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                Self::planning(*inner)
            }
            DataFusionError::ArrowError(error, _) => match *error {
                arrow_schema::ArrowError::CastError(message)
                | arrow_schema::ArrowError::ParseError(message) => Self::types(tidy(&message)),
                other => Self::evaluation(tidy(&other.to_string())),
            },
            other => Self::types(tidy(&other.message())),
        }
    }

    /// An error of the evaluation.
    pub(crate) fn evaluating(error: &DataFusionError) -> Self {
        Self::evaluation(tidy(&error.find_root().message()))
    }
}

impl From<ParserError> for ExprError {
    fn from(error: ParserError) -> Self {
        match error {
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
                Self::syntax(message)
            }
            ParserError::RecursionLimitExceeded => Self::syntax("too deeply nested"),
        }
    }
}

impl From<TokenizerError> for ExprError {
    fn from(error: TokenizerError) -> Self {
        Self::syntax(error.to_string())
    }
}

fn schema(error: &SchemaError) -> ExprError {
    match error {
        SchemaError::FieldNotFound { field, .. } | SchemaError::AmbiguousReference { field } => {
            ExprError::UnknownColumn {
                name: field.name.clone(),
                suggestions: Vec::new(),
                available: Vec::new(),
            }
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            ExprError::types(format!("two columns are named '{name}'"))
        }
    }
}

fn offer(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        [one] => format!("; did you mean '{one}'?"),
        many => format!("; did you mean one of '{}'?", many.join("', '")),
    }
}

/// The near names or, if there are none, those that exist.
fn offer_columns(suggestions: &[String], available: &[String]) -> String {
    const LISTED: usize = 20;
    if !suggestions.is_empty() || available.is_empty() {
        return offer(suggestions);
    }
    let listed = available.len().min(LISTED);
    let more = match available.len() - listed {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "; the columns are: {}{more}",
        available[..listed].join(", ")
    )
}

/// The part of a library's message that says what is wrong, without its prefixes and appendices.
fn tidy(message: &str) -> String {
    const PREFIXES: [&str; 5] = [
        "Error during planning: ",
        "Execution error: ",
        "Arrow error: ",
        "Cast error: ",
        "Internal error: ",
    ];
    const APPENDICES: [&str; 4] = [
        "\n\nbacktrace: ",
        " No function matches",
        "\nThis issue was likely",
        "\n\tCandidate",
    ];
    let mut text = message;
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    for appendix in APPENDICES {
        text = text.split(appendix).next().unwrap_or(text);
    }
    text.trim_end_matches(['.', ' ', '\n']).to_owned()
}
