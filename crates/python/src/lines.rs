//! Hears of every line that Python runs: through `sys.monitoring` from Python 3.12, before it as a C trace function.
//! `line_counts` counts, `python/stepscope/lines` says which code is wanted and installs what is here.
#![expect(unsafe_code, reason = "a C trace function is called with bare pointers, and set through one")]

use std::cell::{RefCell, RefMut};
use std::ffi::c_int;
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};

use crate::line_counts::{Happening, LineCounts, Memory, Moment};

/// `Py_tracefunc` and `PyEval_SetTrace` of Python 3.10 and 3.11, which the stable interface leaves out.
type TraceFunction =
    unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyFrameObject, c_int, *mut ffi::PyObject) -> c_int;
type SetTrace = unsafe extern "C" fn(Option<TraceFunction>, *mut ffi::PyObject);

/// `PyTrace_CALL`, `PyTrace_LINE` and `PyTrace_RETURN`; a generator calls when it goes on, and returns when it yields.
const CALL: c_int = 0;
const LINE: c_int = 2;
const RETURN: c_int = 3;

/// `CO_GENERATOR`, `CO_COROUTINE` and `CO_ASYNC_GENERATOR`.
const IS_GENERATOR: u32 = 0x20 | 0x80 | 0x200;

static SET_TRACE: OnceLock<SetTrace> = OnceLock::new();
static THREADS: AtomicUsize = AtomicUsize::new(0);
thread_local!(static THREAD: usize = THREADS.fetch_add(1, Relaxed));

/// Counts the lines of the code that `wants(code)` is true for, which is asked once for each. `measure()` gives the
/// bytes of the process and of Python's objects.
#[pyclass(frozen)]
pub(crate) struct LineRecorder {
    wants: Py<PyAny>,
    measure: Py<PyAny>,
    /// `sys.monitoring.DISABLE`, where there is one.
    disable: Option<Py<PyAny>>,
    is_on: AtomicBool,
    measures_memory: AtomicBool,
    state: Held<State>,
}

/// What is only touched by the thread that holds the interpreter, and never while Python code runs, as that may let
/// another thread hold it. A lock would cost as much as all the counting.
#[derive(Default)]
struct Held<T>(RefCell<T>);

// SAFETY: `get` wants the proof that this thread holds the interpreter, which one thread does at a time: the wheel is
// not for interpreters without that rule, and Python refuses to load it there. Were it touched while Python code runs,
// the cell would notice.
unsafe impl<T: Send> Sync for Held<T> {}

impl<T> Held<T> {
    fn get(&self, _py: Python<'_>) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }
}

#[derive(Default)]
struct State {
    /// By address, which no other code gets as long as this one is kept.
    known: HashMap<usize, Known>,
    functions: Vec<Function>,
    lines: LineCounts,
}

struct Known {
    /// Kept for its address.
    _code: Py<PyAny>,
    function: Option<u32>,
}

struct Function {
    code: Py<PyAny>,
    /// Where a generator begins: a frame of it that is entered elsewhere is one that goes on.
    generator_line: Option<u32>,
}

/// A line's code, number, hits, time, and growth of the process and of Python's objects.
type Row = (Py<PyAny>, u32, u64, u64, i64, i64);

#[pymethods]
impl LineRecorder {
    #[new]
    fn new(py: Python<'_>, wants: Py<PyAny>, measure: Py<PyAny>) -> PyResult<Self> {
        let monitoring = py.import("sys")?.getattr_opt("monitoring")?;
        let disable = monitoring.map(|monitoring| monitoring.getattr("DISABLE")).transpose()?.map(Bound::unbind);
        let (is_on, measures_memory) = (AtomicBool::new(true), AtomicBool::new(false));
        Ok(Self { wants, measure, disable, is_on, measures_memory, state: Held::default() })
    }

    /// Measures memory with every line from now on, or no longer.
    fn set_memory(&self, measures_memory: bool) {
        self.measures_memory.store(measures_memory, Relaxed);
    }

    /// Asks again about code that was not wanted.
    fn reconsider(&self, py: Python<'_>) {
        let mut state = self.state.get(py);
        let (wanted, unwanted) = mem::take(&mut state.known).into_iter().partition(|(_, it)| it.function.is_some());
        state.known = wanted;
        drop(state);
        // Code that ends here may have more to say.
        drop::<HashMap<usize, Known>>(unwanted);
    }

