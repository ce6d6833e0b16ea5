//! Windows of time that a sweep shares time out to.

/// Windows in the order of their starts; they may overlap. Time comes in order, too.
#[derive(Debug)]
pub(crate) struct Windows<T> {
    list: Vec<Window<T>>,
    /// Windows that began and go on.
    open: Vec<usize>,
    /// First window that has not begun.
    next: usize,
}

/// A window and what it got.
#[derive(Debug)]
pub(crate) struct Window<T> {
    pub start_ns: i64,
    pub end_ns: i64,
    pub got: T,
}

impl<T: Default> Windows<T> {
    /// `windows` must come in the order of their starts.
    pub(crate) fn new(windows: impl Iterator<Item = (i64, i64)>) -> Self {
        let list = windows.map(|(start_ns, end_ns)| Window { start_ns, end_ns, got: T::default() }).collect();
        Self { list, open: Vec::new(), next: 0 }
    }

    /// Gives the time from `start_ns` to `end_ns` to every window that it lies in: `give` gets how much of it does.
    pub(crate) fn share_out(&mut self, start_ns: i64, end_ns: i64, mut give: impl FnMut(&mut T, i64)) {
        while self.list.get(self.next).is_some_and(|window| window.start_ns < end_ns) {
            self.open.push(self.next);
            self.next += 1;
        }
        for &index in &self.open {
            let window = &mut self.list[index];
            let length_ns = end_ns.min(window.end_ns) - start_ns.max(window.start_ns);
            give(&mut window.got, length_ns.max(0));
        }
        self.open.retain(|index| self.list[*index].end_ns > end_ns);
    }

    /// The windows, in the order they came in.
    pub(crate) fn finish(self) -> Vec<Window<T>> {
        self.list
    }
}
