//! Declares SQL statements as named constants that a test can enumerate. They use the subset of SQL that
//! SQLite and PostgreSQL share: `$1` upward in order of first use, `ON CONFLICT`, `RETURNING`, 64-bit
//! integers for times; no `NOW()`, no `ILIKE`.

/// Declares statements as constants, and lists them with their names in `ALL` for the tests.
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
            Err(_) => panic!("joined UTF-8 strings are UTF-8"),
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