    /// All lines so far, and the time in which lines ran. At an end, the line that ends it is left out.
    fn snapshot(&self, py: Python<'_>, is_end: bool) -> (Vec<Row>, u64) {
        let thread = THREAD.with(|thread| *thread);
        let now = Moment { time: Instant::now(), memory: self.memory(py) };
        let mut state = self.state.get(py);
        state.lines.settle(now, is_end.then_some(thread));
        let last = state.lines.current_place(thread).filter(|_| is_end);
        let counts = state.lines.counts().iter().enumerate();
        let rows = counts.map(|(place, count)| {
            let code = state.functions[count.function as usize].code.clone_ref(py);
            let hits = count.hits - u64::from(last == Some(place) && count.hits > 0);
            (code, count.line, hits, count.time_ns, count.growth_bytes[0], count.growth_bytes[1])
        });
        (rows.collect(), state.lines.total_ns())
    }

    /// Ends the recording on every thread: each one takes its trace function off when it next comes by.
    fn end(&self) {
        self.is_on.store(false, Relaxed);
    }

    /// Python 3.10 and 3.11: hears of the lines of this thread.
    fn trace_thread(slf: &Bound<'_, Self>) -> PyResult<()> {
        set_trace(slf.py(), Some(slf))
    }

    /// Python 3.10 and 3.11: takes the trace function of this thread off.
    fn untrace_thread(slf: &Bound<'_, Self>) -> PyResult<()> {
        set_trace(slf.py(), None)
    }

    /// `PY_START`.
    fn on_start(&self, py: Python<'_>, code: &Bound<'_, PyAny>, _offset: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
        self.monitored(py, code, || Happening::Enter { resumed_line: None })
    }

    /// `PY_RESUME`.
    fn on_resume(&self, py: Python<'_>, code: &Bound<'_, PyAny>, _offset: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
        self.monitored(py, code, || Happening::Enter { resumed_line: current_line() })
    }

    /// `PY_THROW`, which cannot be switched off for some code.
    fn on_throw(
        &self,
        py: Python<'_>,
        code: &Bound<'_, PyAny>,
        _offset: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
    ) {
        self.monitored(py, code, || Happening::Enter { resumed_line: current_line() });
    }

    /// `LINE`.
    fn on_line(&self, py: Python<'_>, code: &Bound<'_, PyAny>, line: u32) -> Option<Py<PyAny>> {
        self.monitored(py, code, || Happening::Line(line))
    }

    /// `PY_RETURN` and `PY_YIELD`.
    fn on_leave(
        &self,
        py: Python<'_>,
        code: &Bound<'_, PyAny>,
        _offset: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
    ) -> Option<Py<PyAny>> {
        self.monitored(py, code, || Happening::Leave)
    }

    /// `PY_UNWIND`, which cannot be switched off for some code.
    fn on_unwind(
        &self,
        py: Python<'_>,
        code: &Bound<'_, PyAny>,
        _offset: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
    ) {
        self.monitored(py, code, || Happening::Leave);
    }
}

impl LineRecorder {
    /// A callback of `sys.monitoring`: gives `DISABLE` for code that is not wanted. Callbacks name no frame; as every
    /// beginning and end is heard of, the latest frame with this code is the one.
    fn monitored(
        &self,
        py: Python<'_>,
        code: &Bound<'_, PyAny>,
        happening: impl FnOnce() -> Happening,
    ) -> Option<Py<PyAny>> {
        let Some((state, function)) = self.find(py, code.as_borrowed()) else {
            return self.disable.as_ref().map(|disable| disable.clone_ref(py));
        };
        self.count(py, state, code.as_ptr() as usize, function, &happening());
        None
    }

    /// An event of the trace function.
    fn traced(&self, py: Python<'_>, code: Borrowed<'_, '_, PyAny>, frame: *mut ffi::PyFrameObject, what: c_int) {
        let Some((state, function)) = self.find(py, code) else { return };
        let happening = match what {
            CALL => {
                let begin = state.functions[function as usize].generator_line;
                Happening::Enter { resumed_line: begin.and_then(|begin| line_of(frame).filter(|line| *line != begin)) }
            }
            LINE => match line_of(frame) {
                Some(line) => Happening::Line(line),
                None => return,
            },
            _ => Happening::Leave,
        };
        self.count(py, state, frame as usize, function, &happening);
    }

    fn count<'a>(
        &'a self,
        py: Python<'_>,
        mut state: RefMut<'a, State>,
        key: usize,
        function: u32,
        happening: &Happening,
    ) {
        let time = Instant::now();
        let mut memory = None;
        if self.measures_memory.load(Relaxed) {
            drop(state);
            memory = self.memory(py);
            state = self.state.get(py);
        }
        THREAD.with(|thread| state.lines.happen(*thread, key, function, happening, Moment { time, memory }));
    }

