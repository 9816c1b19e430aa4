//! Brings an archive into an empty instance, or proves that it could.
//!
//! Bytes go in first, each photo under a claim; the facts follow in one transaction, which is only committed when the
//! archive has been read to its end and every checksum was right. An attempt that dies leaves claims and no facts: the
//! next one goes on where it ended, and a service that starts instead clears them away.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use blobs::{Part, Square};
use bytes::Bytes;
use futures_util::future::try_join_all;
use model::{Clock, PhotoId};
use store::{Arrival, Census, Fact};
use tokio::sync::mpsc;

use crate::archive::{ArchiveError, Content, Contents, Manifest};
use crate::error::MoveError;
use crate::instance::Instance;
use crate::progress::Progress;

/// Photos that are written at the same time, and facts that may wait for their turn.
const AT_ONCE: usize = 8;
const WAITING: usize = 1_000;

/// What was found and brought in.
#[derive(Debug)]
pub struct Restored {
    pub manifest: Manifest,
    pub census: Census,
    /// Photos that were there already, from an attempt that did not end.
    pub were_there: u64,
}

type Photo = (PhotoId, Vec<(Part, Bytes)>);
/// Ends with `None`: a thread that dies must not pass for one that is done.
type Facts = SyncSender<Result<Option<Fact>, store::Error>>;

impl Instance {
    pub async fn restore(
        &self,
        from: impl Read + Send + 'static,
        clock: &Clock,
        progress: Arc<dyn Progress>,
    ) -> Result<Restored, MoveError> {
        self.expect_empty().await?;
        let (photos, mut arriving) = mpsc::channel(AT_ONCE);
        let (facts, all_facts) = sync_channel(WAITING);
        let reader = read_apart(from, photos, facts)?;

        progress.begin("restoring", 0, 0);
        let (mut batch, mut were_there) = (Vec::with_capacity(AT_ONCE), 0);
        while arriving.recv_many(&mut batch, AT_ONCE).await > 0 {
            let ids = batch.iter().map(|(id, _)| *id).collect();
            self.store.claim_photos(ids, clock.now()).await?;
            let new = try_join_all(batch.iter().map(|(id, files)| self.bring(*id, files))).await?;
            were_there += new.iter().filter(|is_new| !**is_new).count() as u64;
            let lengths = batch.iter().flat_map(|(_, files)| files).map(|(_, bytes)| bytes.len() as u64);
            progress.advance(batch.len() as u64, lengths.sum());
            batch.clear();
        }
        let census = self.store.import(Arrival::Claimed, UntilTheEnd(all_facts)).await;
        // What was wrong with the archive is the better reason, if both have one.
        let manifest = tokio::task::spawn_blocking(move || reader.join()).await;
        let manifest = manifest.map_err(|error| MoveError::Stopped(error.to_string()))?;
        let manifest = manifest.map_err(|_| MoveError::Stopped("it panicked".to_owned()))?;
        match (manifest, census) {
            // Unless nobody took what was read, because the database could not.
            (Err(_), Err(error)) if !matches!(error, store::Error::Refused(_)) => Err(error.into()),
            (Err(damage), _) => Err(damage.into()),
            (Ok(_), Err(error)) => Err(error.into()),
            (Ok(manifest), Ok(census)) => Ok(Restored { manifest, census, were_there }),
        }
    }

    pub(super) async fn expect_empty(&self) -> Result<Census, MoveError> {
        let census = self.store.census().await?;
        if census.is_empty() {
            Ok(census)
        } else {
            Err(MoveError::NotEmpty { place: self.places.database.to_string(), census })
        }
    }

    /// Puts the files of a photo where they belong and looks whether they are there; `false` when the very same
    /// were there before.
    pub(super) async fn bring(&self, id: PhotoId, files: &[(Part, Bytes)]) -> Result<bool, MoveError> {
        let there = self.blobs.files(id).await?;
        if there == files {
            return Ok(false);
        }
        // Half of an earlier attempt.
        if !there.is_empty() {
            self.blobs.delete(id).await?;
        }
        let (mut squares, mut original) = (Vec::new(), None);
        for (part, bytes) in files {
            match part {
                Part::Square(side) => squares.push(Square { side: *side, bytes: bytes.clone() }),
                Part::Original => original = Some(bytes.clone()),
            }
        }
        self.blobs.put(id, squares, original).await?;
        if self.blobs.files(id).await? != files {
            return Err(MoveError::Unfaithful { place: self.places.blobs.to_string(), photo: id });
        }
        Ok(true)
    }
}

