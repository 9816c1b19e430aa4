//! Moves an instance to another database, another blob store, or both.
//!
//! Bytes never change once they are there, so they can be copied while the service runs, as often as one likes; facts
//! change all the time, so they are copied once, at the end, when nothing is written any more. That takes minutes where
//! the bytes took hours, and needs no bookkeeping about what changed since.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use blobs::Kept;
use futures_util::{StreamExt, stream};
use model::{Clock, PhotoId};
use sha2::{Digest, Sha256};
use store::{Arrival, Fact, Sink, Table};

use crate::archive::{Ledger, Written};
use crate::error::MoveError;
use crate::instance::Instance;
use crate::photos::{Expected, Found, Shelves};
use crate::progress::Progress;

/// Photos that are under way at the same time.
const AT_ONCE: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Bytes only, beside a service that runs: what is there is held against the old place byte by byte.
    Copy,
    /// The rest of the bytes, known by their names and lengths, and all facts.
    Finish,
    /// Nothing is written; every fact and every byte is compared.
    Verify,
}

/// How a move went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    pub photos: u64,
    /// Those that were not there before, and their bytes.
    pub copied: u64,
    pub bytes: u64,
    /// Rows that were brought in, or compared.
    pub rows: u64,
    /// They came with an earlier attempt.
    pub rows_were_there: bool,
    /// Photos at the new place that nothing speaks of, counted at the end of a move.
    pub nobodys: u64,
}

/// From one instance to another. What has the same place in both stays where it is.
pub async fn migrate(
    from: &Instance,
    to: &Instance,
    mode: Mode,
    clock: &Clock,
    progress: Arc<dyn Progress>,
) -> Result<Moved, MoveError> {
    let facts_move = !from.places.database.is(&to.places.database);
    let bytes_move = !from.places.blobs.is(&to.places.blobs);
    if !facts_move && !bytes_move {
        return Err(MoveError::SamePlace { place: to.places.database.to_string() });
    }
    let folder = std::env::temp_dir();
    let ledger = if mode == Mode::Copy { Ledger::photos(&folder) } else { Ledger::everything(&folder) };
    let ledger = from.store.export(ledger.map_err(MoveError::Ledger)?).await?;
    let ledger = ledger.finish().map_err(MoveError::Ledger)?;

    // Facts that are there already are ours, from an end that nobody heard of, or somebody else's.
    let is_finished = facts_move && mode != Mode::Copy && !to.store.census().await?.is_empty();
    if facts_move && !is_finished {
        to.expect_empty().await?;
    }
    if is_finished && fingerprint(&to.store).await? != fingerprint_of(&ledger)? {
        return Err(match mode {
            Mode::Verify => different_facts(),
            _ => MoveError::NotEmpty {
                place: to.places.database.to_string(),
                census: to.store.census().await?,
            },
        });
    }

    let mut moved = Moved::default();
    if bytes_move {
        // What is brought in beside facts is claimed until they follow.
        let claims = facts_move && !is_finished && mode != Mode::Verify;
        let courier = Courier { from, to, mode, claims, is_finished, clock };
        moved = courier.carry(&ledger, &*progress).await?;
    }
    match mode {
        Mode::Copy => return Ok(moved),
        Mode::Verify if facts_move && !is_finished => return Err(MoveError::RowsToCome),
        Mode::Finish if facts_move && !is_finished => {
            // Found out now, it costs no more than a second try.
            expect_unwritten(from, &ledger, None).await?;
            progress.note("bringing in what the database knows");
            let arrival = if bytes_move { Arrival::Claimed } else { Arrival::Unmoved };
            let facts = ledger.facts().map_err(MoveError::Ledger)?;
            let facts = facts.map(|fact| fact.map_err(|error| store::Error::Refused(error.to_string())));
            to.store.import(arrival, facts).await?;
            if fingerprint(&to.store).await? != fingerprint_of(&ledger)? {
                return Err(different_facts());
            }
        }
        Mode::Finish | Mode::Verify => {}
    }
    if mode == Mode::Finish {
        let filled = facts_move.then(|| to.places.database.to_string());
        expect_unwritten(from, &ledger, filled).await?;
    }
    if facts_move {
        moved.rows = fingerprint_of(&ledger)?.rows();
        moved.rows_were_there = is_finished;
    }
    Ok(moved)
}

fn different_facts() -> MoveError {
    MoveError::Different { what: "what the databases know".to_owned(), is_finished: true }
}

/// Carries the bytes of photos, one shelf after the other.
struct Courier<'a> {
    from: &'a Instance,
    to: &'a Instance,
    mode: Mode,
    claims: bool,
    /// Whether the facts have moved, so that no plain pass comes any more.
    is_finished: bool,
    clock: &'a Clock,
}

