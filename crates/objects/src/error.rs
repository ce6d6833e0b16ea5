//! What can go wrong with objects, and what to check then.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use stepscope_model::Hint;

use crate::provider::Provider;

/// An object that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The text is not a place.
    #[error("{reason}: {place}")]
    BadPlace {
        /// What was found.
        reason: String,
        /// How to write it.
        hint: &'static str,
        /// The text.
        place: String,
    },
    /// The text is not a key; a bug of the caller, or a hostile name.
    #[error("{reason}: {key}")]
    BadKey {
        /// What was found.
        reason: String,
        /// The text.
        key: String,
    },
    /// The environment does not say how to reach the bucket.
    #[error("{reason}: {place}")]
    BadSettings {
        /// What was found.
        reason: String,
        /// What to set.
        hint: &'static str,
        /// The place.
        place: String,
    },
    /// There is no such object.
    #[error("found no object: {at}")]
    NotFound {
        /// The object.
        at: String,
    },
    /// The object exists already, and is another one.
    #[error("found an object of {found} bytes, expected {expected}: {at}")]
    Taken {
        /// Bytes of the object that is there.
        found: u64,
        /// Bytes of the one that was to be created.
        expected: u64,
        /// The object.
        at: String,
    },
    /// A range came back with another length.
    #[error("received {found} bytes, expected {expected}: {at}")]
    Short {
        /// Bytes that came.
        found: u64,
        /// Bytes that were asked for.
        expected: u64,
        /// The object.
        at: String,
    },
    /// The store refused, or could not be asked.
    #[error("cannot {action}: {answer}: {at}")]
    Refused {
        /// What was tried, as a verb and its object.
        action: &'static str,
        /// What came back.
        answer: Box<Answer>,
        /// The object.
        at: String,
    },
    /// The file system refused.
    #[error("cannot {action}: {source}: {}", path.display())]
    Io {
        /// What was tried, as a verb and its object.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The caller ended the transfer.
    #[error("canceled: {at}")]
    Canceled {
        /// The object.
        at: String,
    },
    /// The thread for requests ended without an answer; a bug.
    #[error("the thread for requests ended: {at}")]
    Lost {
        /// The object.
        at: String,
    },
}

/// What a store answered to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// The store's own word for it, such as `SignatureDoesNotMatch`.
    pub code: Option<String>,
    /// Why, as far as status and code say it.
    pub cause: Cause,
    /// Whose bucket it was.
    pub provider: Provider,
    /// What the library said, for causes that have no words here.
    pub detail: String,
}

/// Why a store refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The bucket does not exist.
    NoBucket,
    /// The key id, the secret or the token is wrong.
    Credentials,
    /// The token is too old.
    Expired,
    /// The credentials are right but do not allow it.
    Denied,
    /// The clock of this machine is off.
    ClockSkew,
    /// The bucket is in another region.
    Region,
    /// Another writer was at the same key.
    Conflict,
    /// The store is overloaded or broken.
    Server,
    /// There is no connection to it.
    Unreachable,
    /// It did not answer in time.
    Silent,
    /// Its answer ended early or made no sense.
    Garbled,
    /// Something else.
    Other,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, &self.code, self.cause) {
            (Some(status), Some(code), _) => write!(f, "HTTP {status} {code}"),
            (Some(status), None, _) => write!(f, "HTTP {status}"),
            (None, _, Cause::Unreachable) => f.write_str("no connection"),
            (None, _, Cause::Silent) => f.write_str("no answer in time"),
            (None, _, Cause::Garbled) => f.write_str("the answer is incomplete"),
            (None, _, Cause::Region) => f.write_str("the bucket is in another region"),
            _ => f.write_str(&self.detail),
        }
    }
}

impl ObjectError {
    /// Whether there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether the caller ended it.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        matches!(self, Self::Canceled { .. })
    }

    /// Whether the same request may succeed later, without a change by the user.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        let Self::Refused { answer, .. } = self else { return false };
        matches!(
            answer.cause,
            Cause::Conflict | Cause::Server | Cause::Unreachable | Cause::Silent | Cause::Garbled | Cause::Expired
        )
    }

    /// HTTP status of the answer, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { answer, .. } => answer.status,
            Self::NotFound { .. } => Some(404),
            _ => None,
        }
    }

    /// Wraps what the file system said about `path`; for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

impl Hint for ObjectError {
    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::BadPlace { hint, .. } | Self::BadSettings { hint, .. } => Some((*hint).into()),
            Self::Refused { answer, .. } => hint_of(answer),
            Self::Taken { .. } => {
                Some("two stores share this prefix: choose another prefix, or another run name".into())
            }
            Self::Short { .. } => Some("the object changed while it was read: try again".into()),
            Self::NotFound { .. } => Some("check the name, or list what is there".into()),
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("the disk is full: free some space".into())
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Some("choose a writable folder".into())
                }
                _ => None,
            },
            Self::BadKey { .. } | Self::Canceled { .. } | Self::Lost { .. } => None,
        }
    }
}

fn hint_of(answer: &Answer) -> Option<Cow<'static, str>> {
    let names = answer.provider.variables();
    let hint: Cow<'static, str> = match answer.cause {
        Cause::NoBucket => format!("create the bucket, or check its name and {}", names.endpoint).into(),
        Cause::Credentials => format!("check {}", names.credentials).into(),
        Cause::Expired => format!("renew the token in {}", names.token).into(),
        Cause::Denied => format!(
            "check {}, and that they may read, write and list this bucket; also check the clock of this machine",
            names.credentials
        )
        .into(),
        Cause::ClockSkew => "correct the clock of this machine, for example with `timedatectl set-ntp true`".into(),
        Cause::Region => format!("set {} to the region of the bucket", names.region).into(),
        Cause::Conflict => "another writer is at the same object: try again".into(),
        Cause::Server => "the store is overloaded or failing: try again later".into(),
        Cause::Unreachable => format!("check {} and the network", names.endpoint).into(),
        Cause::Silent | Cause::Garbled => format!("check the network and {}, then try again", names.endpoint).into(),
        Cause::Other => return None,
    };
    Some(hint)
}
