//! Zstandard frames, usually behind a 64-bit length.

use std::cell::RefCell;

use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, compress_bound,
    get_error_name,
};

use super::{check_decompressed, check_limit};
use crate::bitpack::Lane;
use crate::error::{CodecError, Result, check_length};

const WHAT: &str = "Zstandard frame";

/// What a frame starts with. As a length it would be above four billion, and that very one.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Output that is reserved without looking at the input.
const SMALL_OUTPUT: usize = 1 << 20;

/// Output that is reserved for each byte of the input; most data shrinks less than this.
const USUAL_EXPANSION: usize = 64;

/// Windows of this many bits (8 MiB) every decoder is expected to offer.
const USUAL_WINDOW: u32 = 23;

/// The largest window that is offered, 128 MiB, which is the library's own bound.
const LARGEST_WINDOW: u32 = 27;

thread_local! {
    // Contexts are large, and making one costs more than compressing a chunk.
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn failed(code: usize) -> CodecError {
    CodecError::invalid(WHAT, get_error_name(code))
}

pub(super) fn compress(level: Option<i32>, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
    out.extend_from_slice(&(input.len() as u64).to_le_bytes());
    let start = out.len();
    out.resize(start + compress_bound(input.len()), 0);
    let written = COMPRESSOR.with_borrow_mut(|context| {
        context.set_parameter(CParameter::CompressionLevel(level))?;
        context.compress2(&mut out[start..], input)
    });
    out.truncate(start + written.map_err(failed)?);
    Ok(())
}

pub(super) fn decompress(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<()> {
    if input.starts_with(&MAGIC) {
        return decompress_frames(input, limit, out);
    }
    check_length(WHAT, 8, input.len())?;
    let (length, frames) = input.split_at(8);
    let length = check_limit(WHAT, u64::read(length), limit)?;
    let start = out.len();
    decompress_frames(frames, length, out)?;
    check_decompressed(WHAT, length, out.len() - start)
}

/// Appends the contents of all frames in `input`, at most `limit` bytes.
fn decompress_frames(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<()> {
    DECOMPRESSOR.with_borrow_mut(|context| {
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        context
            .set_parameter(DParameter::WindowLogMax(window(limit)))
            .map_err(failed)?;
        stream(context, input, limit, out)
    })
}

/// The bits of the largest window that contents of `limit` bytes may ask for.
fn window(limit: usize) -> u32 {
    limit
        .checked_next_power_of_two()
        .map_or(LARGEST_WINDOW, usize::ilog2)
        .clamp(USUAL_WINDOW, LARGEST_WINDOW)
}

/// Decompresses with as much room as is likely to suffice, and takes more as it fills up.
fn stream(
    context: &mut DCtx<'static>,
    input: &[u8],
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let likely = input
        .len()
        .saturating_mul(USUAL_EXPANSION)
        .max(SMALL_OUTPUT);
    // One byte more than allowed, so that contents above the limit are noticed.
    let most = limit.saturating_add(1);
    out.reserve(likely.min(most));
    let mut input = InBuffer::around(input);
    loop {
        let at = out.len();
        let mut output = OutBuffer::around_pos(out, at);
        let hint = context
            .decompress_stream(&mut output, &mut input)
            .map_err(failed)?;
        let length = out.len() - start;
        if length > limit {
            let size = length as u64;
            return Err(CodecError::TooLarge {
                what: WHAT,
                size,
                limit: limit as u64,
            });
        }
        let all_read = input.pos() == input.src.len();
        if hint == 0 && all_read {
            return Ok(());
        }
        if out.len() == out.capacity() {
            out.reserve(length.max(SMALL_OUTPUT).min(most - length));
        } else if all_read {
            return Err(CodecError::invalid(WHAT, "it is cut short"));
        }
    }
}
