#![expect(
    unsafe_code,
    reason = "stores whole words into memory that was not initialised first"
)]
//! The end of a growing vector, where symbols are stored eight bytes at a time.

/// Codes that are handled at once.
pub(super) const STEP: usize = 4;

/// Room that a step may need: each store but the last may end where the next begins.
const STEP_BYTES: usize = STEP * 8;

/// Appends to a vector, which keeps its old length until [`finish`](Self::finish) is called.
///
/// Invariant: the bytes of the vector's memory before `length` are initialised, `base` and `capacity`
/// describe that memory, and `length` is at most `capacity`.
pub(super) struct Cursor<'a> {
    out: &'a mut Vec<u8>,
    base: *mut u8,
    capacity: usize,
    length: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, expected: usize) -> Self {
        out.reserve(expected.saturating_add(STEP_BYTES));
        let (base, capacity, length) = (out.as_mut_ptr(), out.capacity(), out.len());
        Self {
            out,
            base,
            capacity,
            length,
        }
    }

    /// How long the vector would be if it was finished now.
    #[inline(always)]
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Stores four texts of 0 to 8 bytes after each other. Each is as many of the lowest bytes of
    /// its word as its length says; lengths above 8 count as 8.
    #[inline(always)]
    pub(super) fn push(&mut self, texts: [u64; STEP], lengths: [u8; STEP]) {
        if self.capacity - self.length < STEP_BYTES {
            self.grow();
        }
        for (text, length) in texts.into_iter().zip(lengths) {
            // SAFETY: at least STEP_BYTES were left, and the at most STEP - 1 earlier rounds moved
            // on by at most 8 bytes each, so the 8 bytes from `length` on are in the vector's memory.
            unsafe {
                self.base
                    .add(self.length)
                    .cast::<[u8; 8]>()
                    .write(text.to_le_bytes())
            };
            // The bytes that are now before `length` were just written.
            self.length += usize::from(length.min(8));
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // SAFETY: `length` is at most the capacity, and the bytes before it are initialised.
        unsafe { self.out.set_len(self.length) };
        self.out.reserve(STEP_BYTES);
        (self.base, self.capacity) = (self.out.as_mut_ptr(), self.out.capacity());
    }

    /// Makes everything that was stored part of the vector.
    pub(super) fn finish(self) {
        // SAFETY: `length` is at most the capacity, and the bytes before it are initialised.
        unsafe { self.out.set_len(self.length) };
    }
}
