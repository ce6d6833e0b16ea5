//! Fixed-width rows: how a struct of numbers becomes bytes of a file and comes back.

use std::num::NonZeroU32;

/// Something with a fixed number of bytes.
pub(crate) trait Field: Copy {
    /// How many.
    const BYTES: usize;

    /// Appends the bytes.
    fn put(self, out: &mut Vec<u8>);

    /// Takes them from the front of `bytes`, which are long enough.
    fn take(bytes: &mut &[u8]) -> Self;
}

macro_rules! integer_fields {
    ($($type:ty),+) => {$(
        impl Field for $type {
            const BYTES: usize = size_of::<$type>();

            #[inline]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn take(bytes: &mut &[u8]) -> Self {
                match bytes.split_first_chunk() {
                    Some((first, rest)) => {
                        *bytes = rest;
                        Self::from_le_bytes(*first)
                    }
                    None => 0,
                }
            }
        }
    )+};
}

integer_fields!(u8, u16, u32, u64, i64);

impl Field for f64 {
    const BYTES: usize = u64::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        self.to_bits().put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        Self::from_bits(u64::take(bytes))
    }
}

impl Field for bool {
    const BYTES: usize = 1;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        u8::take(bytes) != 0
    }
}

impl Field for Option<NonZeroU32> {
    const BYTES: usize = u32::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        self.map_or(0, NonZeroU32::get).put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        NonZeroU32::new(u32::take(bytes))
    }
}

impl Field for Option<i64> {
    const BYTES: usize = 1 + i64::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.unwrap_or(0).put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        let is_some = bool::take(bytes);
        let value = i64::take(bytes);
        is_some.then_some(value)
    }
}

/// Defines a struct whose fields are `Field`s, and makes it one.
macro_rules! row {
    ($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name { $($(#[$field_attribute])* pub $field: $type,)+ }

        impl $crate::spill::row::Field for $name {
            const BYTES: usize = 0 $(+ <$type as $crate::spill::row::Field>::BYTES)+;

            #[inline]
            fn put(self, out: &mut Vec<u8>) {
                $($crate::spill::row::Field::put(self.$field, out);)+
            }

            #[inline]
            fn take(bytes: &mut &[u8]) -> Self {
                $(let $field = <$type as $crate::spill::row::Field>::take(bytes);)+
                Self { $($field,)+ }
            }
        }
    };
}
pub(crate) use row;

/// Enums that are stored as the place of their value in a list.
macro_rules! byte_fields {
    ($($type:ty: $values:expr, $place:expr;)+) => {$(
        impl $crate::spill::row::Field for $type {
            const BYTES: usize = 1;

            #[inline]
            fn put(self, out: &mut Vec<u8>) {
                let place: fn(Self) -> u8 = $place;
                out.push(place(self));
            }

            #[inline]
            fn take(bytes: &mut &[u8]) -> Self {
                $values[usize::from(<u8 as $crate::spill::row::Field>::take(bytes)) % $values.len()]
            }
        }
    )+};
}
pub(crate) use byte_fields;

#[cfg(test)]
mod tests {
    use super::*;

    row! {
        #[derive(PartialEq)]
        Example { small: u8, flag: bool, id: Option<NonZeroU32>, time: i64, maybe: Option<i64>, }
    }

    #[test]
    fn rows_come_back() {
        let mut bytes = Vec::new();
        let rows = [
            Example { small: 7, flag: true, id: NonZeroU32::new(9), time: i64::MIN, maybe: Some(-1) },
            Example { small: 0, flag: false, id: None, time: 3, maybe: None },
        ];
        for row in rows {
            row.put(&mut bytes);
        }
        assert_eq!(bytes.len(), 2 * Example::BYTES);
        let mut left = &bytes[..];
        assert_eq!([Example::take(&mut left), Example::take(&mut left)], rows);
    }
}
