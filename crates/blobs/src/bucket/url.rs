//! The URL of a bucket: `s3://bucket/prefix`.

use std::fmt;
use std::str::FromStr;

use object_store::path::Path;

/// A bucket, and the prefix of all keys of this instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    bucket: String,
    /// Empty, or segments separated by slashes, without a slash at either end.
    prefix: String,
}

impl BucketUrl {
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key of `name` below the prefix.
    pub(super) fn path(&self, name: &str) -> Path {
        // Both consist of characters that a `Path` does not escape.
        self.prefix.split('/').filter(|segment| !segment.is_empty()).chain([name]).collect()
    }

    /// The URL of an object, for messages.
    pub(super) fn describe(&self, key: &Path) -> String {
        format!("s3://{}/{key}", self.bucket)
    }
}

impl FromStr for BucketUrl {
    type Err = String;

    /// The error completes a message that begins with `found "…", `.
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
        let is_segment =
            |segment: &str| !segment.is_empty() && plain(segment) && segment != "." && segment != "..";
        if !prefix.is_empty() && !prefix.split('/').all(is_segment) {
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
    fn urls_have_a_bucket_and_an_optional_prefix() {
        for (raw, displayed, path) in [
            ("s3://photos", "s3://photos", "x"),
            ("s3://photos/", "s3://photos", "x"),
            ("s3://my.photos-1/pinhole", "s3://my.photos-1/pinhole", "pinhole/x"),
            ("s3://photos/a/b_c.d/", "s3://photos/a/b_c.d", "a/b_c.d/x"),
        ] {
            let url: BucketUrl = raw.parse().unwrap();
            assert_eq!((url.to_string().as_str(), url.path("x").as_ref()), (displayed, path));
        }
    }

    #[test]
    fn malformed_bucket_urls_are_rejected() {
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
            assert!(raw.parse::<BucketUrl>().is_err(), "{raw:?} must not parse as a bucket");
        }
    }
}
