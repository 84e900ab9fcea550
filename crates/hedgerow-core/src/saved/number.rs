//! The numbers of arrays.

use crate::data::ClassId;

/// A number that a file can hold as it is.
pub trait Raw: Copy + 'static {
    /// Its type.
    const DTYPE: Dtype;

    /// Adds its bytes, little-endian.
    fn put(self, out: &mut Vec<u8>);

    /// The numbers of an array, if they are of this type.
    fn of(values: Values) -> Option<Vec<Self>>;
}

/// What is kept as a number of a file.
pub trait Number: Copy {
    /// That number.
    type Raw: Raw;

    /// The number to write.
    fn raw(self) -> Self::Raw;

    /// What a number stands for; none if it is out of range.
    fn from_raw(raw: Self::Raw) -> Option<Self>;
}

macro_rules! raw_numbers {
    ($($type:ident $dtype:ident),*) => {
        /// A type of numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Dtype {
            $(#[doc = concat!("`", stringify!($type), "`.")] $dtype,)*
        }

        /// The numbers of an array.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Values {
            $(#[doc = concat!("Of `", stringify!($type), "`.")] $dtype(Vec<$type>),)*
        }

        impl Dtype {
            /// All types.
            pub const ALL: [Self; 6] = [$(Self::$dtype),*];

            /// Bytes of a number.
            pub fn width(self) -> usize {
                match self {
                    $(Self::$dtype => size_of::<$type>(),)*
                }
            }

            /// The name in safetensors files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$dtype => stringify!($dtype),)*
                }
            }
        }

        impl Values {
            /// Numbers from their bytes, little-endian.
            pub fn decode(dtype: Dtype, bytes: &[u8]) -> Self {
                match dtype {
                    $(Dtype::$dtype => {
                        let (whole, _) = bytes.as_chunks();
                        Self::$dtype(whole.iter().map(|b| <$type>::from_le_bytes(*b)).collect())
                    })*
                }
            }

            /// Their type.
            pub fn dtype(&self) -> Dtype {
                match self {
                    $(Self::$dtype(_) => Dtype::$dtype,)*
                }
            }
        }

        $(
            impl Raw for $type {
                const DTYPE: Dtype = Dtype::$dtype;

                #[inline]
                fn put(self, out: &mut Vec<u8>) {
                    out.extend_from_slice(&self.to_le_bytes());
                }

                fn of(values: Values) -> Option<Vec<Self>> {
                    if let Values::$dtype(values) = values { Some(values) } else { None }
                }
            }

            impl Number for $type {
                type Raw = Self;

                #[inline]
                fn raw(self) -> Self {
                    self
                }

                #[inline]
                fn from_raw(raw: Self) -> Option<Self> {
                    Some(raw)
                }
            }
        )*
    };
}

raw_numbers!(u8 U8, u16 U16, u32 U32, u64 U64, f32 F32, f64 F64);

macro_rules! kept_as {
    ($($type:ty as $raw:ty: $to:expr, $from:expr;)*) => {$(
        impl Number for $type {
            type Raw = $raw;

            #[inline]
            fn raw(self) -> $raw {
                $to(self)
            }

            #[inline]
            fn from_raw(raw: $raw) -> Option<Self> {
                $from(raw)
            }
        }
    )*};
}

// There are at most 65,535 classes.
kept_as! {
    bool as u8: u8::from, |raw| match raw { 0 => Some(false), 1 => Some(true), _ => None };
    usize as u64: |n| n as u64, |raw| usize::try_from(raw).ok();
    ClassId as u16: |class: ClassId| class.0 as u16, |raw| Some(ClassId(u32::from(raw)));
}

/// An array that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredArray {
    /// Its sides; the file has been checked to have as many numbers.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub values: Values,
}
