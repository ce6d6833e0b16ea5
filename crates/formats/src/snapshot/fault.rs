//! Why a pickle is not read to its end.

use std::io;

use crate::error::FormatError;

/// What to do about a pickle that is refused.
const WRITE_AGAIN: &str = "write the snapshot again with `torch.cuda.memory._dump_snapshot(path)`";

/// Levels of containers in each other.
pub(super) const MAX_DEPTH: usize = 64;

/// Values on the stack, or in one container.
pub(super) const MAX_VALUES: usize = 16 << 20;

/// Memory for the values that are held at once, without the stack. Real snapshots hold a few percent of their size.
pub(super) const MAX_HELD_BYTES: usize = 128 << 20;

/// Why the machine stops before the end. All but the first two refuse the file.
#[derive(Debug)]
pub(super) enum Fault {
    /// The bytes end, or a length goes past their end.
    Cut,
    /// It contradicts itself.
    Broken,
    /// A container would hold itself: nothing of it can be read.
    Recursive,
    TooDeep,
    TooManyValues,
    TooMuchMemory,
    TooManySlots,
    /// An opcode that is not on the list.
    Refused(&'static str),
    /// A version that is not known.
    Protocol(u8),
    Io(io::Error),
    /// The sink asked for it.
    Stopped,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Fault {
    /// The damage that what was read before survives, or the refusal.
    pub(super) fn damage(self, offset_bytes: u64) -> Result<Damage, FormatError> {
        let reason = match self {
            Self::Cut => return Ok(Damage::Cut),
            Self::Broken => return Ok(Damage::Broken),
            Self::Recursive => return Err(not_a_snapshot()),
            Self::Io(error) => return Err(error.into()),
            Self::Stopped => return Err(FormatError::Stopped),
            Self::TooDeep => format!("that nests more than {MAX_DEPTH} levels deep at byte {offset_bytes}"),
            Self::TooManyValues => format!("with more than {MAX_VALUES} values at once at byte {offset_bytes}"),
            Self::TooMuchMemory => {
                format!("whose values take more than {} MiB at once at byte {offset_bytes}", MAX_HELD_BYTES >> 20)
            }
            Self::TooManySlots => format!("with more memo slots than any snapshot has at byte {offset_bytes}"),
            Self::Refused(opcode) => format!("with the opcode {opcode} at byte {offset_bytes}, {}", danger(opcode)),
            Self::Protocol(version) => format!("of pickle protocol {version} at byte {offset_bytes}, which is unknown"),
        };
        Err(FormatError::Refused { reason: format!("a Python pickle {reason}"), hint: WRITE_AGAIN })
    }
}

/// Damage that costs what follows it, and nothing before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The file ends early.
    Cut,
    /// It contradicts itself.
    Broken,
}

/// The refusal of a pickle that is something else.
pub(super) fn not_a_snapshot() -> FormatError {
    FormatError::Refused {
        reason: "a Python pickle that is not a memory snapshot".to_owned(),
        hint: "pass a file that `torch.cuda.memory._dump_snapshot(path)` wrote, or a Chrome trace",
    }
}

fn danger(opcode: &str) -> &'static str {
    match opcode {
        "EMPTY_SET" | "ADDITEMS" | "FROZENSET" => "which no memory snapshot has",
        "NEXT_BUFFER" | "READONLY_BUFFER" => "which needs data from outside the file",
        _ => "which can run code",
    }
}
