//! Declares statements as named constants that a test can enumerate.
//!
//! They stay in the subset of SQL that SQLite and PostgreSQL share: `$1` upward in order of first use, `ON
//! CONFLICT`, `RETURNING`, 64-bit integers for times; no `NOW()`, no `ILIKE`.

/// Declares statements as constants, and `ALL` with their names for the tests.
macro_rules! statements {
    ($($(#[$doc:meta])* $visibility:vis $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* $visibility const $name: &str = $sql;)*
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

/// Joins constant strings, as `concat!` joins literals.
macro_rules! sql {
    ($($part:expr),+ $(,)?) => {{
        const PARTS: &[&str] = &[$($part),+];
        const JOINED: [u8; $crate::statements::length(PARTS)] = $crate::statements::join(PARTS);
        match std::str::from_utf8(&JOINED) {
            Ok(sql) => sql,
            Err(_) => panic!("strings join to a string"),
        }
    }};
}

pub(crate) use {sql, statements};

pub(crate) const fn length(parts: &[&str]) -> usize {
    let (mut length, mut part) = (0, 0);
    while part < parts.len() {
        length += parts[part].len();
        part += 1;
    }
    length
}

pub(crate) const fn join<const LENGTH: usize>(parts: &[&str]) -> [u8; LENGTH] {
    let (mut joined, mut at, mut part) = ([0; LENGTH], 0, 0);
    while part < parts.len() {
        let (bytes, mut byte) = (parts[part].as_bytes(), 0);
        while byte < bytes.len() {
            joined[at] = bytes[byte];
            (at, byte) = (at + 1, byte + 1);
        }
        part += 1;
    }
    joined
}
