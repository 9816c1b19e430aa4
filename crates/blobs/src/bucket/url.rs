//! The address of a bucket: `s3://bucket/prefix`.

use std::fmt;
use std::str::FromStr;

use object_store::path::Path;

/// A bucket, and the part of its names that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    bucket: String,
    /// Empty, or `one/or/more` parts.
    prefix: String,
}

impl BucketUrl {
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Something of ours in the bucket.
    pub(super) fn path(&self, name: &str) -> Path {
        // Both consist of letters that a path takes as they are.
        self.prefix.split('/').filter(|part| !part.is_empty()).chain([name]).collect()
    }

    /// An object of the bucket, for people.
    pub(super) fn describe(&self, key: &Path) -> String {
        format!("s3://{}/{key}", self.bucket)
    }
}

impl FromStr for BucketUrl {
    type Err = String;

    /// The error continues the sentence `found "…", `.
    fn from_str(raw: &str) -> Result<Self, String> {
        let rest = raw.strip_prefix("s3://").ok_or("expected an address that begins with s3://")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !(3..=63).contains(&bucket.len()) || !plain(bucket) {
            return Err(
                "expected a bucket's name of 3 to 63 letters, digits, dots and dashes after s3://".into()
            );
        }
        let fine = |part: &str| !part.is_empty() && plain(part) && part != "." && part != "..";
        if !prefix.is_empty() && !prefix.split('/').all(fine) {
            return Err("expected a prefix of letters, digits, dots, dashes and single slashes".into());
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_bucket_and_a_prefix() {
        for (raw, shown, path) in [
            ("s3://photos", "s3://photos", "x"),
            ("s3://photos/", "s3://photos", "x"),
            ("s3://my.photos-1/pinhole", "s3://my.photos-1/pinhole", "pinhole/x"),
            ("s3://photos/a/b_c.d/", "s3://photos/a/b_c.d", "a/b_c.d/x"),
        ] {
            let url: BucketUrl = raw.parse().unwrap();
            assert_eq!((url.to_string().as_str(), url.path("x").as_ref()), (shown, path));
        }
    }

    #[test]
    fn refuses_what_is_no_bucket() {
        let cases = [
            "",
            "photos",
            "S3://photos",
            "https://photos.example.org",
            "s3://",
            "s3:///prefix",
            "s3://ab",
            "s3://ph otos",
            "s3://key:secret@photos",
            "s3://photos/a//b",
            "s3://photos//a",
            "s3://photos/../other",
            "s3://photos/a?region=b",
            "s3://photos/ä",
        ];
        for raw in cases {
            assert!(raw.parse::<BucketUrl>().is_err(), "{raw:?} passed for a bucket");
        }
    }
}
