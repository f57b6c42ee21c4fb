//! Files of gains: written files are read back unchanged, and invalid files are rejected.

#![allow(clippy::unwrap_used)]

use anyk::channel::{GainMatrix, rayleigh_gains};
use anyk::exchange::{Input, InputError};
use anyk::problems::interference::{INTERFERENCE, gains_to_npy, read_networks};
use proptest::prelude::*;

/// Returns the matrices of a file that contains nothing else about its links.
fn read_gains(bytes: &[u8], file: &str) -> Result<Vec<GainMatrix>, InputError> {
    Ok(read_networks(&anyk::problems::reader(&INTERFERENCE), Input::new(bytes, file))?
        .into_iter()
        .map(|network| network.gains)
        .collect())
}

/// Returns an array file with the given header.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

fn described(kind: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': {kind}, 'fortran_order': {fortran}, 'shape': {shape}, }}"), data)
}

fn refused(bytes: &[u8]) -> String {
    read_gains(bytes, "gains").unwrap_err().to_string()
}

#[test]
fn types_orders_and_shapes() {
    let values = [1.0f64, 0.5, 0.25, 2.0];
    let expected = [GainMatrix::new(2, values.to_vec()).unwrap()];
    let transposed = [GainMatrix::new(2, vec![1.0, 0.25, 0.5, 2.0]).unwrap()];
    let little: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let big: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    #[allow(clippy::cast_possible_truncation)]
    let single: Vec<u8> = values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect();
    for shape in ["(2, 2)", "(1, 2, 2)"] {
        for (kind, data) in [("'<f8'", &little), ("'>f8'", &big), ("'<f4'", &single)] {
            let read = |order: &str| read_gains(&described(kind, order, shape, data), "a").unwrap();
            assert_eq!(read("False"), expected);
            assert_eq!(read("True"), transposed);
        }
    }
    // Two instances in Fortran order: the index of the instance varies fastest, then the row.
    let data: Vec<u8> = (0..8u8).flat_map(|at| f64::from(at).to_le_bytes()).collect();
    let read = read_gains(&described("'<f8'", "True", "(2, 2, 2)", &data), "a").unwrap();
    assert_eq!(read[0].as_slice(), [0.0, 4.0, 2.0, 6.0]);
    assert_eq!(read[1].as_slice(), [1.0, 5.0, 3.0, 7.0]);
}

#[test]
fn arrays_that_are_refused() {
    let double =
        |shape: &str, bytes: usize| refused(&described("'<f8'", "False", shape, &vec![0; bytes]));
    for (shape, bytes) in [("(4,)", 32), ("(2, 2, 2, 2)", 128), ("(2, 3)", 48), ("()", 8)] {
        assert!(double(shape, bytes).contains("expected K×K or N×K×K"), "{shape}");
    }
    for shape in ["(0, 0)", "(0, 2, 2)", "(3, 0, 0)"] {
        assert!(double(shape, 0).contains("at least one link"), "{shape}");
    }
    for (shape, bytes) in [("(2, 2)", 31), ("(2, 2)", 33), ("(2, 2)", 0), ("(999, 9999, 9999)", 8)]
    {
        assert!(double(shape, bytes).contains("follow the header"), "{shape}");
    }
    for kind in ["'<i4'", "'|b1'", "'<c16'", "'<f2'", "'<f16'", "'|O'", "[('g', '<f8')]", "'<U3'"] {
        let message = refused(&described(kind, "False", "(2, 2)", &[0; 32]));
        assert!(message.contains("expected float32 or float64"), "{kind}: {message}");
    }
    // Lengths and sizes that would overflow, numbers that are not decimal, and unbalanced brackets.
    let many = format!("({})", "9, ".repeat(40));
    let nested = "(".repeat(3000);
    for shape in [
        "(4294967296, 4294967296)",
        "(99999999999999999999, 1)",
        "(0xffffffff, 0xffffffff)",
        "(1e9, 1e9)",
        "(-2, -2)",
        &many,
        &nested,
        "'",
        "2",
    ] {
        let message = double(shape, 32);
        assert!(message.len() < 400, "{message}");
    }
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert!(refused(&long).contains("longer than the file"));
    for end in 6..12 {
        assert!(
            refused(&described("'<f8'", "False", "(2, 2)", &[0; 32])[..end]).contains("header")
        );
    }
    let mut whole = gains_to_npy(&[rayleigh_gains(1, 3, 0), rayleigh_gains(1, 3, 1)]).unwrap();
    let last = whole.len() - 8;
    whole[last..].copy_from_slice(&f64::NAN.to_le_bytes());
    let expected = "instance 1: row 2, column 2: the gain is NaN";
    assert!(refused(&whole).contains(expected));
    assert!(gains_to_npy(&[]).is_err());
    assert!(gains_to_npy(&[rayleigh_gains(1, 3, 0), rayleigh_gains(1, 2, 0)]).is_err());
}

