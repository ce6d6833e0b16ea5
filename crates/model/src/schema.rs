//! Tables and their documented columns, without a word about Arrow or Parquet.

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer; also every time and duration, in nanoseconds.
    I64,
    /// 64-bit float.
    F64,
    /// True or false.
    Bool,
    /// Text. Repeated texts cost little: every text column is dictionary-encoded.
    Text,
}

impl ColumnType {
    /// The name that `stepscope schema` shows.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::F64 => "float64",
            Self::Bool => "bool",
            Self::Text => "text",
        }
    }
}

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in SQL; times end in `_ns`, sizes in `_bytes`, ids in `_id`.
    pub name: &'static str,
    /// Type of its values.
    pub column_type: ColumnType,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// What it means, in one sentence.
    pub doc: &'static str,
}

impl Column {
    /// A column that always has a value.
    #[must_use]
    pub const fn required(name: &'static str, column_type: ColumnType, doc: &'static str) -> Self {
        Self { name, column_type, nullable: false, doc }
    }

    /// A column whose value may be missing.
    #[must_use]
    pub const fn optional(name: &'static str, column_type: ColumnType, doc: &'static str) -> Self {
        Self { name, column_type, nullable: true, doc }
    }
}

/// One table of a store.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name in SQL and of its folder in a run.
    pub name: &'static str,
    /// What a row is, in one sentence.
    pub doc: &'static str,
    /// The columns, in order, one slice a group; `columns()` joins them.
    pub groups: &'static [&'static [Column]],
}

impl Table {
    /// The columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}
