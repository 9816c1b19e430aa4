//! Prefix codes of VP8L, and the bit reader for them.

/// The order in which the lengths of the code length code are stored.
const CODE_LENGTH_ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The prefix code of one alphabet.
pub(super) enum PrefixCode {
    /// A single symbol of zero bits.
    Single(u16),
    /// Two symbols of one bit.
    Pair([u16; 2]),
    /// The code length of each symbol, 0 if unused, and the number of symbols of each length.
    General(Vec<u8>, [u64; 16]),
}

impl PrefixCode {
    /// None unless the code is complete: every bit sequence decodes to exactly one symbol.
    fn new(lengths: Vec<u8>) -> Option<Self> {
        let mut counts = [0; 16];
        for length in lengths.iter().filter(|length| **length > 0) {
            *counts.get_mut(usize::from(*length))? += 1;
        }
        if counts.iter().sum::<u64>() == 1 {
            let (symbol, _) = (0..).zip(&lengths).find(|(_, length)| **length > 0)?;
            return Some(Self::Single(symbol));
        }
        let code_space = (0..).zip(counts).map(|(length, count)| count << (15 - length));
        (code_space.sum::<u64>() == 1 << 15).then_some(Self::General(lengths, counts))
    }

    /// The memory of image-webp for this code: a lookup table of 4 bytes per prefix of up to 10 bits, and a
    /// tree with two nodes of 16 bytes for each symbol of a longer code.
    pub(super) fn decoder_bytes(&self) -> u64 {
        match self {
            Self::Single(_) => 0,
            Self::Pair(_) => 2 * 4 + 3 * 16,
            Self::General(_, counts) => {
                let longest =
                    counts.iter().rposition(|count| *count > 0).map_or(0, |longest| longest.min(10));
                (4 << longest) + 2 * 16 * counts.iter().skip(11).sum::<u64>()
            }
        }
    }
}

/// The lookup table: symbol and code length for each bit sequence.
pub(super) struct LookupTable(Vec<(u16, u8)>);

impl LookupTable {
    pub(super) fn new(code: PrefixCode) -> Self {
        let lengths = match code {
            PrefixCode::Single(symbol) => return Self(vec![(symbol, 0)]),
            PrefixCode::Pair(symbols) => return Self(symbols.map(|symbol| (symbol, 1)).to_vec()),
            PrefixCode::General(lengths, _) => lengths,
        };
        let longest = lengths.iter().max().map_or(0, |longest| *longest);
        let mut entries = vec![(0, 0); 1 << longest];
        // Canonical order: by length, then by symbol. The stream has the most significant bit of a code
        // first.
        let mut code = 0_u32;
        for length in 1..=longest {
            for (symbol, _) in (0..).zip(&lengths).filter(|(_, symbol_length)| **symbol_length == length) {
                let start = code.reverse_bits() >> (32 - u32::from(longest));
                for entry in entries.iter_mut().skip(start as usize).step_by(1 << length) {
                    *entry = (symbol, length);
                }
                code += 1 << (longest - length);
            }
        }
        Self(entries)
    }
}

/// A bit reader, least significant bit of each byte first.
pub(super) struct BitReader<'body> {
    rest: &'body [u8],
    word: u64,
    /// The number of unread bits in `word`.
    bits_left: u32,
}

impl<'body> BitReader<'body> {
    pub(super) fn new(body: &'body [u8]) -> Self {
        Self { rest: body, word: 0, bits_left: 0 }
    }

    pub(super) fn unread(&self) -> usize {
        8 * self.rest.len() + self.bits_left as usize
    }

    /// More bits than any read needs, zero-filled beyond the end.
    fn peek(&mut self) -> u64 {
        while self.bits_left <= 56
            && let Some((byte, rest)) = self.rest.split_first()
        {
            self.word |= u64::from(*byte) << self.bits_left;
            self.bits_left += 8;
            self.rest = rest;
        }
        self.word
    }

    fn skip(&mut self, count: u32) -> Option<()> {
        self.bits_left = self.bits_left.checked_sub(count)?;
        self.word >>= count;
        Some(())
    }

    pub(super) fn read(&mut self, count: u32) -> Option<u32> {
        let value = self.peek() & ((1 << count) - 1);
        self.skip(count)?;
        Some(value as u32)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        Some(self.read(1)? == 1)
    }

    pub(super) fn symbol(&mut self, table: &LookupTable) -> Option<u16> {
        let index = self.peek() as usize & (table.0.len() - 1);
        let (symbol, length) = *table.0.get(index)?;
        self.skip(length.into())?;
        Some(symbol)
    }

    /// A length or distance: small values by symbol, larger ones with extra bits.
    pub(super) fn lz77_value(&mut self, symbol: u16) -> Option<u32> {
        if symbol < 4 {
            return Some(u32::from(symbol) + 1);
        }
        let extra = u32::from(symbol - 2) >> 1;
        let base = (2 + u32::from(symbol & 1)) << extra;
        Some(base + self.read(extra)? + 1)
    }

    pub(super) fn prefix_code(&mut self, alphabet: u16) -> Option<PrefixCode> {
        if !self.flag()? {
            return PrefixCode::new(self.code_lengths(alphabet)?);
        }
        let is_pair = self.flag()?;
        let size = if self.flag()? { 8 } else { 1 };
        let mut symbol = |size| u16::try_from(self.read(size)?).ok().filter(|symbol| *symbol < alphabet);
        let first = symbol(size)?;
        Some(if is_pair { PrefixCode::Pair([first, symbol(8)?]) } else { PrefixCode::Single(first) })
    }

    /// The code length of each symbol, itself prefix coded.
    fn code_lengths(&mut self, alphabet: u16) -> Option<Vec<u8>> {
        let mut lengths = vec![0; CODE_LENGTH_ORDER.len()];
        let stored_count = self.read(4)? as usize + 4;
        for symbol in CODE_LENGTH_ORDER.into_iter().take(stored_count) {
            *lengths.get_mut(symbol)? = self.read(3)? as u8;
        }
        let table = LookupTable::new(PrefixCode::new(lengths)?);

        let alphabet = usize::from(alphabet);
        let mut tokens = alphabet;
        if self.flag()? {
            let size = 2 * self.read(3)? + 2;
            tokens = self.read(size)? as usize + 2;
        }
        if tokens > alphabet {
            return None;
        }
        let mut lengths = vec![0; alphabet];
        let (mut symbol, mut previous) = (0, 8);
        while symbol < alphabet && tokens > 0 {
            tokens -= 1;
            let (length, repeat) = match self.symbol(&table)? {
                16 => (previous, self.read(2)? + 3),
                17 => (0, self.read(3)? + 3),
                18 => (0, self.read(7)? + 11),
                length => (length as u8, 1),
            };
            previous = if length > 0 { length } else { previous };
            let end = symbol + repeat as usize;
            lengths.get_mut(symbol..end)?.fill(length);
            symbol = end;
        }
        Some(lengths)
    }
}
