//! Rows of the text protocol: every value is a length-encoded string, or the NULL marker.
//!
//! The encoder formats each value directly into a buffer that lives as long as the connection.

use crate::bytes::{DecodeError, NULL_MARKER, Reader, put_lenenc_bytes, put_lenenc_int};

/// Appends the values of one text row to a packet, in column order.
#[derive(Debug)]
pub struct TextRowEncoder<'b> {
    buf: &'b mut Vec<u8>,
}

impl<'b> TextRowEncoder<'b> {
    /// Appends to `buf`, which is inside a packet.
    pub fn new(buf: &'b mut Vec<u8>) -> Self {
        Self { buf }
    }

    /// NULL.
    #[inline]
    pub fn null(&mut self) {
        self.buf.push(NULL_MARKER);
    }

    /// A string, or any value that is printed already.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        put_lenenc_bytes(self.buf, value);
    }

    /// A signed integer.
    #[inline]
    pub fn int(&mut self, value: i64) {
        let mut digits = [0; 20];
        let start = print_u64(&mut digits, value.unsigned_abs());
        let sign = usize::from(value < 0);
        self.buf.push((digits.len() - start + sign) as u8);
        if sign == 1 {
            self.buf.push(b'-');
        }
        self.buf.extend_from_slice(&digits[start..]);
    }

    /// An unsigned integer.
    #[inline]
    pub fn uint(&mut self, value: u64) {
        let mut digits = [0; 20];
        let start = print_u64(&mut digits, value);
        self.buf.push((digits.len() - start) as u8);
        self.buf.extend_from_slice(&digits[start..]);
    }

    /// An unsigned integer with leading zeros up to `width` digits (ZEROFILL).
    pub fn uint_padded(&mut self, value: u64, width: u8) {
        let mut digits = [0; 20];
        let start = print_u64(&mut digits, value);
        let zeros = usize::from(width).saturating_sub(digits.len() - start);
        put_lenenc_int(self.buf, (zeros + digits.len() - start) as u64);
        self.buf.resize(self.buf.len() + zeros, b'0');
        self.buf.extend_from_slice(&digits[start..]);
    }

    /// A date.
    pub fn date(&mut self, year: u16, month: u8, day: u8) {
        self.buf.push(10);
        put_date(self.buf, year, month, day);
    }

    /// A date and time with `fsp` fractional digits (0..=6).
    #[expect(clippy::too_many_arguments, reason = "the parts of a date and time")]
    pub fn datetime(&mut self, year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8, micros: u32, fsp: u8) {
        self.buf.push(19 + fraction_bytes(fsp));
        put_date(self.buf, year, month, day);
        self.buf.push(b' ');
        put_two(self.buf, hour);
        put_clock_rest(self.buf, minute, second, micros, fsp);
    }

    /// A time with `fsp` fractional digits (0..=6); hours take two digits or three.
    pub fn time(&mut self, negative: bool, hours: u16, minute: u8, second: u8, micros: u32, fsp: u8) {
        let long = hours > 99;
        self.buf.push(8 + u8::from(negative) + u8::from(long) + fraction_bytes(fsp));
        if negative {
            self.buf.push(b'-');
        }
        if long {
            self.buf.push(b'0' + (hours / 100 % 10) as u8);
        }
        put_two(self.buf, (hours % 100) as u8);
        put_clock_rest(self.buf, minute, second, micros, fsp);
    }
}

fn fraction_bytes(fsp: u8) -> u8 {
    if fsp == 0 { 0 } else { fsp.min(6) + 1 }
}

fn put_two(buf: &mut Vec<u8>, value: u8) {
    buf.extend_from_slice(&[b'0' + value / 10 % 10, b'0' + value % 10]);
}

fn put_date(buf: &mut Vec<u8>, year: u16, month: u8, day: u8) {
    put_two(buf, (year / 100 % 100) as u8);
    put_two(buf, (year % 100) as u8);
    buf.push(b'-');
    put_two(buf, month);
    buf.push(b'-');
    put_two(buf, day);
}

fn put_clock_rest(buf: &mut Vec<u8>, minute: u8, second: u8, micros: u32, fsp: u8) {
    buf.push(b':');
    put_two(buf, minute);
    buf.push(b':');
    put_two(buf, second);
    if fsp > 0 {
        buf.push(b'.');
        let mut unit = 100_000;
        for _ in 0..fsp.min(6) {
            buf.push(b'0' + (micros / unit % 10) as u8);
            unit /= 10;
        }
    }
}

/// Prints into the end of `digits`; returns where the text begins.
#[inline]
fn print_u64(digits: &mut [u8; 20], mut value: u64) -> usize {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return start;
        }
    }
}

/// Reads the values of one text row; `None` is NULL.
pub fn decode_text_row(payload: &[u8], column_count: usize) -> Result<Vec<Option<&[u8]>>, DecodeError> {
    let mut reader = Reader::new(payload);
    // A value takes at least a byte, so a wrong count cannot ask for more memory than the packet has.
    if column_count > payload.len() {
        return Err(DecodeError::Truncated);
    }
    let row = (0..column_count).map(|_| reader.lenenc_bytes_or_null()).collect::<Result<_, _>>()?;
    if !reader.is_empty() {
        return Err(DecodeError::Malformed("end of the text row"));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(encode: impl FnOnce(&mut TextRowEncoder<'_>)) -> String {
        let mut buf = Vec::new();
        encode(&mut TextRowEncoder::new(&mut buf));
        let row = decode_text_row(&buf, 1).expect("one value");
        String::from_utf8(row[0].expect("not NULL").to_vec()).expect("text")
    }

    #[test]
    fn temporal_values_have_mysqls_shapes() {
        assert_eq!(one(|row| row.date(0, 0, 0)), "0000-00-00");
        assert_eq!(one(|row| row.datetime(2026, 1, 2, 3, 4, 5, 6, 0)), "2026-01-02 03:04:05");
        assert_eq!(one(|row| row.datetime(2026, 1, 2, 3, 4, 5, 6, 6)), "2026-01-02 03:04:05.000006");
        assert_eq!(one(|row| row.datetime(2026, 1, 2, 3, 4, 5, 120_000, 2)), "2026-01-02 03:04:05.12");
        assert_eq!(one(|row| row.time(true, 838, 59, 59, 0, 0)), "-838:59:59");
        assert_eq!(one(|row| row.time(false, 1, 2, 3, 500_000, 1)), "01:02:03.5");
        assert_eq!(one(|row| row.uint_padded(42, 5)), "00042");
        assert_eq!(one(|row| row.uint_padded(123_456, 5)), "123456");
    }

    proptest! {
        #[test]
        fn integers_print_as_rust_prints_them(signed in any::<i64>(), unsigned in any::<u64>()) {
            prop_assert_eq!(one(|row| row.int(signed)), signed.to_string());
            prop_assert_eq!(one(|row| row.uint(unsigned)), unsigned.to_string());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), count in any::<usize>()) {
            let _ = decode_text_row(&bytes, count);
        }
    }
}