/// Reads an archive to its end and proves every byte of it. All damage that can be told apart is told.
pub fn verify(from: impl Read, progress: &dyn Progress) -> Result<Manifest, Vec<ArchiveError>> {
    const ENOUGH: usize = 20;
    let mut contents = Contents::new(from);
    let (mut damage, mut end) = (Vec::new(), None);
    progress.begin("verifying", 0, 0);
    loop {
        match contents.next() {
            Ok(Some(Content::Photo(_, files))) => {
                progress.advance(1, files.iter().map(|(_, bytes)| bytes.len() as u64).sum());
            }
            Ok(Some(Content::Facts(_))) => {}
            Ok(Some(Content::End(manifest))) => end = Some(manifest),
            Ok(None) => break,
            Err(error @ ArchiveError::Damaged { .. }) if damage.len() < ENOUGH => damage.push(error),
            Err(error) => {
                // Behind damage the rest follows by itself.
                if damage.is_empty() {
                    damage.push(error);
                }
                break;
            }
        }
    }
    match end {
        Some(manifest) if damage.is_empty() => Ok(manifest),
        _ => Err(damage),
    }
}

/// Reads on a thread of its own: photos as long as there are any, then facts. Whoever takes the facts hears of
/// damage before they hear of the end.
fn read_apart(
    from: impl Read + Send + 'static,
    photos: mpsc::Sender<Photo>,
    facts: Facts,
) -> Result<JoinHandle<Result<Manifest, ArchiveError>>, MoveError> {
    let read = move || {
        let read = read_all(from, photos, &facts);
        let last = match &read {
            Ok(_) => Ok(None),
            Err(error) => Err(store::Error::Refused(error.to_string())),
        };
        // Nobody waits for facts any more when something went wrong with the bytes.
        drop(facts.send(last));
        read
    };
    let thread = std::thread::Builder::new().name("archive".into()).spawn(read);
    thread.map_err(|error| MoveError::Stopped(error.to_string()))
}

fn read_all(from: impl Read, photos: mpsc::Sender<Photo>, facts: &Facts) -> Result<Manifest, ArchiveError> {
    let gone = || ArchiveError::Read(std::io::Error::other("nobody takes what is read from it"));
    let mut contents = Contents::new(from);
    let mut photos = Some(photos);
    let mut end = None;
    while let Some(content) = contents.next()? {
        match content {
            Content::Photo(id, files) => {
                let taken = photos.as_ref().is_some_and(|photos| photos.blocking_send((id, files)).is_ok());
                if !taken {
                    return Err(gone());
                }
            }
            Content::Facts(some) => {
                photos = None;
                for fact in some {
                    facts.send(Ok(Some(fact))).map_err(|_| gone())?;
                }
            }
            Content::End(manifest) => end = Some(manifest),
        }
    }
    end.ok_or(ArchiveError::CutOff { last: "the last entry".to_owned() })
}

/// Facts as the thread that reads them sends them.
struct UntilTheEnd(Receiver<Result<Option<Fact>, store::Error>>);

impl Iterator for UntilTheEnd {
    type Item = Result<Fact, store::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.recv() {
            Ok(fact) => fact.transpose(),
            Err(_) => Some(Err(store::Error::Refused("the archive was not read to its end".to_owned()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_without_an_end_are_an_error() {
        let (facts, arriving) = sync_channel(4);
        drop(facts);
        assert!(matches!(UntilTheEnd(arriving).next(), Some(Err(_))));
        let (facts, arriving) = sync_channel(4);
        facts.send(Ok(None)).unwrap();
        assert!(UntilTheEnd(arriving).next().is_none());
    }
}
