//! What can go wrong between bytes and values.

/// A result whose error is a [`CodecError`].
pub type Result<T> = std::result::Result<T, CodecError>;

/// Bytes that do not decode, or values that do not fit.
///
/// `what` names the thing that was being read or written, for instance `"bit-packed block"`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The input ends too early.
    #[error("{what} needs {need} bytes, but there are {have}")]
    Truncated {
        /// The thing that was being read.
        what: &'static str,
        /// How many bytes it takes at least.
        need: usize,
        /// How many bytes there are.
        have: usize,
    },
    /// The input contradicts the format, or an argument contradicts the input.
    #[error("{what}: {detail}")]
    Invalid {
        /// The thing that was being read or written.
        what: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// The output would be larger than the caller allows or the format can express.
    #[error("{what} would be {size} bytes long, and at most {limit} are possible here")]
    TooLarge {
        /// The thing that was being read or written.
        what: &'static str,
        /// Its length in bytes.
        size: u64,
        /// The most that is possible, in bytes.
        limit: u64,
    },
}

impl CodecError {
    /// An [`Invalid`](Self::Invalid) with these parts.
    pub(crate) fn invalid(what: &'static str, detail: impl Into<String>) -> Self {
        Self::Invalid {
            what,
            detail: detail.into(),
        }
    }
}

/// Checks that `have` bytes are enough for `what`.
pub(crate) fn check_length(what: &'static str, need: usize, have: usize) -> Result<()> {
    if have < need {
        return Err(CodecError::Truncated { what, need, have });
    }
    Ok(())
}
