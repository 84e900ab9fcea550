//! Which values become arrays.

use std::marker::PhantomData;

use ndarray::{Array1, Array2};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::number::{Number, Raw as _};
use super::{put, take};

/// Values that become one array.
pub trait Array: Sized {
    /// One of the values.
    type Item: Number;

    /// The sides of the array.
    fn shape(&self) -> Vec<usize>;

    /// The values, row after row.
    fn items(&self) -> impl Iterator<Item = Self::Item>;

    /// The same again; none if the shape has another number of sides.
    fn assemble(shape: &[usize], items: Vec<Self::Item>) -> Option<Self>;
}

impl<N: Number> Array for Vec<N> {
    type Item = N;

    fn shape(&self) -> Vec<usize> {
        vec![self.len()]
    }

    fn items(&self) -> impl Iterator<Item = N> {
        self.iter().copied()
    }

    fn assemble(shape: &[usize], items: Vec<N>) -> Option<Self> {
        (shape.len() == 1).then_some(items)
    }
}

impl<N: Number> Array for Array1<N> {
    type Item = N;

    fn shape(&self) -> Vec<usize> {
        vec![self.len()]
    }

    fn items(&self) -> impl Iterator<Item = N> {
        self.iter().copied()
    }

    fn assemble(shape: &[usize], items: Vec<N>) -> Option<Self> {
        (shape.len() == 1).then(|| Self::from(items))
    }
}

impl<N: Number> Array for Array2<N> {
    type Item = N;

    fn shape(&self) -> Vec<usize> {
        vec![self.nrows(), self.ncols()]
    }

    fn items(&self) -> impl Iterator<Item = N> {
        self.iter().copied()
    }

    fn assemble(shape: &[usize], items: Vec<N>) -> Option<Self> {
        let &[rows, columns] = shape else { return None };
        Self::from_shape_vec((rows, columns), items).ok()
    }
}

/// A number that a text cannot hold, as infinity.
impl Array for f64 {
    type Item = Self;

    fn shape(&self) -> Vec<usize> {
        Vec::new()
    }

    fn items(&self) -> impl Iterator<Item = Self> {
        std::iter::once(*self)
    }

    fn assemble(shape: &[usize], items: Vec<Self>) -> Option<Self> {
        items.first().copied().filter(|_| shape.is_empty())
    }
}

/// Keeps a field as an array: `#[serde(with = "hedgerow_core::saved::array")]`.
pub mod array {
    use serde::de::Error as _;

    use super::{Array, Deserializer, Number as _, Serializer, put, take};

    /// Writes the array.
    pub fn serialize<A: Array, S: Serializer>(array: &A, serializer: S) -> Result<S::Ok, S::Error> {
        put(serializer, || array.shape(), array.items())
    }

    /// Reads it.
    pub fn deserialize<'de, A: Array, D: Deserializer<'de>>(deserializer: D) -> Result<A, D::Error> {
        let (number, found) = take(deserializer)?;
        let (got, expected) = (found.values.dtype(), super::dtype::<A>());
        let wrong = |what: String| D::Error::custom(format!("array {number}: {what}"));
        let items = super::raw::<A>(found.values)
            .ok_or_else(|| wrong(format!("expected {}, got {}", expected.name(), got.name())))?;
        let items: Option<Vec<A::Item>> = items.into_iter().map(A::Item::from_raw).collect();
        let items = items.ok_or_else(|| wrong("a number out of range".into()))?;
        A::assemble(&found.shape, items)
            .ok_or_else(|| wrong(format!("{} sides are not what it should have", found.shape.len())))
    }
}

fn dtype<A: Array>() -> super::Dtype {
    <A::Item as Number>::Raw::DTYPE
}

fn raw<A: Array>(values: super::Values) -> Option<Vec<<A::Item as Number>::Raw>> {
    <A::Item as Number>::Raw::of(values)
}

/// Keeps a field as an array if it has a value.
pub mod optional {
    use super::{Array, Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(transparent, bound = "")]
    struct Kept<A: Array>(#[serde(with = "super::array")] A);

    struct Lent<'a, A>(&'a A);

