//! What can be wrong with a store of rows and labels.

/// Why a store cannot be used, or cannot take what it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreProblem {
    /// The folder holds something else, or nothing.
    #[error("not a hedgerow store ({detail})")]
    NotAStore {
        /// What gave it away.
        detail: String,
    },
    /// Another process writes to it.
    #[error("the store is in use by another process{holder}; wait until it is done, or use another folder")]
    InUse {
        /// Who holds it, as far as is known: ` (process 123)`, or nothing.
        holder: String,
    },
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
    /// The database is cut off or holds nonsense.
    #[error(
        "the database is damaged ({detail}); restore the folder from a backup, or save what can be read with \
         `sqlite3 store.db .recover` and stream the data into a new folder"
    )]
    Damaged {
        /// The database's message.
        detail: String,
    },
    /// Nothing more can be written.
    #[error(
        "no room to write ({detail}); everything acknowledged before is safe: make room and run the same again"
    )]
    Full {
        /// The database's message.
        detail: String,
    },
    /// The database could not read or write.
    #[error("the database could not be read or written ({detail}); everything acknowledged before is safe")]
    Database {
        /// The database's message.
        detail: String,
    },
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
    /// Other data than those the store was being filled with.
    #[error("{detail}")]
    Input {
        /// What was expected, what came, and what to do.
        detail: String,
    },
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
