//! Which values become arrays.

use std::marker::PhantomData;

use ndarray::{Array1, Array2};
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::number::{Number, Raw as _, StoredArray};
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

macro_rules! one_sided {
    ($($list:ident),*) => {$(
        impl<N: Number> Array for $list<N> {
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
    )*};
}

one_sided!(Vec, Array1);

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
    use super::{Array, Deserialize as _, Deserializer, Serializer, put, read};

    /// Writes the array.
    pub fn serialize<A: Array, S: Serializer>(array: &A, serializer: S) -> Result<S::Ok, S::Error> {
        put(serializer, || array.shape(), array.items())
    }

    /// Reads it.
    pub fn deserialize<'de, A: Array, D: Deserializer<'de>>(deserializer: D) -> Result<A, D::Error> {
        read(usize::deserialize(deserializer)?)
    }
}

/// Keeps a field as an array if it has a value.
pub mod optional {
    use super::{Array, Deserialize as _, Deserializer, Serializer, array, read};

    /// Writes the array, if there is one.
    pub fn serialize<A: Array, S: Serializer>(value: &Option<A>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => array::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads it.
    pub fn deserialize<'de, A: Array, D: Deserializer<'de>>(deserializer: D) -> Result<Option<A>, D::Error> {
        Option::<usize>::deserialize(deserializer)?.map(read).transpose()
    }
}

/// The array of a number.
fn read<A: Array, E: serde::de::Error>(number: usize) -> Result<A, E> {
    let StoredArray { shape, values } = take(number)?;
    let wrong = |what: String| E::custom(format!("array {number}: {what}"));
    let (got, expected) = (values.dtype().name(), <A::Item as Number>::Raw::DTYPE.name());
    let raw = <A::Item as Number>::Raw::of(values)
        .ok_or_else(|| wrong(format!("expected {expected}, got {got}")))?;
    let items: Option<Vec<A::Item>> = raw.into_iter().map(A::Item::from_raw).collect();
    let items = items.ok_or_else(|| wrong("a number out of range".into()))?;
    A::assemble(&shape, items).ok_or_else(|| wrong(format!("{} sides are too many or too few", shape.len())))
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

/// Records that are kept as columns; see [`columns!`](crate::columns).
pub trait Columnar: Sized {
    /// The columns, as they are read.
    type Columns: DeserializeOwned;

    /// Writes the columns of records.
    fn write<'a, I: Iterator<Item = &'a Self>, S: Serializer>(
        records: impl Fn() -> I,
        serializer: S,
    ) -> Result<S::Ok, S::Error>
    where
        Self: 'a;

    /// The records again; none if the columns do not fit together.
    fn assemble(columns: Self::Columns) -> Option<Vec<Self>>;
}

/// Keeps records, or lists of numbers, as columns: `#[serde(with = "hedgerow_core::saved::columns")]`.
pub mod columns {
    use super::{Columnar, Deserialize as _, Deserializer, Serializer};

    /// Writes the columns.
    pub fn serialize<T: Columnar, S: Serializer>(records: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        T::write(|| records.iter(), serializer)
    }

    /// Reads them.
    pub fn deserialize<'de, T: Columnar, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        let columns = T::Columns::deserialize(deserializer)?;
        T::assemble(columns).ok_or_else(|| serde::de::Error::custom("columns that do not fit together"))
    }
}

impl<N: Number> Columnar for Vec<N> {
    type Columns = Lists<N>;

    fn write<'a, I: Iterator<Item = &'a Self>, S: Serializer>(
        records: impl Fn() -> I,
        serializer: S,
    ) -> Result<S::Ok, S::Error>
    where
        N: 'a,
    {
        lists_of(|| records().map(|list| list.iter().copied())).serialize(serializer)
    }

    fn assemble(columns: Lists<N>) -> Option<Vec<Self>> {
        Some(columns.iter().map(<[N]>::to_vec).collect())
    }
}

/// A column of numbers, as it is read.
#[derive(Deserialize)]
#[serde(transparent, bound = "N: Number")]
pub struct Numbers<N>(#[serde(with = "array")] pub Vec<N>);

/// Columns of parts of records, as they are read.
#[derive(Deserialize)]
#[serde(transparent, bound = "T: Columnar")]
pub struct Parts<T>(#[serde(with = "columns")] pub Vec<T>);

/// Parts of records that are written as columns.
pub fn parts_of<'a, T: Columnar + 'a, I: Iterator<Item = &'a T>>(parts: impl Fn() -> I) -> impl Serialize {
    PartsOf(parts)
}

struct PartsOf<F>(F);

impl<'a, T: Columnar + 'a, I: Iterator<Item = &'a T>, F: Fn() -> I> Serialize for PartsOf<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::write(&self.0, serializer)
    }
}

/// Makes a type [`Columnar`](crate::saved::Columnar): names its columns, says what they are of a record, and how records are put together again.
///
/// A column is `each` (a number a record), `all` (any count of numbers a record), `lists` (the same with its ends) or `parts` (of a type that has columns of its own).
#[macro_export]
macro_rules! columns {
    (@type lists $n:ty) => { $crate::saved::Lists<$n> };
    (@type parts $n:ty) => { $crate::saved::Parts<$n> };
    (@type $kind:ident $n:ty) => { $crate::saved::Numbers<$n> };
    (@write each $records:ident $of:expr) => { $crate::saved::column(|| $records().map($of)) };
    (@write all $records:ident $of:expr) => { $crate::saved::column(|| $records().flat_map($of)) };
    (@write lists $records:ident $of:expr) => { $crate::saved::lists_of(|| $records().map($of)) };
    (@write parts $records:ident $of:expr) => { $crate::saved::parts_of(|| $records().map($of)) };
    ($columns:ident of $record:ty { $($kind:ident $field:ident: $n:ty = $of:expr,)* } $assemble:expr) => {
        /// The columns, as they are read.
        #[derive(serde::Deserialize)]
        #[allow(unreachable_pub, reason = "records may be private")]
        pub struct $columns {
            $($field: $crate::columns!(@type $kind $n),)*
        }

        impl $crate::saved::Columnar for $record {
            type Columns = $columns;

            fn write<'a, I: Iterator<Item = &'a Self>, S: serde::Serializer>(
                records: impl Fn() -> I,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                let mut out = serializer.serialize_struct(stringify!($columns), 1)?;
                $(out.serialize_field(stringify!($field), &$crate::columns!(@write $kind records $of))?;)*
                out.end()
            }

            fn assemble(columns: $columns) -> Option<Vec<Self>> {
                $assemble(columns)
            }
        }
    };
}
