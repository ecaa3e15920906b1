//! Choosing symbols for some strings.
//!
//! Starting from no symbols, a few rounds compress a sample with the symbols at hand and count which
//! of them appear, and which appear next to each other. The next table keeps what saved most,
//! where joining two neighbours into one symbol is a candidate like the symbols themselves. So
//! symbols double in length from round to round, and those that turn out not to be used any more, for
//! instance because longer ones took their place, drop out.

use super::compress::{Match, Matcher, Slots, load};
use super::table::{Symbol, SymbolTable};
use super::{ESCAPE, MAX_SYMBOL_BYTES, MAX_SYMBOLS};

/// How much text is looked at.
const SAMPLE_BYTES: usize = 64 * 1024;

/// How much of one string is looked at before moving on to another.
const PIECE_BYTES: usize = 512;

/// The share of the sample that each round looks at, of 128. Early rounds only need to find out
/// roughly which symbols could be worth it.
const ROUNDS: [usize; 5] = [8, 38, 68, 98, 128];

/// In the full sample a symbol must appear at least this often.
const MIN_COUNT: usize = 5;

/// How much more a single byte counts before the last round. Single bytes seem to save nothing, but
/// without a symbol they cost two.
const SINGLE_BYTE_BONUS: usize = 8;

/// Ids of what can be counted: the codes of symbols, then the 256 bytes.
const IDS: usize = 512;

impl SymbolTable {
    /// A table made for strings like `samples`, of which about 64 KiB are looked at. The same strings
    /// give the same table; strings that have no frequent parts, such as none, give
    /// [`verbatim`](Self::verbatim).
    pub fn train(samples: &[&[u8]]) -> Self {
        let pieces = sample(samples);
        let mut symbols = Vec::new();
        for share in ROUNDS {
            let counts = Counts::of(&symbols, part(&pieces, share));
            symbols = choose(&symbols, &counts, share);
        }
        if symbols.is_empty() {
            Self::verbatim()
        } else {
            Self::from_symbols(symbols)
        }
    }
}

/// Pieces of strings, about 64 KiB in total, in no particular order.
fn sample<'a>(samples: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let mut random = Random(0x5EED);
    let mut pieces: Vec<&[u8]> = if is_small(samples) {
        samples
            .iter()
            .flat_map(|value| value.chunks(PIECE_BYTES))
            .collect()
    } else {
        draw(samples, &mut random)
    };
    for last in (1..pieces.len()).rev() {
        pieces.swap(last, random.below(last + 1));
    }
    pieces
}

fn is_small(samples: &[&[u8]]) -> bool {
    let mut left = SAMPLE_BYTES;
    samples.iter().all(|value| {
        let fits = value.len() <= left;
        left = left.saturating_sub(value.len());
        fits
    })
}

/// Draws pieces of random strings until they are enough, or nearly all strings seem to be empty.
fn draw<'a>(samples: &[&'a [u8]], random: &mut Random) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut bytes = 0;
    for _ in 0..SAMPLE_BYTES {
        let value = samples[random.below(samples.len())];
        let Some(piece) = value
            .chunks(PIECE_BYTES)
            .nth(random.below(value.len()) / PIECE_BYTES)
        else {
            continue;
        };
        pieces.push(piece);
        bytes += piece.len();
        if bytes >= SAMPLE_BYTES {
            break;
        }
    }
    pieces
}

/// The first pieces, `share` of 128 of all bytes.
fn part<'a, 'b>(pieces: &'b [&'a [u8]], share: usize) -> &'b [&'a [u8]] {
    let total: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut bytes = 0;
    let enough = pieces.iter().position(|piece| {
        bytes += piece.len();
        bytes * 128 >= total * share
    });
    &pieces[..enough.map_or(pieces.len(), |last| last + 1)]
}

/// How often ids appear in compressed text, and how often two follow each other.
struct Counts {
    single: [usize; IDS],
    /// By the first id, then the second.
    pairs: Vec<u16>,
    /// The pairs that appear, as positions in `pairs`.
    seen: Vec<usize>,
}

