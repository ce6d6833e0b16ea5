//! What is to be told about the file of a trace as a whole.

use serde::{Deserialize, Serialize};

/// Something about the container or the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The gzip stream ends early.
    GzipTruncated,
    /// Its checksum or its data is wrong.
    GzipCorrupt,
    /// It grows beyond what a trace can be.
    GzipExpansionCapped,
    /// Texts hold bytes that are not UTF-8.
    InvalidUtf8,
    /// The JSON ends early.
    JsonTruncated,
    /// The events are a list without a header.
    BareArray,
    /// The recording ends early.
    RecordingTruncated,
    /// A part of the recording is damaged.
    RecordingDamaged,
    /// The recorder left something out.
    NotRecorded,
    /// The profile ends early.
    MarshalTruncated,
    /// The profile is damaged.
    MarshalBroken,
    /// The protobuf ends early.
    ProtobufTruncated,
    /// The protobuf is damaged.
    ProtobufBroken,
    /// The pickle ends early.
    PickleTruncated,
    /// The pickle is damaged.
    PickleBroken,
    /// Bytes behind the end of the pickle were not looked at.
    BytesAfterStop,
    /// The pickle leaves values that belong to nothing.
    ValuesLeftOnTheStack,
    /// The snapshot has segments and no history.
    SegmentsOnly,
}

impl Note {
    /// The word in JSON.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::GzipTruncated => "gzip_truncated",
            Self::GzipCorrupt => "gzip_corrupt",
            Self::GzipExpansionCapped => "gzip_expansion_capped",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::JsonTruncated => "json_truncated",
            Self::BareArray => "bare_array",
            Self::RecordingTruncated => "recording_truncated",
            Self::RecordingDamaged => "recording_damaged",
            Self::NotRecorded => "not_recorded",
            Self::MarshalTruncated => "marshal_truncated",
            Self::MarshalBroken => "marshal_broken",
            Self::ProtobufTruncated => "protobuf_truncated",
            Self::ProtobufBroken => "protobuf_broken",
            Self::PickleTruncated => "pickle_truncated",
            Self::PickleBroken => "pickle_broken",
            Self::BytesAfterStop => "bytes_after_stop",
            Self::ValuesLeftOnTheStack => "values_left_on_the_stack",
            Self::SegmentsOnly => "segments_only",
        }
    }

    /// What is broken, in words; none where nothing is.
    #[must_use]
    pub fn damage(self) -> Option<&'static str> {
        Some(match self {
            Self::GzipTruncated => "gzip stream ends early",
            Self::GzipCorrupt => "gzip data is damaged",
            Self::GzipExpansionCapped => "gzip stream expands beyond any real trace",
            Self::JsonTruncated => "JSON ends early",
            Self::RecordingTruncated => "the trace ends early",
            Self::RecordingDamaged => "part of the trace is damaged",
            Self::NotRecorded => "some regions were not recorded",
            Self::MarshalTruncated => "profile ends early",
            Self::MarshalBroken => "profile is damaged, and what follows cannot be read",
            Self::ProtobufTruncated => "protobuf ends early",
            Self::ProtobufBroken => "protobuf is damaged, and what follows cannot be read",
            Self::PickleTruncated => "pickle ends early",
            Self::PickleBroken => "pickle is damaged, and what follows cannot be read",
            Self::BytesAfterStop => "bytes follow the end of the pickle and were not read",
            Self::ValuesLeftOnTheStack => "the pickle holds values that belong to nothing",
            Self::InvalidUtf8 | Self::BareArray | Self::SegmentsOnly => return None,
        })
    }

    /// Whether the file ends early.
    #[must_use]
    pub fn tells_early_end(self) -> bool {
        matches!(
            self,
            Self::GzipTruncated
                | Self::JsonTruncated
                | Self::RecordingTruncated
                | Self::MarshalTruncated
                | Self::ProtobufTruncated
                | Self::PickleTruncated
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_one_in_records() {
        let notes = [Note::GzipExpansionCapped, Note::InvalidUtf8, Note::BareArray, Note::ValuesLeftOnTheStack];
        for note in notes {
            assert_eq!(serde_json::to_value(note).unwrap(), note.as_text());
        }
    }
}