#[test]
fn json_forms() {
    let (one, two) = ("[[1,2],[3,4.5]]", "[[7]]");
    let expected = |text: &str| read_gains(text.as_bytes(), "a").unwrap();
    let both = [expected(one), expected(two)].concat();
    assert_eq!(both[0].as_slice(), [1.0, 2.0, 3.0, 4.5]);
    for text in [
        format!("[{one},{two}]"),
        format!("{one} {two}"),
        format!("\u{feff}{{\"gains\":{one}}}\n{{\"gains\":{two}}}\n"),
        format!("{{\"gains\":[{one},{two}]}}"),
    ] {
        assert_eq!(expected(&text), both, "{text}");
    }
    for (text, words) in [
        ("[]", "the list of matrices is empty"),
        ("[[]]", "the gain matrix is empty"),
        ("[[[]]]", "the gain matrix is empty"),
        ("[[[1]],[[]]]", "instance 1: the gain matrix is empty"),
        ("[1,2]", "invalid type"),
        ("[[1,2]]", "1 rows of 2 gains"),
        ("[[1],[2]]", "more rows than the 1 columns"),
        ("[[[1]],[[1,2],[3]]]", "instance 1: row 1 has 1 gains, expected 2 as in row 0"),
        ("[[1],[[2]]]", "a row of gains and a matrix"),
        ("[[[1],2]]", "a gain and a row"),
        ("[[[[1]]]]", "invalid type"),
        ("[[\"1\"]]", "invalid type: string"),
        ("[[null]]", "invalid type"),
        ("[[1e999]]", "number out of range"),
        ("[[1],", "line 1"),
        ("{\"gains\":[[1]],\"gains\":[[1]]}", "duplicate field"),
        ("{\"gain\":[[1]]}", "\"gain\" looks like a typo of \"gains\""),
        ("[[1]] x", "line 1"),
    ] {
        assert!(refused(text.as_bytes()).contains(words), "{text}: {}", refused(text.as_bytes()));
    }
    let long = format!("[[\"{}\"]]", "x".repeat(1_000_000));
    assert!(refused(long.as_bytes()).len() < 500);
}

proptest! {
    #[test]
    fn round_trip(size in 1usize..12, count in 1u64..5, seed: u64) {
        let gains: Vec<_> = (0..count).map(|index| rayleigh_gains(seed, size, index)).collect();
        let bytes = gains_to_npy(&gains).unwrap();
        prop_assert_eq!(&read_gains(&bytes, "a").unwrap(), &gains);
        // A truncated file is rejected.
        for end in (0..bytes.len()).step_by(37) {
            prop_assert!(read_gains(&bytes[..end], "a").is_err());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_gains(&bytes, "a");
        let _ = read_gains(&[b"\x93NUMPY", &bytes[..]].concat(), "a");
    }

    #[test]
    fn arbitrary_headers_never_panic(
        header in "[-+{}()\\[\\],:'<>|0-9a-fx_jO ]{0,200}",
        kind in "('[<>|][a-zA-Z][0-9]{0,3}')|(\\[('a', '<f8'(, \\([0-9]{0,9},\\))?)\\])",
        shape in "\\(([0-9]{0,12}, ?){0,5}\\)",
    ) {
        let _ = read_gains(&npy(&header, &[0; 32]), "a");
        let _ = read_gains(&described(&kind, "True", &shape, &[0; 32]), "a");
    }

    #[test]
    fn arbitrary_json_never_panics(text in "[\\[\\]{},:0-9.e\\-\"gains ]{0,120}") {
        let _ = read_gains(format!("[{text}").as_bytes(), "a");
        let _ = read_gains(format!("{{\"gains\":{text}").as_bytes(), "a");
    }
}