impl Courier<'_> {
    async fn carry(&self, ledger: &Written, progress: &dyn Progress) -> Result<Moved, MoveError> {
        let (photos, bytes) = ledger.totals();
        progress.begin(if self.mode == Mode::Verify { "comparing" } else { "copying" }, photos, bytes);
        let shelves = Shelves::of(ledger.photos().map_err(MoveError::Ledger)?).map_err(MoveError::Ledger)?;
        let mut moved = Moved { photos, ..Moved::default() };
        let (mut missing, mut to_come) = (Vec::new(), 0);
        for (last_byte, shelf) in shelves.each() {
            if self.claims && !shelf.is_empty() {
                self.to.store.claim_photos(shelf.keys().copied().collect(), self.clock.now()).await?;
            }
            let there = self.to.blobs.shelf(last_byte).await?;
            let there: HashMap<PhotoId, Kept> = there.into_iter().map(|kept| (kept.photo, kept)).collect();
            if self.mode == Mode::Finish {
                let strangers = there.keys().copied().filter(|id| !shelf.contains_key(id));
                moved.nobodys += self.nobodys(strangers).await?;
            }
            let carried = stream::iter(&shelf).map(async |(id, expected)| {
                Ok::<_, MoveError>((
                    *id,
                    expected.bytes,
                    self.carry_one(*id, *expected, there.get(id)).await?,
                ))
            });
            let mut carried = std::pin::pin!(carried.buffer_unordered(AT_ONCE));
            while let Some(outcome) = carried.next().await {
                let (id, bytes, outcome) = outcome?;
                match outcome {
                    Carried::Copied => {
                        moved.copied += 1;
                        moved.bytes += bytes;
                    }
                    Carried::Missing => missing.push(id),
                    Carried::ToCome => to_come += 1,
                    Carried::Deleted if self.mode == Mode::Finish => {
                        return Err(MoveError::StillWritten { photo: id });
                    }
                    Carried::Same | Carried::Deleted => {}
                }
                progress.advance(1, bytes);
            }
        }
        if !missing.is_empty() {
            return Err(MoveError::missing(missing, photos, false));
        }
        if to_come > 0 {
            let is_finished = self.is_finished;
            return Err(MoveError::PhotosToCome { there: photos - to_come, photos, is_finished });
        }
        Ok(moved)
    }

    /// How many of these are not even claimed. Where facts move along, what was deleted at the old place after it had
    /// been copied is, and the collector finds it; where they stay, nobody ever will.
    async fn nobodys(&self, strangers: impl Iterator<Item = PhotoId>) -> Result<u64, MoveError> {
        let mut nobodys = 0;
        for id in strangers {
            if !self.to.store.expects_bytes(id).await? {
                nobodys += 1;
            }
        }
        Ok(nobodys)
    }

    async fn carry_one(
        &self,
        id: PhotoId,
        expected: Expected,
        there: Option<&Kept>,
    ) -> Result<Carried, MoveError> {
        // Each was compared when it was copied, and none changes afterwards.
        if self.mode == Mode::Finish && there.is_some_and(|kept| expected.is_whole(kept)) {
            return Ok(Carried::Same);
        }
        let files = match self.from.bytes_of(id, expected).await? {
            Found::Whole(files) => files,
            Found::Deleted => return Ok(Carried::Deleted),
            Found::Missing => return Ok(Carried::Missing),
        };
        if self.mode != Mode::Verify {
            return Ok(if self.to.bring(id, &files).await? { Carried::Copied } else { Carried::Same });
        }
        match self.to.blobs.files(id).await? {
            there if there == files => Ok(Carried::Same),
            there if there.is_empty() => Ok(Carried::ToCome),
            _ => Err(MoveError::Different { what: format!("photo {id}"), is_finished: self.is_finished }),
        }
    }
}

enum Carried {
    Copied,
    Same,
    Deleted,
    /// At the old place.
    Missing,
    /// Not at the new place yet, and nobody was asked to bring it.
    ToCome,
}

/// A node that nobody thought of may still write to the old place, and nothing of that would arrive. A folder is
/// locked; a server cannot be, so it is looked at again. `filled` is the new database, once the facts are in it.
async fn expect_unwritten(
    from: &Instance,
    ledger: &Written,
    filled: Option<String>,
) -> Result<(), MoveError> {
    if from.store.is_shared() && fingerprint(&from.store).await? != fingerprint_of(ledger)? {
        return Err(MoveError::Overtaken { filled });
    }
    Ok(())
}

/// Tells whether two databases know the same, in whatever order they tell it: text is sorted differently here and
/// there. For each table the number of its rows, and the sum of their checksums.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Fingerprint([(u64, u128); Table::ALL.len()]);

impl Fingerprint {
    fn rows(&self) -> u64 {
        self.0.iter().map(|(rows, _)| rows).sum()
    }

    fn add(&mut self, fact: &Fact) -> io::Result<()> {
        let digest = Sha256::digest(serde_json::to_vec(fact)?);
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        let (rows, sum) = &mut self.0[fact.table() as usize];
        *rows += 1;
        *sum = sum.wrapping_add(u128::from_be_bytes(half));
        Ok(())
    }
}

async fn fingerprint(store: &store::Store) -> Result<Fingerprint, MoveError> {
    /// Keeps the first thing that went wrong.
    struct Taken(io::Result<Fingerprint>);
    impl Sink for Taken {
        fn take(&mut self, fact: Fact) -> std::ops::ControlFlow<()> {
            let Ok(fingerprint) = &mut self.0 else { return std::ops::ControlFlow::Break(()) };
            if let Err(error) = fingerprint.add(&fact) {
                self.0 = Err(error);
            }
            std::ops::ControlFlow::Continue(())
        }
    }
    let taken = store.export(Taken(Ok(Fingerprint::default()))).await?;
    taken.0.map_err(MoveError::Ledger)
}

fn fingerprint_of(ledger: &Written) -> Result<Fingerprint, MoveError> {
    let mut fingerprint = Fingerprint::default();
    for fact in ledger.facts().map_err(MoveError::Ledger)? {
        fact.and_then(|fact| fingerprint.add(&fact)).map_err(MoveError::Ledger)?;
    }
    Ok(fingerprint)
}
