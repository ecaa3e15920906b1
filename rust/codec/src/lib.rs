//! Kernels between bytes and values: bit-packing, FSST, run lengths, byte-stream-split, general compression
