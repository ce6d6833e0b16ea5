//! Where a store is, as the user writes it: a bucket with a prefix, or a folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::ObjectError;
use crate::provider::Provider;

/// Longest key in bytes; S3, Google and Azure allow 1,024.
const KEY_MAX: usize = 1024;

/// A folder, or a prefix of a bucket. Written as it was given, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A prefix of a bucket.
    Bucket {
        /// Whose bucket.
        provider: Provider,
        /// Name of the bucket, or of the container on Azure.
        bucket: String,
        /// What every key begins with, without slashes at its ends; empty for the whole bucket.
        prefix: String,
    },
}

impl Place {
    /// Reads a place. Everything without `://` is a folder.
    pub fn parse(text: &str) -> Result<Self, ObjectError> {
        let refuse = |reason: String, hint| ObjectError::BadPlace { reason, hint, place: text.to_owned() };
        if text.is_empty() {
            return Err(refuse("found no place".to_owned(), WRITE_IT_SO));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            let is_cut = Provider::ALL.iter().any(|provider| text.starts_with(&format!("{}:", provider.scheme())));
            if is_cut {
                return Err(refuse("found no `//` after the scheme".to_owned(), WRITE_IT_SO));
            }
            return Ok(Self::Folder(text.into()));
        };
        let known = Provider::ALL.into_iter().find(|provider| scheme.eq_ignore_ascii_case(provider.scheme()));
        let Some(provider) = known else {
            return Err(refuse(format!("found the scheme {scheme:?}, expected s3, gs or az"), hint_for(scheme)));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        check_bucket(bucket).map_err(|(reason, hint)| refuse(reason, hint))?;
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if !prefix.is_empty() {
            check_key(prefix).map_err(|reason| refuse(reason, WRITE_IT_SO))?;
        }
        Ok(Self::Bucket { provider, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// Whether a path is an address such as `s3://bucket/prefix`, rather than a file or folder.
    #[must_use]
    pub fn is_address(path: &Path) -> bool {
        path.to_str().is_some_and(|text| text.contains("://"))
    }

    /// The place that a path means.
    pub fn of_path(path: &Path) -> Result<Self, ObjectError> {
        if Self::is_address(path) { Self::parse(&path.to_string_lossy()) } else { Ok(Self::Folder(path.to_owned())) }
    }

    /// The place of a key below this one.
    pub fn join(&self, key: &str) -> Result<Self, ObjectError> {
        check_key(key).map_err(|reason| ObjectError::BadKey { reason, key: key.to_owned() })?;
        Ok(match self {
            Self::Folder(folder) => Self::Folder(key.split('/').fold(folder.clone(), |path, part| path.join(part))),
            Self::Bucket { provider, bucket, prefix } => {
                let prefix = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}/{key}") };
                Self::Bucket { provider: *provider, bucket: bucket.clone(), prefix }
            }
        })
    }

    /// The folder, if it is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Bucket { .. } => None,
        }
    }

    /// Whose bucket it is; `None` for a folder.
    #[must_use]
    pub fn provider(&self) -> Option<Provider> {
        match self {
            Self::Folder(_) => None,
            Self::Bucket { provider, .. } => Some(*provider),
        }
    }

    /// A key below this place, as errors name it.
    pub(crate) fn name_of(&self, key: &str) -> String {
        if key.is_empty() { self.to_string() } else { format!("{self}/{key}") }
    }
}

impl FromStr for Place {
    type Err = ObjectError;

    fn from_str(text: &str) -> Result<Self, ObjectError> {
        Self::parse(text)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Bucket { provider, bucket, prefix } if prefix.is_empty() => {
                write!(f, "{}://{bucket}", provider.scheme())
            }
            Self::Bucket { provider, bucket, prefix } => write!(f, "{}://{bucket}/{prefix}", provider.scheme()),
        }
    }
}

const WRITE_IT_SO: &str = "write it as `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` or a folder";

fn hint_for(scheme: &str) -> &'static str {
    match scheme.to_ascii_lowercase().as_str() {
        "s3a" | "s3n" => "write it as `s3://bucket/prefix`",
        "gcs" => "write it as `gs://bucket/prefix`",
        "abfs" | "abfss" | "azure" | "adl" | "wasb" | "wasbs" => {
            "write it as `az://container/prefix` and set AZURE_STORAGE_ACCOUNT_NAME"
        }
        "http" | "https" => "write it as `s3://bucket/prefix` and set AWS_ENDPOINT_URL to the address of the store",
        "file" => "pass the path of the folder alone",
        _ => WRITE_IT_SO,
    }
}

