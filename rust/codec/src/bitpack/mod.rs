//! Bit-packing of unsigned integers in blocks of 1,024 values.
//!
//! The values of a block are arranged so that the values which share a register are neighbours, for
//! every register width and with no instruction that is special to one kind of CPU (the FastLanes
//! layout). Three values or a thousand: a block always takes `128 * width` bytes.
//!
//! ```text
//! inline        [width: one value] [block]                     at most 1,024 values
//! out of line   [block] [block] ... [tail: block or values]    the width is kept elsewhere
//! ```
//!
//! Bytes may have any alignment.

mod lane;
mod rows;
mod simd;
#[cfg(test)]
mod tests;

pub use lane::Lane;

use crate::error::{CodecError, Result, check_length};

/// Values in a block.
pub const BLOCK: usize = 1024;

const WHAT: &str = "bit-packed block";

/// The bits that the widest of `values` takes; 0 when all of them are zero.
pub fn width_of<T: Lane>(values: &[T]) -> u32 {
    let union = values.iter().fold(T::ZERO, |union, &value| union | value);
    u64::BITS - union.into().leading_zeros()
}

/// Bytes of one packed block.
const fn block_bytes(width: u32) -> usize {
    width as usize * rows::ROW_BYTES
}

/// Appends the `128 * width` bytes of a block.
///
/// Bits above the width are dropped, and widths above the lane's bits count as all of them:
/// [`width_of`] tells which width keeps everything.
pub fn pack_block<T: Lane>(width: u32, values: &[T; BLOCK], out: &mut Vec<u8>) {
    let width = width.min(T::BITS);
    let start = out.len();
    out.resize(start + block_bytes(width), 0);
    T::pack(width, values, &mut out[start..]);
}

/// Unpacks a block of `128 * width` bytes into 1,024 values.
///
/// # Errors
///
/// If the width exceeds the lane's bits, or either slice has another length.
pub fn unpack_block<T: Lane>(width: u32, packed: &[u8], out: &mut [T]) -> Result<()> {
    let width = checked_width::<T>(width.into())?;
    check_length(WHAT, block_bytes(width), packed.len())?;
    match <&mut [T; BLOCK]>::try_from(out) {
        Ok(out) if packed.len() == block_bytes(width) => {
            T::unpack(width, packed, out);
            Ok(())
        }
        _ => Err(CodecError::invalid(
            WHAT,
            "a block is 1,024 values of the given width",
        )),
    }
}

fn checked_width<T: Lane>(width: u64) -> Result<u32> {
    match u32::try_from(width) {
        Ok(width) if width <= T::BITS => Ok(width),
        _ => {
            let detail = format!("{width} bits do not fit into values of {}", T::BITS);
            Err(CodecError::invalid(WHAT, detail))
        }
    }
}

/// Appends up to 1,024 values as a block with the width in front. Values after those are ignored.
pub fn encode_inline<T: Lane>(values: &[T], out: &mut Vec<u8>) {
    let values = &values[..values.len().min(BLOCK)];
    let width = width_of(values);
    let start = out.len();
    out.resize(start + T::BYTES, 0);
    // A width is at most 64, so it fits into the first byte of any lane.
    out[start] = width.to_le_bytes()[0];
    pack_padded(width, values, out);
}

/// Fills `out`, at most 1,024 values, from a block with the width in front.
///
/// # Errors
///
/// If the width exceeds the lane's bits, the block is cut short, or `out` is longer than a block.
pub fn decode_inline<T: Lane>(bytes: &[u8], out: &mut [T]) -> Result<()> {
    check_length("header of a bit-packed block", T::BYTES, bytes.len())?;
    let (header, block) = bytes.split_at(T::BYTES);
    let width = checked_width::<T>(T::read(header).into())?;
    check_length(WHAT, block_bytes(width), block.len())?;
    if out.len() > BLOCK {
        let detail = format!("{} values were asked of one block", out.len());
        return Err(CodecError::invalid(WHAT, detail));
    }
    unpack_prefix(width, &block[..block_bytes(width)], out);
    Ok(())
}

