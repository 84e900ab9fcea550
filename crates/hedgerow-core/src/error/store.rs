//! What can be wrong with a store of rows and labels.

/// Why a store cannot be used, or cannot take what it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreProblem {
    /// The folder holds something else, or nothing: what gave it away.
    #[error("not a hedgerow store ({0})")]
    NotAStore(String),
    /// Another process writes to it; who, as far as is known: ` (process 123)`, or nothing.
    #[error("the store is in use by another process{0}; wait until it is done, or use another folder")]
    InUse(String),
    /// Written by a newer version.
    #[error(
        "the store has format version {got}, this program reads versions up to {newest}; update hedgerow"
    )]
    Version {
        /// The store's version.
        got: i64,
        /// The newest we read.
        newest: i64,
    },
    /// The database is cut off or holds nonsense: the database's message.
    #[error(
        "the database is damaged ({0}); restore the folder from a backup, or save what can be read with \
         `sqlite3 store.db .recover` and stream the data into a new folder"
    )]
    Damaged(String),
    /// Nothing more can be written: the database's message.
    #[error(
        "no room to write ({0}); everything acknowledged before is safe: make room and run the same again"
    )]
    Full(String),
    /// The database could not read or write: the database's message.
    #[error("the database could not be read or written ({0}); everything acknowledged before is safe")]
    Database(String),
    /// An earlier write failed in a way that leaves open what is on the disk.
    #[error("an earlier write failed, so nothing more is taken; open the store again")]
    Broken,
    /// Columns or classes that are not those of the store, grown at the ends.
    #[error("its columns or classes differ: expected {expected}, got {got}")]
    Columns {
        /// What the store holds.
        expected: String,
        /// What came.
        got: String,
    },
    /// A row that does not exist.
    #[error("there is no row {row}; rows are numbered from 1 to {rows}")]
    NoSuchRow {
        /// The number given.
        row: u64,
        /// How many rows there are.
        rows: u64,
    },
    /// A place in the log after its end.
    #[error("there is no event {seq}; the log ends at {end}")]
    NoSuchEvent {
        /// The place asked for.
        seq: u64,
        /// Where the log ends.
        end: u64,
    },
    /// Other data than those the store was being filled with: what was expected, what came, and what to do.
    #[error("{0}")]
    Input(String),
    /// A learner that was begun in another way.
    #[error(
        "the learner {name:?} was begun with other settings ({what} was {expected}, now it is {got}); use the same, or another name with --learner"
    )]
    Learner {
        /// The learner's name.
        name: String,
        /// Which setting.
        what: String,
        /// The setting it was begun with.
        expected: String,
        /// The setting now.
        got: String,
    },
}