impl Counts {
    fn of(symbols: &[Symbol], pieces: &[&[u8]]) -> Self {
        let matcher = Matcher::new(symbols);
        let mut counts = Self {
            single: [0; IDS],
            pairs: vec![0; IDS * IDS],
            seen: Vec::new(),
        };
        for piece in pieces {
            counts.add(&matcher, piece);
        }
        counts
    }

    fn add(&mut self, matcher: &Matcher, piece: &[u8]) {
        let mut previous = None;
        let mut rest = piece;
        while let Some(&first) = rest.first() {
            let Match { code, length } = if rest.len() < MAX_SYMBOL_BYTES {
                matcher.find_at_end(rest)
            } else {
                matcher.find(load(rest))
            };
            let byte = 256 + usize::from(first);
            let id = if code == ESCAPE {
                byte
            } else {
                usize::from(code)
            };
            self.single[id] += 1;
            self.follow(previous, id);
            if code != ESCAPE && length > 1 {
                // The symbol could also have begun with this byte alone.
                self.single[byte] += 1;
                self.follow(previous, byte);
            }
            previous = Some(id);
            rest = &rest[usize::from(length)..];
        }
    }

    fn follow(&mut self, previous: Option<usize>, id: usize) {
        let Some(previous) = previous else { return };
        let pair = previous * IDS + id;
        if self.pairs[pair] == 0 {
            self.seen.push(pair);
        }
        self.pairs[pair] = self.pairs[pair].saturating_add(1);
    }
}

/// A symbol and how many bytes it would have covered.
type Candidate = (Symbol, usize);

/// The best symbols for the text that was counted.
fn choose(symbols: &[Symbol], counts: &Counts, share: usize) -> Vec<Symbol> {
    let is_last = share == 128;
    let symbol_of = |id: usize| match u8::try_from(id.wrapping_sub(256)) {
        Ok(byte) => Some(Symbol::of_byte(byte)),
        Err(_) => symbols.get(id).copied(),
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut offer = |symbol: Symbol, count: usize| {
        if count * 128 >= MIN_COUNT * share {
            let bonus = if symbol.length == 1 && !is_last {
                SINGLE_BYTE_BONUS
            } else {
                1
            };
            candidates.push((symbol, count * usize::from(symbol.length) * bonus));
        }
    };
    for (id, &count) in counts.single.iter().enumerate() {
        if let Some(symbol) = symbol_of(id) {
            offer(symbol, count);
        }
    }
    // What the last round joined would never have been tried.
    for &pair in counts.seen.iter().filter(|_| !is_last) {
        let joined = symbol_of(pair / IDS).zip(symbol_of(pair % IDS));
        if let Some(symbol) = joined.and_then(|(first, second)| first.joined(second)) {
            offer(symbol, counts.pairs[pair].into());
        }
    }
    select(candidates)
}

/// The candidates that cover most, without those whose slot is taken.
fn select(mut candidates: Vec<Candidate>) -> Vec<Symbol> {
    candidates.sort_unstable_by_key(|(symbol, _)| *symbol);
    // The same text can come about in several ways.
    candidates.dedup_by(|(symbol, gain), (kept, total)| {
        let same = symbol == kept;
        *total += if same { *gain } else { 0 };
        same
    });
    candidates.sort_unstable_by_key(|&(symbol, gain)| std::cmp::Reverse((gain, symbol)));
    let mut chosen = Vec::with_capacity(MAX_SYMBOLS);
    let mut slots = Slots::new();
    for (symbol, _) in candidates {
        if chosen.len() == MAX_SYMBOLS {
            break;
        }
        if slots.take(symbol) {
            chosen.push(symbol);
        }
    }
    chosen
}

/// A xorshift generator: enough to look at different places, and the same ones every time.
struct Random(u64);

impl Random {
    /// A number below `bound`; 0 if there is none.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % (bound.max(1) as u64)).unwrap_or(0)
    }
}
