//! What is left of a pickle that ends early: its open containers are closed, from the inside.

use super::arena::Value;
use super::fault::Fault;
use super::machine::Machine;
use super::path::Path;

impl Machine<'_> {
    /// Closes what is open; gives what the bottom of the stack holds then.
    ///
    /// A list takes the values above it, and the dict at the bottom its pairs. Any other open dict is lost.
    pub(super) fn close(&mut self) -> Result<Option<Value>, Fault> {
        while self.stack.len() > 1 {
            match self.marks.pop() {
                Some(0) => return Ok(None),
                Some(mark) => self.close_marked(mark)?,
                None => self.close_top()?,
            }
        }
        Ok(self.stack.first().copied().filter(|&value| value != Value::Mark))
    }

    /// Closes the container below a mark.
    fn close_marked(&mut self, mark: usize) -> Result<(), Fault> {
        let at = mark - 1;
        let mut end = mark;
        match self.stack[at] {
            Value::List(_) => self.hand_on(at, mark + 1)?,
            Value::Dict(root) if at == 0 => self.close_root(root, mark + 1)?,
            Value::Dict(dict) => {
                self.lose(at, dict);
                end = at;
            }
            _ => {}
        }
        self.stack.truncate(end);
        Ok(())
    }

    /// The root takes its pairs, and a list among them that waits for its only item takes it.
    fn close_root(&mut self, root: u32, first: usize) -> Result<(), Fault> {
        let values = &self.stack[first..];
        let is_text = |value: Value| matches!(value, Value::Word(_) | Value::Text(_));
        let pairs = 2 * values.chunks_exact(2).take_while(|pair| is_text(pair[0])).count();
        self.arena.extend_dict(root, &values[..pairs])?;
        if let (Some(&Value::List(list)), Some(&item @ Value::List(_))) =
            (pairs.checked_sub(1).map(|last| &values[last]), values.get(pairs))
        {
            self.arena.extend_list(list, &[item])?;
        }
        Ok(())
    }

    /// Gives the top of the stack to what is below it, where no mark is left.
    fn close_top(&mut self) -> Result<(), Fault> {
        let at = self.stack.len() - 1;
        match (self.stack[0], self.stack[at - 1], self.stack[at]) {
            (_, _, Value::Dict(dict)) => self.lose(at, dict),
            (_, Value::List(_), _) => self.hand_on(at - 1, at)?,
            (Value::Dict(root), key @ (Value::Word(_) | Value::Text(_)), value) if at == 2 => {
                self.arena.extend_dict(root, &[key, value])?;
                self.stack.truncate(1);
                return Ok(());
            }
            _ => {}
        }
        self.stack.truncate(at);
        Ok(())
    }

    fn lose(&mut self, at: usize, dict: u32) {
        let path = Path { stack: &self.stack, marks: &self.marks, arena: &self.arena };
        let is_element = path.is_element(at);
        self.teller.lose(self.arena.dict(dict).offset_bytes, is_element);
    }
}
