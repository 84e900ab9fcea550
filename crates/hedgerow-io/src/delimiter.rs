//! What stands between the fields of a line, and what before the decimals of a number.

use std::fmt;
use std::str::FromStr;

use hedgerow_core::Error;

/// The character between the fields of a line of text.
///
/// It parses from the character itself or from one of the words `comma`, `semicolon`, `tab`, `pipe` and `space`. With `space`, any
/// number of blanks stand between two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delimiter(u8);

impl Delimiter {
    /// `,`
    pub const COMMA: Self = Self(b',');
    /// `;`
    pub const SEMICOLON: Self = Self(b';');
    /// The tabulator.
    pub const TAB: Self = Self(b'\t');
    /// `|`
    pub const PIPE: Self = Self(b'|');
    /// One or more blanks.
    pub const SPACE: Self = Self(b' ');

    /// Those that are looked for in a file.
    pub(crate) const USUAL: [Self; 4] = [Self::COMMA, Self::SEMICOLON, Self::TAB, Self::PIPE];
    const WORDS: [(Self, &'static str); 5] = [
        (Self::COMMA, "comma"),
        (Self::SEMICOLON, "semicolon"),
        (Self::TAB, "tab"),
        (Self::PIPE, "pipe"),
        (Self::SPACE, "space"),
    ];

    /// The character.
    pub fn byte(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::WORDS.iter().find(|(delimiter, _)| delimiter == self) {
            Some((_, word)) => f.write_str(word),
            None => write!(f, "{}", self.0 as char),
        }
    }
}

impl FromStr for Delimiter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let named = Self::WORDS.iter().find(|(_, word)| word.eq_ignore_ascii_case(text));
        if let Some((delimiter, _)) = named {
            return Ok(*delimiter);
        }
        match text.as_bytes() {
            // As shells hand it over.
            b"\\t" => Ok(Self::TAB),
            [byte] if byte.is_ascii_punctuation() && !b"\".+-".contains(byte) => Ok(Self(*byte)),
            [byte @ (b' ' | b'\t')] => Ok(Self(*byte)),
            _ => {
                let expected = "a character such as , or one of comma, semicolon, tab, pipe, space";
                Err(Error::param("delimiter", expected, format!("{text:?}")))
            }
        }
    }
}

/// The mark before the decimals of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Decimal {
    /// `1.5`
    #[default]
    Point,
    /// `1,5`
    Comma,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => ".",
            Self::Comma => ",",
        })
    }
}

impl FromStr for Decimal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "." | "point" => Ok(Self::Point),
            "," | "comma" => Ok(Self::Comma),
            _ => Err(Error::param("decimal", ". or ,", format!("{text:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_and_words() {
        for (text, byte) in
            [(";", b';'), ("semicolon", b';'), ("TAB", b'\t'), ("\\t", b'\t'), ("space", b' '), ("#", b'#')]
        {
            assert_eq!(text.parse::<Delimiter>().unwrap().byte(), byte, "{text:?}");
        }
        for wrong in ["", ";;", "a", "1", "\"", ".", "-", "\n", "ü"] {
            let message = wrong.parse::<Delimiter>().unwrap_err().to_string();
            assert!(message.contains("semicolon"), "{wrong:?}: {message}");
        }
        assert_eq!(
            (Delimiter::TAB.to_string(), "#".parse::<Delimiter>().unwrap().to_string()),
            ("tab".into(), "#".into())
        );
        assert_eq!(",".parse::<Decimal>().unwrap().to_string(), ",");
        assert!("'".parse::<Decimal>().is_err());
    }
}
