//! Members of dicts, with the types that they should have. A member of another type is null, and counted.

use stepscope_model::warning::WRONG_TYPES;

use super::arena::{Arena, Value};
use super::teller::Teller;

impl Teller<'_> {
    /// An integer that fits.
    pub(super) fn int(&mut self, value: Value, offset_bytes: u64) -> Option<i64> {
        match value {
            Value::Int(number) => return Some(number),
            Value::None => {}
            _ => self.warn(WRONG_TYPES, offset_bytes, "not an integer"),
        }
        None
    }

    /// An address.
    pub(super) fn address(&mut self, arena: &Arena, value: Value, offset_bytes: u64) -> Option<u64> {
        let address = match value {
            Value::Int(number) => u64::try_from(number).ok(),
            Value::LargeInt(number) => arena.digits(number).parse().ok(),
            Value::None => return None,
            _ => None,
        };
        if address.is_none() {
            self.warn(WRONG_TYPES, offset_bytes, "not an address");
        }
        address
    }

    /// Whether something is so.
    pub(super) fn truth(&mut self, value: Value, offset_bytes: u64) -> Option<bool> {
        match value {
            Value::Bool(value) => return Some(value),
            Value::None => {}
            _ => self.warn(WRONG_TYPES, offset_bytes, "not true or false"),
        }
        None
    }

    /// A text; the value, so that nothing is borrowed.
    pub(super) fn text(&mut self, value: Value, offset_bytes: u64) -> Option<Value> {
        match value {
            Value::Word(_) | Value::Text(_) => return Some(value),
            Value::None => {}
            _ => self.warn(WRONG_TYPES, offset_bytes, "not a string"),
        }
        None
    }
}
