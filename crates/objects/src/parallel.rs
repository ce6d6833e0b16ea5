//! Several requests at once: most of their time is waiting.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Requests at once.
const REQUESTS: usize = 16;

/// How often a caller hears how far it is.
const TICK: Duration = Duration::from_millis(50);

/// Does `task` for every item, several at once; the answers in order, or the first error that was met.
pub fn each<T: Sync, R: Send, E: Send>(items: &[T], task: impl Fn(&T) -> Result<R, E> + Sync) -> Result<Vec<R>, E> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers: Vec<Mutex<Option<Result<R, E>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while !has_failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(item), Some(place)) = (items.get(index), answers.get(index)) else { return };
            let answer = task(item);
            has_failed.fetch_or(answer.is_err(), Ordering::Relaxed);
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        }
    };
    thread::scope(|scope| {
        for _ in 1..REQUESTS.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    // Without an error all have an answer; with one, it is among them.
    let (mut found, mut failed) = (Vec::with_capacity(items.len()), None);
    for answer in answers.into_iter().filter_map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        match answer {
            Ok(answer) => found.push(answer),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(found), Err)
}

/// Does `task` for every item, several at once; the answers in order. `go_on` is asked now and then on the caller's thread:
/// with `Break` nothing new begins, and there is no answer.
pub fn watched<T: Sync, R: Send>(
    items: &[T],
    go_on: &dyn Fn() -> ControlFlow<()>,
    task: impl Fn(&T) -> R + Sync,
) -> Option<Vec<R>> {
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        let (next, is_over, task) = (&next, &is_over, &task);
        for _ in 0..REQUESTS.min(items.len()) {
            let sender = sender.clone();
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    // Nobody listens any more after a break.
                    let _ = sender.send((index, task(item)));
                }
            });
        }
        drop(sender);
        let mut answers = Vec::with_capacity(items.len());
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(answer) => answers.push(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if go_on().is_break() {
                is_over.store(true, Ordering::Relaxed);
                return None;
            }
        }
        answers.sort_unstable_by_key(|(index, _)| *index);
        Some(answers.into_iter().map(|(_, answer)| answer).collect())
    })
}

/// Fetches items ahead of `take`, which gets them in order, and ends at its first error. A few are in memory at a time.
pub fn ahead<R: Send, E>(
    count: usize,
    fetch: impl Fn(usize) -> R + Sync,
    mut take: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let threads = REQUESTS.min(count);
    thread::scope(|scope| {
        let fetch = &fetch;
        let channels = (0..threads).map(|first| {
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || {
                // Nobody listens any more after an error.
                (first..count).step_by(threads).all(|index| sender.send(fetch(index)).is_ok())
            });
            receiver
        });
        let channels: Vec<_> = channels.collect();
        for index in 0..count {
            let Ok(item) = channels[index % threads].recv() else { break };
            take(index, item)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watched_caller_may_end_the_work() {
        let items: Vec<usize> = (0..100).collect();
        let all = watched(&items, &|| ControlFlow::Continue(()), |item| item * 2);
        assert_eq!(all, Some((0..100).map(|item| item * 2).collect()));
        assert_eq!(watched(&items, &|| ControlFlow::Break(()), |item| item * 2), None);
        assert_eq!(watched(&[] as &[u8], &|| ControlFlow::Continue(()), |item| *item), Some(Vec::new()));
    }

    #[test]
    fn answers_come_in_order_and_errors_end_the_work() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = each(&items, |item| Ok::<_, String>(item * 2));
        assert_eq!(doubled.unwrap(), (0..100).map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(each(&items, |item| if *item < 50 { Ok(()) } else { Err(*item / 50) }), Err(1));
        assert_eq!(each(&[] as &[u8], |_| Err::<(), ()>(())), Ok(Vec::new()));

        let mut seen = Vec::new();
        let outcome = ahead(
            100,
            |index| index * 3,
            |index, item| {
                seen.push((index, item));
                if index == 70 { Err("enough") } else { Ok(()) }
            },
        );
        assert_eq!(outcome, Err("enough"));
        assert_eq!(seen, (0..=70).map(|index| (index, index * 3)).collect::<Vec<_>>());
        assert_eq!(ahead(0, |index| index, |_, _| Err(())), Ok(()));
    }
}
