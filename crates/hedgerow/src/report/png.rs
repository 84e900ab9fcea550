//! Small pictures as PNG files inside the page.

use std::io::Write as _;

use flate2::{Compression, write::ZlibEncoder};

/// A picture, row after row, as the address of an image. A pixel is one byte, grey, or four: red, green, blue and how opaque it is.
pub(super) fn data_uri(size: [usize; 2], pixel_bytes: usize, bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(&encode(size, pixel_bytes, bytes)))
}

fn encode([width, height]: [usize; 2], pixel_bytes: usize, bytes: &[u8]) -> Vec<u8> {
    let kind = if pixel_bytes == 1 { 0 } else { 6 };
    let mut header = [(width as u32).to_be_bytes(), (height as u32).to_be_bytes()].concat();
    // Eight bits a number; the only compression and filter methods there are; not interlaced.
    header.extend_from_slice(&[8, kind, 0, 0, 0]);

    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    for row in bytes.chunks((width * pixel_bytes).max(1)) {
        // Every row begins with the number of its filter: none. Writing to memory cannot fail.
        let _ = packed.write_all(&[0]);
        let _ = packed.write_all(row);
    }
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(*b"IHDR", &header, &mut out);
    chunk(*b"IDAT", &packed.finish().unwrap_or_default(), &mut out);
    chunk(*b"IEND", &[], &mut out);
    out
}

fn chunk(kind: [u8; 4], data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend_from_slice(&kind);
    out.extend_from_slice(data);
    let sum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&sum.to_be_bytes());
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn base64_as_in_rfc_4648() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_picture_can_be_unpacked_again() {
        let greys: Vec<u8> = (0..6).map(|i| i * 40).collect();
        check(&encode([3, 2], 1, &greys), &[0, 0, 40, 80, 0, 120, 160, 200]);
        let pixels = [[1, 2, 3, 4], [5, 6, 7, 8]];
        check(&encode([1, 2], 4, pixels.as_flattened()), &[0, 1, 2, 3, 4, 0, 5, 6, 7, 8]);
    }

    /// Fails unless a file has these bytes in it, each row after its filter.
    fn check(file: &[u8], unpacked: &[u8]) {
        let mut at = 8;
        let mut kinds = Vec::new();
        while at < file.len() {
            let len = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
            let body = &file[at + 4..at + 8 + len];
            let sum = u32::from_be_bytes(file[at + 8 + len..at + 12 + len].try_into().unwrap());
            assert_eq!(sum, crc32fast::hash(body));
            kinds.push(body[..4].to_vec());
            if &body[..4] == b"IDAT" {
                let mut rows = Vec::new();
                flate2::read::ZlibDecoder::new(&body[4..]).read_to_end(&mut rows).unwrap();
                assert_eq!(rows, unpacked);
            }
            at += 12 + len;
        }
        assert_eq!(kinds, [b"IHDR", b"IDAT", b"IEND"]);
    }
}