    impl<A: Array> Serialize for Lent<'_, A> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            super::array::serialize(self.0, serializer)
        }
    }

    /// Writes the array, if there is one.
    pub fn serialize<A: Array, S: Serializer>(array: &Option<A>, serializer: S) -> Result<S::Ok, S::Error> {
        array.as_ref().map(Lent).serialize(serializer)
    }

    /// Reads it.
    pub fn deserialize<'de, A: Array, D: Deserializer<'de>>(deserializer: D) -> Result<Option<A>, D::Error> {
        Ok(Option::<Kept<A>>::deserialize(deserializer)?.map(|kept| kept.0))
    }
}

/// Values that are written as an array without being one in memory: whatever the closure goes through.
pub fn column<N: Number, I: Iterator<Item = N>>(items: impl Fn() -> I) -> impl Serialize {
    Column(items)
}

struct Column<F>(F);

impl<N: Number, I: Iterator<Item = N>, F: Fn() -> I> Serialize for Column<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        put(serializer, || vec![(self.0)().count()], (self.0)())
    }
}

/// Lists that are written as two arrays, all values and where each list ends among them. They are read as [`Lists`].
pub fn lists_of<N, L, I>(lists: impl Fn() -> I) -> impl Serialize
where
    N: Number,
    L: IntoIterator<Item = N, IntoIter: ExactSizeIterator>,
    I: Iterator<Item = L>,
{
    ListsOf(lists, PhantomData)
}

struct ListsOf<F, N>(F, PhantomData<N>);

impl<N, L, I, F> Serialize for ListsOf<F, N>
where
    N: Number,
    L: IntoIterator<Item = N, IntoIter: ExactSizeIterator>,
    I: Iterator<Item = L>,
    F: Fn() -> I,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ends = || {
            (self.0)().scan(0_usize, |end, list| {
                *end += list.into_iter().len();
                Some(*end)
            })
        };
        let mut out = serializer.serialize_struct("Lists", 2)?;
        out.serialize_field("ends", &column(ends))?;
        out.serialize_field("values", &column(|| (self.0)().flatten()))?;
        out.end()
    }
}

/// Lists of numbers, one after the other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Flat<N>", bound = "N: Number")]
pub struct Lists<N> {
    ends: Vec<usize>,
    values: Vec<N>,
}

#[derive(Deserialize)]
#[serde(bound = "N: Number")]
struct Flat<N> {
    #[serde(with = "array")]
    ends: Vec<usize>,
    #[serde(with = "array")]
    values: Vec<N>,
}

impl<N> TryFrom<Flat<N>> for Lists<N> {
    type Error = String;

    fn try_from(Flat { ends, values }: Flat<N>) -> Result<Self, String> {
        let len = values.len();
        if ends.is_sorted() && ends.last().copied().unwrap_or(0) == len {
            return Ok(Self { ends, values });
        }
        Err(format!("expected ends of lists that rise up to {len}"))
    }
}

impl<N: Number> Lists<N> {
    /// How many lists there are.
    pub fn n_lists(&self) -> usize {
        self.ends.len()
    }

    /// All values.
    pub fn values(&self) -> &[N] {
        &self.values
    }

    /// The lists.
    pub fn iter(&self) -> impl Iterator<Item = &[N]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.values[*start..*end])
    }
}

/// Keeps lists of numbers as two arrays: `#[serde(with = "hedgerow_core::saved::lists")]`.
pub mod lists {
    use super::{Deserialize as _, Deserializer, Lists, Number, Serialize as _, Serializer, lists_of};

    /// Writes the lists.
    pub fn serialize<N: Number, S: Serializer>(lists: &[Vec<N>], serializer: S) -> Result<S::Ok, S::Error> {
        lists_of(|| lists.iter().map(|list| list.iter().copied())).serialize(serializer)
    }

    /// Reads them.
    pub fn deserialize<'de, N: Number, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<N>>, D::Error> {
        Ok(Lists::deserialize(deserializer)?.iter().map(<[N]>::to_vec).collect())
    }
}
