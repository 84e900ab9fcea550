//! What serde cannot hand on: where arrays go to and come from while a model is serialized or read on this thread.

use std::any::Any;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::thread::LocalKey;

use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize as _, Serializer};

use super::ArrayInfo;
use super::number::{Number, Raw, StoredArray};

/// Bytes that are handed on together.
const CHUNK: usize = 1 << 16;
const OUTSIDE: &str = "arrays are kept in model files only";

thread_local! {
    /// The pass that is going on.
    static WRITING: RefCell<Option<Pass>> = const { RefCell::new(None) };
    /// The arrays of what is being read that have not been taken yet.
    static READING: RefCell<Option<Vec<Option<StoredArray>>>> = const { RefCell::new(None) };
}

/// One pass over a model.
pub(super) struct Pass {
    /// The width of the numbers that are written; none in the first pass.
    width: Option<usize>,
    /// Types and shapes, found in the first pass.
    pub(super) arrays: Vec<ArrayInfo>,
    /// What was made in the first pass, and is used in the same order in later ones.
    pub(super) made: Vec<Rc<dyn Any>>,
    /// Arrays and things made that this pass has met.
    n_arrays: usize,
    n_made: usize,
    /// Bytes on their way to the file.
    bytes: Vec<u8>,
}

impl Pass {
    pub(super) fn first() -> Self {
        Self { width: None, arrays: Vec::new(), made: Vec::new(), n_arrays: 0, n_made: 0, bytes: Vec::new() }
    }

    pub(super) fn of_width(width: usize, arrays: Vec<ArrayInfo>, made: Vec<Rc<dyn Any>>) -> Self {
        Self { width: Some(width), arrays, made, ..Self::first() }
    }

    /// The number of the next array, and how many numbers of it are to be written now.
    fn next(&mut self, info: impl FnOnce() -> ArrayInfo) -> (usize, Option<usize>) {
        let number = self.n_arrays;
        self.n_arrays += 1;
        if self.width.is_none() {
            self.arrays.push(info());
        }
        let array = self.arrays.get(number).filter(|array| Some(array.dtype.width()) == self.width);
        (number, array.map(ArrayInfo::n_items))
    }
}

/// Does the work within a pass, and returns what it gave and the pass.
pub(super) fn writing<T>(pass: Pass, work: impl FnOnce() -> T) -> (T, Pass) {
    let (outcome, pass) = during(&WRITING, pass, work);
    (outcome, pass.unwrap_or_else(Pass::first))
}

/// Does the work while arrays can be taken, and returns what it gave and how many are left.
pub(super) fn reading<T>(arrays: Vec<StoredArray>, work: impl FnOnce() -> T) -> (T, usize) {
    let (outcome, left) = during(&READING, arrays.into_iter().map(Some).collect(), work);
    (outcome, left.into_iter().flatten().flatten().count())
}

type Current<S> = &'static LocalKey<RefCell<Option<S>>>;

fn during<S: 'static, T>(current: Current<S>, state: S, work: impl FnOnce() -> T) -> (T, Option<S>) {
    /// Puts back what was going on before, even if the work panics.
    struct Before<S: 'static>(Current<S>, Option<S>);
    impl<S> Drop for Before<S> {
        fn drop(&mut self) {
            self.0.replace(self.1.take());
        }
    }
    let _before = Before(current, current.replace(Some(state)));
    let outcome = work();
    (outcome, current.take())
}

/// Calls `with` with the pass that is going on; none if nothing is being written.
fn in_pass<T>(with: impl FnOnce(&mut Pass) -> T) -> Option<T> {
    WRITING.with_borrow_mut(|pass| pass.as_mut().map(with))
}

/// Writes an array, or its number in the text.
pub(crate) fn put<N: Number, S: Serializer>(
    serializer: S,
    shape: impl FnOnce() -> Vec<usize>,
    mut items: impl Iterator<Item = N>,
) -> Result<S::Ok, S::Error> {
    let info = || ArrayInfo { dtype: N::Raw::DTYPE, shape: shape() };
    let Some((number, n_items)) = in_pass(|pass| pass.next(info)) else {
        return Err(S::Error::custom(OUTSIDE));
    };
    let Some(mut n_left) = n_items else { return number.serialize(serializer) };
    // The pieces of text that are written for the elements carry the bytes on.
    let mut pieces = serializer.serialize_seq(None)?;
    while n_left > 0 {
        let mut bytes = in_pass(|pass| std::mem::take(&mut pass.bytes)).unwrap_or_default();
        let n = n_left.min(CHUNK / N::Raw::DTYPE.width());
        let mut n_put = 0;
        for item in items.by_ref().take(n) {
            item.raw().put(&mut bytes);
            n_put += 1;
        }
        if n_put < n {
            return Err(S::Error::custom(format!("array {number} is shorter than it was")));
        }
        n_left -= n;
        in_pass(|pass| pass.bytes = bytes);
        pieces.serialize_element(&0_u8)?;
    }
    pieces.end()
}

/// The array of a number in the text. Each can be taken once, so that a file cannot stand for more than its length.
pub(crate) fn take<E: serde::de::Error>(number: usize) -> Result<StoredArray, E> {
    let taken = |arrays: &mut Vec<Option<StoredArray>>| arrays.get_mut(number).and_then(Option::take);
    let array = READING.with_borrow_mut(|arrays| arrays.as_mut().map(taken));
    array
        .ok_or_else(|| E::custom(OUTSIDE))?
        .ok_or_else(|| E::custom(format!("array {number} is missing or used twice")))
}

pub(super) fn once<T: 'static>(make: impl FnOnce() -> T) -> Rc<T> {
    let known = in_pass(|pass| {
        let known = pass.made.get(pass.n_made).cloned();
        pass.n_made += 1;
        known
    });
    if let Some(Ok(known)) = known.flatten().map(Rc::downcast) {
        return known;
    }
    let made = Rc::new(make());
    in_pass(|pass| pass.made.push(Rc::clone(&made) as Rc<dyn Any>));
    made
}

/// Takes the text of a later pass, which is not needed, and writes the bytes that have gathered.
pub(super) struct Drain<'a>(pub(super) &'a mut dyn Write);

impl Write for Drain<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut bytes = in_pass(|pass| std::mem::take(&mut pass.bytes)).unwrap_or_default();
        self.0.write_all(&bytes)?;
        bytes.clear();
        in_pass(|pass| pass.bytes = bytes);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
