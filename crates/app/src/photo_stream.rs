//! A stored file of a photo that leaves the service, a chunk at a time: however large it is, and however
//! slowly its client reads, it takes the memory of one chunk.

use std::collections::VecDeque;

use blobs::{BlobReader, PhotoFile};
use bytes::Bytes;
use imaging::{Edit, InputFormat};
use model::PhotoId;

use crate::{App, Error};

/// A file of a photo whose checksum was right when it was opened.
#[derive(Debug)]
pub struct PhotoStream {
    photo: PhotoId,
    pub format: InputFormat,
    reader: BlobReader,
    /// What is written in place of parts of the file that were not read yet.
    edits: VecDeque<Edit>,
    length: u64,
    /// How much of the file was read.
    position: u64,
}

/// What there is of a file of a photo.
pub(crate) enum StoredPhoto {
    Intact(PhotoStream),
    Damaged,
    Missing,
}

impl PhotoStream {
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The next bytes, `None` at the end. A file that was damaged since it was opened fails before its last
    /// chunk.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let chunk = match self.reader.next().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::error!(photo = %self.photo, %error, "photo file not sent to its end");
                return Err(error.into());
            }
        };
        let start = self.position;
        self.position += chunk.len() as u64;
        if self.edits.front().is_none_or(|edit| edit.range.end > self.position) {
            return Ok(Some(chunk));
        }
        let (mut edited, mut unread) = (Vec::with_capacity(chunk.len() + 128), start);
        let part = |from: u64, to: u64| {
            let [from, to] =
                [from, to].map(|at| usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX));
            chunk.get(from..to).unwrap_or_default()
        };
        while let Some(edit) = self.edits.pop_front_if(|edit| edit.range.end <= self.position) {
            edited.extend_from_slice(part(unread, edit.range.start));
            edited.extend(edit.bytes);
            unread = edit.range.end;
        }
        edited.extend_from_slice(part(unread, self.position));
        Ok(Some(edited.into()))
    }
}

impl App {
    /// Opens a file of a photo after its checksum was verified, so that damage is found before the first byte
    /// leaves. The `orientation` is added to a file that was stored without it.
    pub(crate) async fn open_photo_file(
        &self,
        photo: PhotoId,
        file: PhotoFile,
        orientation: u8,
    ) -> Result<StoredPhoto, Error> {
        let Some(mut reader) = self.0.blobs.file(photo, file).await? else { return Ok(StoredPhoto::Missing) };
        let head = match reader.verify().await {
            Err(blobs::Error::Damaged { .. }) => None,
            head => Some(head?),
        };
        // A file of a version without checksums may be anything.
        let Some((format, head)) = head.and_then(|head| Some((imaging::sniff(&head).ok()?, head))) else {
            tracing::error!(%photo, %file, "photo file damaged");
            return Ok(StoredPhoto::Damaged);
        };
        let edits = VecDeque::from(imaging::orientation_edits(format, &head, reader.length(), orientation));
        let added = edits.iter().map(|edit| edit.bytes.len() as u64).sum::<u64>();
        let removed = edits.iter().map(|edit| edit.range.end - edit.range.start).sum::<u64>();
        let length = reader.length() + added - removed;
        Ok(StoredPhoto::Intact(PhotoStream { photo, format, reader, edits, length, position: 0 }))
    }
}
