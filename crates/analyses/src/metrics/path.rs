//! What a span inherits from those that enclose it, in one pass over spans in the order of the table.

/// The way down to the last span, and what each span on it passes on.
///
/// The order of the table is that of nesting: the parent of the next span is always on the way to the last one. So the
/// way is all that has to be kept, however many spans there are.
pub(super) struct Path<T> {
    open: Vec<(i64, T)>,
}

impl<T: Copy> Path<T> {
    /// No span yet.
    pub(super) fn new() -> Self {
        Self { open: Vec::new() }
    }

    /// Goes up to the parent of the next span and returns what it passes on.
    pub(super) fn up_to(&mut self, parent_id: Option<i64>) -> Option<T> {
        while let Some(&(id, inheritance)) = self.open.last() {
            if Some(id) == parent_id {
                return Some(inheritance);
            }
            self.open.pop();
        }
        None
    }

    /// Goes down to a span that passes on `inheritance`.
    pub(super) fn down_to(&mut self, span_id: i64, inheritance: T) {
        self.open.push((span_id, inheritance));
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_span_inherits_from_its_parent_alone() {
        // 0 > (1 > 2, 3), then 4 beside 0: each span passes on how deep it is.
        let mut path = Path::new();
        for (span, parent, want) in
            [(0, None, None), (1, Some(0), Some(1)), (2, Some(1), Some(2)), (3, Some(0), Some(1)), (4, None, None)]
        {
            let depth = path.up_to(parent);
            assert_eq!(depth, want, "span {span}");
            path.down_to(span, depth.unwrap_or(0) + 1);
        }
    }
}
