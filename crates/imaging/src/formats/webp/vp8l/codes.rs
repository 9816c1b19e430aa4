//! The codes of a lossless WebP, and the bits they are read from.

/// Order in which the lengths of the code for lengths are stored.
const LENGTHS_ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// How the symbols of one alphabet are written.
pub(super) enum Code {
    /// In no bits: it is always this one.
    One(u16),
    /// In one bit.
    Two([u16; 2]),
    /// In so many bits each, by symbol, 0 for one that does not occur; and how many take each number of bits.
    Many(Vec<u8>, [u64; 16]),
}

impl Code {
    /// A code in which every row of bits means something, and none means two things.
    fn new(lengths: Vec<u8>) -> Option<Self> {
        let mut counts = [0; 16];
        for length in lengths.iter().filter(|length| **length > 0) {
            *counts.get_mut(usize::from(*length))? += 1;
        }
        if counts.iter().sum::<u64>() == 1 {
            let (symbol, _) = (0..).zip(&lengths).find(|(_, length)| **length > 0)?;
            return Some(Self::One(symbol));
        }
        let shares = (0..).zip(counts).map(|(length, count)| count << (15 - length));
        (shares.sum::<u64>() == 1 << 15).then_some(Self::Many(lengths, counts))
    }

    /// What image-webp makes of it: a table of 4 bytes for each row of up to 10 bits, and a tree with two
    /// nodes of 16 bytes for each symbol that takes more.
    pub(super) fn decoder_bytes(&self) -> u64 {
        match self {
            Self::One(_) => 0,
            Self::Two(_) => 2 * 4 + 3 * 16,
            Self::Many(_, counts) => {
                let longest =
                    counts.iter().rposition(|count| *count > 0).map_or(0, |longest| longest.min(10));
                (4 << longest) + 2 * 16 * counts.iter().skip(11).sum::<u64>()
            }
        }
    }
}

/// The symbol that each row of bits begins with, and the number of its bits.
pub(super) struct Table(Vec<(u16, u8)>);

impl Table {
    pub(super) fn new(code: Code) -> Self {
        let lengths = match code {
            Code::One(symbol) => return Self(vec![(symbol, 0)]),
            Code::Two(symbols) => return Self(symbols.map(|symbol| (symbol, 1)).to_vec()),
            Code::Many(lengths, _) => lengths,
        };
        let longest = lengths.iter().max().map_or(0, |longest| *longest);
        let mut rows = vec![(0, 0); 1 << longest];
        // Shorter ones first, then by symbol. The stream has the highest bit of a row first.
        let mut row = 0_u32;
        for length in 1..=longest {
            for (symbol, _) in (0..).zip(&lengths).filter(|(_, each)| **each == length) {
                let start = row.reverse_bits() >> (32 - u32::from(longest));
                for entry in rows.iter_mut().skip(start as usize).step_by(1 << length) {
                    *entry = (symbol, length);
                }
                row += 1 << (longest - length);
            }
        }
        Self(rows)
    }
}

/// A stream of bits, the lowest of each byte first.
pub(super) struct Bits<'body> {
    rest: &'body [u8],
    word: u64,
    /// How many bits of the word are yet to be read.
    left: u32,
}

impl<'body> Bits<'body> {
    pub(super) fn new(body: &'body [u8]) -> Self {
        Self { rest: body, word: 0, left: 0 }
    }

    pub(super) fn unread(&self) -> usize {
        8 * self.rest.len() + self.left as usize
    }

    /// More bits than anything takes at once, with zeros behind the end.
    fn peek(&mut self) -> u64 {
        while self.left <= 56
            && let Some((byte, rest)) = self.rest.split_first()
        {
            self.word |= u64::from(*byte) << self.left;
            self.left += 8;
            self.rest = rest;
        }
        self.word
    }

    fn skip(&mut self, count: u32) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
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

    pub(super) fn symbol(&mut self, table: &Table) -> Option<u16> {
        let row = self.peek() as usize & (table.0.len() - 1);
        let (symbol, length) = *table.0.get(row)?;
        self.skip(length.into())?;
        Some(symbol)
    }

    /// A length or a distance: small ones by their symbol, larger ones with bits behind it.
    pub(super) fn number(&mut self, symbol: u16) -> Option<u32> {
        if symbol < 4 {
            return Some(u32::from(symbol) + 1);
        }
        let extra = u32::from(symbol - 2) >> 1;
        let base = (2 + u32::from(symbol & 1)) << extra;
        Some(base + self.read(extra)? + 1)
    }

    pub(super) fn code(&mut self, alphabet: u16) -> Option<Code> {
        if !self.flag()? {
            return Code::new(self.lengths(alphabet)?);
        }
        let two = self.flag()?;
        let size = if self.flag()? { 8 } else { 1 };
        let mut symbol = |size| u16::try_from(self.read(size)?).ok().filter(|symbol| *symbol < alphabet);
        let first = symbol(size)?;
        Some(if two { Code::Two([first, symbol(8)?]) } else { Code::One(first) })
    }

    /// The length of each symbol, itself written in a code.
    fn lengths(&mut self, alphabet: u16) -> Option<Vec<u8>> {
        let mut lengths = vec![0; LENGTHS_ORDER.len()];
        let stored = self.read(4)? as usize + 4;
        for symbol in LENGTHS_ORDER.into_iter().take(stored) {
            *lengths.get_mut(symbol)? = self.read(3)? as u8;
        }
        let table = Table::new(Code::new(lengths)?);

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
        let (mut symbol, mut last) = (0, 8);
        while symbol < alphabet && tokens > 0 {
            tokens -= 1;
            let (length, times) = match self.symbol(&table)? {
                16 => (last, self.read(2)? + 3),
                17 => (0, self.read(3)? + 3),
                18 => (0, self.read(7)? + 11),
                length => (length as u8, 1),
            };
            last = if length > 0 { length } else { last };
            let end = symbol + times as usize;
            lengths.get_mut(symbol..end)?.fill(length);
            symbol = end;
        }
        Some(lengths)
    }
}