/// Appends a block of which only the first values are given; the others are zero.
fn pack_padded<T: Lane>(width: u32, values: &[T], out: &mut Vec<u8>) {
    if let Some(block) = values.first_chunk::<BLOCK>() {
        pack_block(width, block, out);
    } else {
        let mut block = [T::ZERO; BLOCK];
        block[..values.len()].copy_from_slice(values);
        pack_block(width, &block, out);
    }
}

/// Unpacks the first values of a block whose lengths were checked.
fn unpack_prefix<T: Lane>(width: u32, packed: &[u8], out: &mut [T]) {
    if let Some(block) = out.first_chunk_mut::<BLOCK>() {
        T::unpack(width, packed, block);
    } else {
        let mut block = [T::ZERO; BLOCK];
        T::unpack(width, packed, &mut block);
        out.copy_from_slice(&block[..out.len()]);
    }
}

/// Whether the last `tail` values, fewer than a block, are packed as a block rather than stored as
/// they are: it must save more for the values there are than it costs for those there are not.
fn packs_tail<T: Lane>(width: u32, tail: usize) -> bool {
    let (width, bits) = (width as usize, T::BITS as usize);
    width * (BLOCK - tail) < (bits - width) * tail
}

/// Bytes that [`encode_out_of_line`] makes of `n` values; saturates where memory ends anyway.
pub fn out_of_line_size<T: Lane>(width: u32, n: usize) -> usize {
    let width = width.min(T::BITS);
    let tail = n % BLOCK;
    let tail_bytes = match tail {
        _ if width == 0 => 0,
        _ if packs_tail::<T>(width, tail) => block_bytes(width),
        _ => tail * T::BYTES,
    };
    (n / BLOCK)
        .saturating_mul(block_bytes(width))
        .saturating_add(tail_bytes)
}

/// Appends packed blocks, then what is left over: packed too if that is smaller, else as it is.
///
/// Bits above the width are dropped from packed values, and widths above the lane's bits count as
/// all of them. A width of 0 stores nothing.
pub fn encode_out_of_line<T: Lane>(width: u32, values: &[T], out: &mut Vec<u8>) {
    let width = width.min(T::BITS);
    if width == 0 {
        return;
    }
    out.reserve(out_of_line_size::<T>(width, values.len()));
    let (blocks, tail) = values.as_chunks::<BLOCK>();
    for block in blocks {
        pack_block(width, block, out);
    }
    if packs_tail::<T>(width, tail.len()) {
        pack_padded(width, tail, out);
    } else {
        let start = out.len();
        out.resize(start + tail.len() * T::BYTES, 0);
        for (bytes, &value) in out[start..].chunks_exact_mut(T::BYTES).zip(tail) {
            value.write(bytes);
        }
    }
}

/// Fills `out` from packed blocks and a tail, whose form follows from the length of `bytes`.
///
/// # Errors
///
/// If the width exceeds the lane's bits, or the length of `bytes` is none that so many values take.
pub fn decode_out_of_line<T: Lane>(width: u32, bytes: &[u8], out: &mut [T]) -> Result<()> {
    let width = checked_width::<T>(width.into())?;
    let (blocks, tail) = out.as_chunks_mut::<BLOCK>();
    let packed = blocks.len().saturating_mul(block_bytes(width));
    check_length("bit-packed blocks", packed, bytes.len())?;
    let (packed, rest) = bytes.split_at(packed);
    if rest.len() == tail.len() * T::BYTES && width != 0 {
        for (bytes, value) in rest.chunks_exact(T::BYTES).zip(tail) {
            *value = T::read(bytes);
        }
    } else if rest.len() == block_bytes(width) && (width == 0 || !tail.is_empty()) {
        unpack_prefix(width, rest, tail);
    } else {
        let detail = format!(
            "{} bytes after the last full block cannot be {}",
            rest.len(),
            tail.len()
        );
        return Err(CodecError::invalid("bit-packed tail", detail + " values"));
    }
    for (index, block) in blocks.iter_mut().enumerate() {
        T::unpack(
            width,
            &packed[index * block_bytes(width)..][..block_bytes(width)],
            block,
        );
    }
    Ok(())
}
