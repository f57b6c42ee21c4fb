//! Mutations for text with numbers and for arrays of floats.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Numbers that often cause faults, as text.
const NUMBERS: [&str; 24] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-5",
    "1e-15",
    "1e-320",
    "1e15",
    "1e16",
    "1e18",
    "1e300",
    "-1e300",
    "1e308",
    "1e400",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "NaN",
];
/// Pieces of the input formats.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\n",
    "\r\n",
    "null",
    "true",
    "[]",
    "{}",
    "{\"users\":[]}",
    "\"id\":\"a\",",
    "\"gain_db\":-90,",
    "\"epsilon\":1e-5,",
    "k,x,y,instance\n",
    "inf",
    "\u{feff}",
    "\u{1b}[31m",
    "é",
    "=",
    "\0",
];
/// Floats that often cause faults.
const FLOATS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    1e300,
    -1e30,
    f64::NAN,
    f64::INFINITY,
];

/// Mutates `bytes`, sometimes with pieces of `other`, to at most `most` bytes. The result depends only on the
/// arguments.
pub fn mutate(bytes: &[u8], other: &[u8], most: usize, seed: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut bytes = bytes.to_vec();
    for _ in 0..1u32 << rng.random_range(0..4) {
        once(&mut bytes, other, &mut rng);
        bytes.truncate(most);
    }
    bytes
}

fn once(bytes: &mut Vec<u8>, other: &[u8], rng: &mut ChaCha8Rng) {
    let length = bytes.len();
    let at = rng.random_range(0..=length);
    match rng.random_range(0..12) {
        0 if at < length => bytes[at] ^= 1 << rng.random_range(0..8),
        1 if at < length => bytes[at] = rng.random(),
        2 => bytes.insert(at, rng.random()),
        // Remove a piece, or copy it to another position.
        3 => drop(bytes.drain(piece(at, length, rng))),
        4 => {
            let copy = bytes[piece(at, length, rng)].to_vec();
            let to = rng.random_range(0..=length);
            bytes.splice(to..to, copy);
        }
        5 => bytes.truncate(at),
        // Insert a piece of another input, or replace a piece by it.
        6 => {
            let from = other[piece(rng.random_range(0..=other.len()), other.len(), rng)].to_vec();
            let replaced = if rng.random() { piece(at, length, rng) } else { at..at };
            bytes.splice(replaced, from);
        }
        7 => drop(bytes.splice(at..at, pick(&PIECES, rng).bytes())),
        // Replace a float; positions are multiples of 8 from the end.
        8 if length >= 8 => {
            let start = length - 8 * rng.random_range(1..=length / 8);
            bytes[start..start + 8].copy_from_slice(&pick(&FLOATS, rng).to_le_bytes());
        }
        // Replace a length or count of two, four or eight bytes.
        9 => {
            let width = pick(&[2, 4, 8], rng);
            if at + width <= length {
                let number =
                    pick(&[0, 1, 7, 255, 65535, u64::from(u32::MAX), 1 << 40, u64::MAX], rng);
                bytes[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
            }
        }
        // Replace a number in text.
        _ => {
            let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
            let Some(start) = (at..length).find(|&i| bytes[i].is_ascii_digit()) else { return };
            let start =
                (0..=start).rev().take_while(|&i| is_number(bytes[i])).last().unwrap_or(start);
            let end = (start..length).find(|&i| !is_number(bytes[i])).unwrap_or(length);
            bytes.splice(start..end, pick(&NUMBERS, rng).bytes());
        }
    }
}

fn piece(at: usize, length: usize, rng: &mut impl Rng) -> std::ops::Range<usize> {
    let longest = if rng.random() { 8 } else { 512 };
    at..(at + rng.random_range(0..=longest)).min(length)
}

fn pick<T: Copy>(list: &[T], rng: &mut impl Rng) -> T {
    list[rng.random_range(0..list.len())]
}