fn check_bucket(bucket: &str) -> Result<(), (String, &'static str)> {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    if bucket.is_empty() {
        return Err(("found no bucket name".to_owned(), WRITE_IT_SO));
    }
    let Some(unusual) = bucket.chars().find(|letter| !is_usual(*letter)) else { return Ok(()) };
    let hint = match unusual {
        '@' => "set credentials and account in the environment, for example AWS_ACCESS_KEY_ID",
        ':' => "set the address of the store in AWS_ENDPOINT_URL",
        _ => "use letters, digits, `.`, `-` and `_`",
    };
    Err((format!("found {unusual:?} in the bucket name"), hint))
}

/// A key has the form `a/b/c`. It means the same in a bucket and as a path below a folder.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    if key.len() > KEY_MAX {
        return Err(format!("found a key of {} bytes, expected at most {KEY_MAX}", key.len()));
    }
    // On Windows a part such as `C:` would lead to another drive.
    let is_refused = |letter: &char| {
        letter.is_control() || matches!(letter, '\\' | '?' | '#' | '%') || (cfg!(windows) && *letter == ':')
    };
    if let Some(letter) = key.chars().find(is_refused) {
        return Err(format!("found {letter:?} in the key"));
    }
    match key.split('/').find(|part| matches!(*part, "" | "." | "..")) {
        Some("") => Err("found an empty part in the key".to_owned()),
        Some(part) => Err(format!("found {part:?} as a part of the key")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use stepscope_model::Hint;

    use super::*;

    #[test]
    fn places_are_read_and_shown() {
        let check = |text: &str, want: &str| assert_eq!(Place::parse(text).unwrap().to_string(), want, "{text}");
        check("s3://bucket", "s3://bucket");
        check("s3://bucket/", "s3://bucket");
        check("S3://bucket/a/b/", "s3://bucket/a/b");
        check("gs://my_bucket.x/a b/ä", "gs://my_bucket.x/a b/ä");
        check("az://container/prefix", "az://container/prefix");
        check("folder/inside", "folder/inside");
        check("/a:b", "/a:b");
        assert_eq!(Place::parse("x").unwrap().folder(), Some(Path::new("x")));
        assert_eq!(Place::parse("gs://x").unwrap().provider(), Some(Provider::Google));
    }

    #[test]
    fn malformed_places_are_refused_by_name() {
        #[track_caller]
        fn check(text: &str, want: &str, hint: &str) {
            let error = Place::parse(text).unwrap_err();
            assert_eq!(error.to_string(), format!("{want}: {text}"));
            assert!(error.hint().unwrap().contains(hint), "{text}: {:?}", error.hint());
        }
        check("", "found no place", "s3://bucket/prefix");
        check("s3:/bucket", "found no `//` after the scheme", "s3://bucket/prefix");
        check("s3://", "found no bucket name", "s3://bucket/prefix");
        check("s3:///prefix", "found no bucket name", "s3://bucket/prefix");
        check("s3a://bucket", "found the scheme \"s3a\", expected s3, gs or az", "s3://bucket");
        check("abfs://c@a/p", "found the scheme \"abfs\", expected s3, gs or az", "AZURE_STORAGE_ACCOUNT_NAME");
        check("http://host/b", "found the scheme \"http\", expected s3, gs or az", "AWS_ENDPOINT_URL");
        check("file:///x", "found the scheme \"file\", expected s3, gs or az", "folder");
        check("s3://key@bucket", "found '@' in the bucket name", "AWS_ACCESS_KEY_ID");
        check("s3://host:9000/bucket", "found ':' in the bucket name", "AWS_ENDPOINT_URL");
        check("s3://b/a//b", "found an empty part in the key", "s3://bucket/prefix");
        check("s3://b/../c", "found \"..\" as a part of the key", "s3://bucket/prefix");
        check("s3://b/a?x", "found '?' in the key", "s3://bucket/prefix");
        check("s3://b/a%2f", "found '%' in the key", "s3://bucket/prefix");
    }

    #[test]
    fn keys_are_joined_and_hostile_ones_refused() {
        let join = |place: &str, key: &str| Place::parse(place).unwrap().join(key).map(|place| place.to_string());
        assert_eq!(join("s3://b", "runs/a").unwrap(), "s3://b/runs/a");
        assert_eq!(join("s3://b/p", "runs/a").unwrap(), "s3://b/p/runs/a");
        assert_eq!(join("f", "runs/a").unwrap(), Path::new("f").join("runs").join("a").display().to_string());
        for key in ["", "/a", "a/", "a//b", "../a", "a/..", "a\\b", "a\0"] {
            assert!(matches!(join("f", key), Err(ObjectError::BadKey { .. })), "{key:?}");
        }
        assert_eq!(
            join("f", &"x".repeat(1025)).unwrap_err().to_string(),
            format!("found a key of 1025 bytes, expected at most 1024: {}", "x".repeat(1025))
        );
    }
}