    /// The function of some code, if it is wanted, with the state.
    fn find(&self, py: Python<'_>, code: Borrowed<'_, '_, PyAny>) -> Option<(RefMut<'_, State>, u32)> {
        let state = self.state.get(py);
        if let Some(known) = state.known.get(&(code.as_ptr() as usize)) {
            return known.function.map(|function| (state, function));
        }
        drop(state);
        let wanted = self.ask(py, code).unwrap_or_else(|error| {
            error.write_unraisable(py, Some(&code));
            None
        });
        let (known, address) = (code.to_owned().unbind(), code.as_ptr() as usize);
        let mut state = self.state.get(py);
        let function = wanted.map(|function| {
            state.functions.push(function);
            state.functions.len() as u32 - 1
        });
        state.known.insert(address, Known { _code: known, function });
        function.map(|function| (state, function))
    }

    fn ask(&self, py: Python<'_>, code: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Function>> {
        if !self.wants.bind(py).call1((code,))?.is_truthy()? {
            return Ok(None);
        }
        let is_generator = code.getattr("co_flags")?.extract::<u32>()? & IS_GENERATOR != 0;
        let first_line = code.getattr("co_firstlineno")?.extract()?;
        Ok(Some(Function { code: code.to_owned().unbind(), generator_line: is_generator.then_some(first_line) }))
    }

    fn memory(&self, py: Python<'_>) -> Option<Memory> {
        let is_measured = self.measures_memory.load(Relaxed);
        is_measured.then(|| self.measure.bind(py).call0().and_then(|it| it.extract()).ok()).flatten()
    }
}

/// Sets or takes off the trace function of this thread.
fn set_trace(py: Python<'_>, recorder: Option<&Bound<'_, LineRecorder>>) -> PyResult<()> {
    let set_trace = match SET_TRACE.get() {
        Some(known) => *known,
        None => *SET_TRACE.get_or_init({
            let found = find_set_trace(py)?;
            move || found
        }),
    };
    let function = recorder.map(|_| on_trace as TraceFunction);
    let object = recorder.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: `on_trace` is what Python 3.10 and 3.11 call a trace function; Python keeps the object that it hands to
    // it. We hold the interpreter.
    unsafe { set_trace(function, object) };
    Ok(())
}

/// Looked up by name: to link it would tie the wheel to one version of Python.
fn find_set_trace(py: Python<'_>) -> PyResult<SetTrace> {
    let ctypes = py.import("ctypes")?;
    let function = ctypes.getattr("pythonapi")?.getattr("PyEval_SetTrace")?;
    let pointer = ctypes.call_method1("cast", (function, ctypes.getattr("c_void_p")?))?;
    let address: usize = pointer.getattr("value")?.extract()?;
    // SAFETY: it is the address of `PyEval_SetTrace`, which has had this signature since before Python 3.10.
    Ok(unsafe { mem::transmute::<usize, SetTrace>(address) })
}

/// What Python 3.10 and 3.11 call for every event of a thread.
unsafe extern "C" fn on_trace(
    recorder: *mut ffi::PyObject,
    frame: *mut ffi::PyFrameObject,
    what: c_int,
    _argument: *mut ffi::PyObject,
) -> c_int {
    if !matches!(what, CALL | LINE | RETURN) {
        return 0;
    }
    // SAFETY: Python holds the interpreter for us, and hands over the object that `set_trace` has given to it, which is
    // a `LineRecorder`.
    let (py, recorder) = unsafe {
        let py = Python::assume_attached();
        (py, Borrowed::from_ptr(py, recorder).cast_unchecked::<LineRecorder>().get())
    };
    if !recorder.is_on.load(Relaxed) {
        // It cannot fail: somebody has set the function before.
        let _ = set_trace(py, None);
        return 0;
    }
    // SAFETY: the frame is alive as long as this call, and keeps its code alive; the reference is given back.
    unsafe {
        let code = ffi::PyFrame_GetCode(frame).cast();
        recorder.traced(py, Borrowed::from_ptr(py, code), frame, what);
        ffi::Py_DECREF(code);
    }
    0
}

/// The line that a frame is at; code without lines has none.
fn line_of(frame: *mut ffi::PyFrameObject) -> Option<u32> {
    // SAFETY: callers have the frame from Python just now.
    u32::try_from(unsafe { ffi::PyFrame_GetLineNumber(frame) }).ok()
}

/// The line that this thread is at.
fn current_line() -> Option<u32> {
    // SAFETY: callbacks hold the interpreter; the frame is borrowed from this thread.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    if frame.is_null() { None } else { line_of(frame) }
}
