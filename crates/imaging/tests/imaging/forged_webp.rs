//! Forged lossless WebPs: a few pixels and any number of prefix code groups.

/// The code tables of a forged group.
#[derive(Clone, Copy)]
pub(crate) enum CodeTables {
    /// 20 bits in the file, and only the group record in memory.
    Empty,
    /// The largest possible tables: 118 KiB in memory.
    Largest,
}

/// An image of 4 × 4 pixels.
pub(crate) fn forged_webp(groups: u32, tables: CodeTables) -> Vec<u8> {
    let highest = groups - 1;
    let mut body = BitWriter::default();
    body.put(0x2F, 8);
    body.put(3, 14);
    body.put(3, 14);
    // No alpha, version 0, no transforms.
    body.put(0, 1 + 3 + 1);
    // A colour cache of 2,048 entries.
    body.put(1, 1);
    body.put(11, 4);
    // An entropy image of one pixel with the highest meta prefix code, without a colour cache.
    body.put(1, 1);
    body.put(0, 3 + 1);
    for byte in [highest & 0xFF, highest >> 8, 0, 0, 0] {
        body.put(0b101, 3);
        body.put(byte, 8);
    }
    let mut group = BitWriter::default();
    for alphabet in [256 + 24 + 2048, 256, 256, 256, 40] {
        match tables {
            CodeTables::Empty => group.put(0b0001, 4),
            CodeTables::Largest => group.put_code(&longest_code(alphabet)),
        }
    }
    for _ in 0..groups {
        group.0.iter().for_each(|bit| body.put(u32::from(*bit), 1));
    }
    // The pixels.
    (0..64).for_each(|_| body.put(0, 32));

    let body = body.bytes();
    let length = |length: usize| (length as u32).to_le_bytes();
    let chunk = [b"WEBPVP8L", &length(body.len())[..], &body, &[0][..body.len() % 2]].concat();
    [b"RIFF", &length(chunk.len())[..], &chunk].concat()
}

/// A complete code with as many symbols as possible longer than 10 bits: one symbol of each short length, and
/// the rest evenly below them.
fn longest_code(alphabet: u32) -> Vec<u32> {
    let depth = |short: u32| (alphabet - short).ilog2();
    let short = (0..=10).find(|short| short + depth(*short) > 10).expect("some depth is enough");
    let (depth, long) = (depth(short), alphabet - short);
    let deeper = 2 * (long - (1 << depth));
    let long = (0..long).map(|symbol| short + depth + u32::from(symbol < deeper));
    (1..=short).chain(long).collect()
}

/// Bits in stream order.
#[derive(Default)]
struct BitWriter(Vec<bool>);

impl BitWriter {
    fn put(&mut self, value: u32, count: u32) {
        self.0.extend((0..count).map(|bit| value >> bit & 1 == 1));
    }

    /// The lengths of all symbols, each in 4 bits.
    fn put_code(&mut self, lengths: &[u32]) {
        self.put(0, 1);
        self.put(19 - 4, 4);
        for symbol in [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] {
            self.put(if symbol < 16 { 4 } else { 0 }, 3);
        }
        self.put(0, 1);
        for length in lengths {
            self.put(length.reverse_bits() >> 28, 4);
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        self.0.chunks(8).map(byte).collect()
    }
}
