//! Quantities as users write them: their values, why they are rejected, and how they compare.

use std::time::{Duration, Instant};

use poolgate_core::value::quantity::{MAX_LENGTH, Quantity, QuantityError};

/// Quantities of the same value, in pairs.
const EQUAL: [(&str, &str); 99] = [
    ("0", "-0"),
    ("0", "+0"),
    ("0", "0.0"),
    ("0", "00"),
    ("0", "0Ki"),
    ("0", "0e300"),
    ("0", "0e-300"),
    ("0", ".0"),
    ("1", "+1"),
    ("1", "1."),
    ("1", "01"),
    ("1", "1.000"),
    ("1", "1000m"),
    ("1", "1000000u"),
    ("1", "1000000000n"),
    ("1", "0.001k"),
    ("1", "1e0"),
    ("1", "1E0"),
    ("1", "1e+0"),
    ("1", "1e-0"),
    ("1", "10e-1"),
    ("1", "0.1e1"),
    ("1", "1e0000"),
    ("0.5", ".5"),
    ("0.5", "500m"),
    ("0.5", "5e-1"),
    ("-5", "-5.0"),
    ("-5", "-5000m"),
    ("-5", "-.005k"),
    ("100m", "0.1"),
    ("100m", "0.10"),
    ("250m", "0.25"),
    ("1500m", "1.5"),
    ("1000", "1k"),
    ("1000", "1e3"),
    ("1000", "1E3"),
    ("1000", "1e+3"),
    ("1000", "1e0003"),
    ("1000", "1000.0"),
    ("1000000", "1M"),
    ("1000000", "1e6"),
    ("1000000000", "1G"),
    ("1000000000000", "1T"),
    ("1000000000000000", "1P"),
    ("1000000000000000000", "1E"),
    ("1000000000000000000", "1e18"),
    ("1E", "1E18"),
    ("1024", "1Ki"),
    ("1024", "1.Ki"),
    ("1024", "+1Ki"),
    ("1024", "01Ki"),
    ("512", ".5Ki"),
    ("512", "0.5Ki"),
    ("1048576", "1Mi"),
    ("1048576", "1024Ki"),
    ("1073741824", "1Gi"),
    ("1073741824", "1024Mi"),
    ("1073741824", "1.Gi"),
    ("1610612736", "1.5Gi"),
    ("1099511627776", "1Ti"),
    ("1125899906842624", "1Pi"),
    ("1152921504606846976", "1Ei"),
    ("-1073741824", "-1Gi"),
    ("102.4", "0.1Ki"),
    ("0.1024", "0.0001Ki"),
    ("9223372036854775807", "8Ei"),
    ("9223372036854775807", "9Ei"),
    ("9223372036854775807", "16Ei"),
    ("9223372036854775807", "999999999999999999Pi"),
    ("-9223372036854775807", "-16Ei"),
    ("-9223372036854775807", "-8Ei"),
    ("9223372036854775807", "9000Pi"),
    ("1e29", "100000000000E"),
    ("1e30", "2e30"),
    ("-1e30", "-1.8e29"),
    ("1e30", "1000000000000E"),
    ("1e30", "1000000000000000000000000000000"),
    ("10E", "10000000000000000000"),
    ("9223372036854775808", "9223372036854775808000m"),
    ("18446744073709551616", "18446744073709551.616k"),
    ("1n", "0.1n"),
    ("1n", "0.5n"),
    ("1n", "0.000000001"),
    ("1n", "1e-9"),
    ("1n", "1e-10"),
    ("1n", "5e-10"),
    ("1n", "1e-300"),
    ("11n", "0.00000000001Ki"),
    ("-1n", "-0.1n"),
    ("-1n", "-1e-300"),
    ("2n", "1.1n"),
    ("1.000000001", "1.0000000001"),
    ("-1.000000001", "-1.0000000001"),
    ("1u", "1000n"),
    ("1m", "1000u"),
    ("110000n", "110u"),
    ("1e10", "10G"),
    ("1e-3", "1m"),
    ("12e6", "12M"),
];

/// Texts that are rejected, with the kind of mistake.
const REJECTED: [(&str, &str); 80] = [
    ("", "empty"),
    (" ", "blank"),
    (" 1", "blank"),
    ("1 ", "blank"),
    ("1\n", "blank"),
    ("1 Gi", "blank"),
    ("1\u{a0}Gi", "blank"),
    ("4 cores", "blank"),
    ("K", "no number"),
    ("Ki", "no number"),
    ("-Pi", "no number"),
    ("e3", "no number"),
    ("E", "no number"),
    (".", "no number"),
    ("+", "no number"),
    ("-", "no number"),
    ("+.", "no number"),
    (".Gi", "no number"),
    ("--1", "no number"),
    ("+-1", "no number"),
    ("NaN", "no number"),
    ("inf", "no number"),
    ("four", "no number"),
    ("１", "no number"),
    ("$5", "no number"),
    ("\"5\"", "no number"),
    ("1e", "suffix"),
    ("1e+", "suffix"),
    ("1e-", "suffix"),
    ("1E+", "suffix"),
    ("1e.", "suffix"),
    ("1ee3", "suffix"),
    ("1EE", "suffix"),
    ("1Ee3", "suffix"),
    ("1e3k", "suffix"),
    ("1e3Ki", "suffix"),
    ("1e--3", "suffix"),
    ("1K", "suffix"),
    ("1ki", "suffix"),
    ("1KI", "suffix"),
    ("1mi", "suffix"),
    ("1gi", "suffix"),
    ("1000gi", "suffix"),
    ("1g", "suffix"),
    ("1t", "suffix"),
    ("1p", "suffix"),
    ("1GB", "suffix"),
    ("1Gb", "suffix"),
    ("1Gib", "suffix"),
    ("1GiB", "suffix"),
    ("1B", "suffix"),
    ("1i", "suffix"),
    ("1ni", "suffix"),
    ("1ui", "suffix"),
    ("1µ", "suffix"),
    ("1U", "suffix"),
    ("1N", "suffix"),
    ("1m3", "suffix"),
    ("1mm", "suffix"),
    ("1kM", "suffix"),
    ("1h", "suffix"),
    ("0x10", "suffix"),
    ("1_000", "suffix"),
    ("1,5", "suffix"),
    ("1,000", "suffix"),
    ("1.5.5", "suffix"),
    ("1..", "suffix"),
    ("10%", "suffix"),
    ("1-", "suffix"),
    ("1+1", "suffix"),
    ("1\0", "suffix"),
    ("1Е", "suffix"),
    ("1e1.5", "fraction"),
    ("1e.5", "fraction"),
    ("1E-1.5", "fraction"),
    ("1e3.", "fraction"),
    ("1e4097", "exponent"),
    ("1e-10000000", "exponent"),
    ("1e2147483648", "exponent"),
    ("1e9223372036854775808", "exponent"),
];

fn class(error: &QuantityError) -> &'static str {
    match error {
        QuantityError::Empty => "empty",
        QuantityError::Blank { .. } => "blank",
        QuantityError::TooLong { .. } => "long",
        QuantityError::UnknownSuffix { .. } => "suffix",
        QuantityError::FractionalExponent { .. } => "fraction",
        QuantityError::ExponentOutOfBounds { .. } => "exponent",
        QuantityError::NotANumber => "no number",
    }
}

#[test]
fn spellings_of_one_value_are_equal() {
    for (one, other) in EQUAL {
        assert_eq!(
            Quantity::parse(one).unwrap(),
            Quantity::parse(other).unwrap(),
            "{one} and {other}"
        );
    }
}

#[test]
fn rejections_are_distinguished() {
    for (text, expected) in REJECTED {
        let error = Quantity::parse(text).unwrap_err();
        assert_eq!(class(&error), expected, "{text:?}");
    }
}

#[test]
fn order_goes_by_value() {
    let ascending = [
        "-1e300",
        "-16Ei",
        "-1Gi",
        "-1G",
        "-5",
        "-1.5",
        "-1",
        "-100m",
        "-1n",
        "0",
        "1n",
        "1u",
        "1m",
        "100m",
        "0.11",
        "0.5",
        "999m",
        "1",
        "1.000000001",
        "1001m",
        "2",
        "10",
        "999",
        "1k",
        "1Ki",
        "1M",
        "1Mi",
        "1G",
        "1Gi",
        "1.5Gi",
        "1T",
        "1Ti",
        "1P",
        "1Pi",
        "1E",
        "1Ei",
        "8Ei",
        "9223372036854775808",
        "10E",
        "1e19",
        "1e29",
        "1.7e29",
        "1e300",
        "1e4096",
    ];
    for (place, pair) in ascending.windows(2).enumerate() {
        let (lower, higher) = (
            Quantity::parse(pair[0]).unwrap(),
            Quantity::parse(pair[1]).unwrap(),
        );
        // The largest amount that is kept is 1.7e29.
        if pair == ["10E", "1e19"] || pair == ["1e300", "1e4096"] {
            assert_eq!(lower, higher);
        } else {
            assert!(lower < higher, "{pair:?}");
        }
        assert_eq!(lower.is_negative(), place < 9, "{}", pair[0]);
        assert_eq!(lower.is_zero(), place == 9, "{}", pair[0]);
    }
}

#[test]
fn whole_means_an_integer_number_of_units() {
    for whole in [
        "0", "-5", "1.0", "1000m", "1.5k", "0.5Ki", "1e300", "1Ei", "-2000m",
    ] {
        assert!(Quantity::parse(whole).unwrap().is_whole(), "{whole}");
    }
    for broken in [
        "0.5",
        "-0.5",
        "1m",
        "1500m",
        "1n",
        "0.1Ki",
        "1e-300",
        "1.0000000001",
    ] {
        assert!(!Quantity::parse(broken).unwrap().is_whole(), "{broken}");
    }
}

#[test]
fn json_integers_are_quantities_as_well() {
    for (units, text) in [
        (0, "0"),
        (-5, "-5"),
        (1_000, "1k"),
        (i64::MAX, "8Ei"),
        (i64::MIN, "-9223372036854775808"),
    ] {
        assert_eq!(Quantity::from(units), Quantity::parse(text).unwrap());
    }
    assert_eq!(
        Quantity::from(u64::MAX),
        Quantity::parse("18446744073709551615").unwrap()
    );
}

#[test]
fn hostile_texts_cost_next_to_nothing() {
    let long = "9".repeat(MAX_LENGTH - 8);
    let mebibyte = 1 << 20;
    let hostile = [
        format!("{long}e4096"),
        format!(".{long}e-4096"),
        format!("{long}Ei"),
        format!("1e{}", "9".repeat(MAX_LENGTH - 2)),
        format!("1e{}1", "0".repeat(MAX_LENGTH - 3)),
        "x".repeat(MAX_LENGTH),
        " ".repeat(MAX_LENGTH),
        "9".repeat(mebibyte),
        format!("1e{}", "9".repeat(mebibyte)),
        format!("0.{}1", "0".repeat(mebibyte)),
        " ".repeat(mebibyte),
        "é".repeat(mebibyte / 2),
    ];
    // Takes some milliseconds, even on a busy machine; in the square of the length it would take minutes.
    let bound = Duration::from_secs(10);
    for text in hostile {
        let start = Instant::now();
        let _ = Quantity::parse(&text);
        let taken = start.elapsed();
        let beginning: String = text.chars().take(8).collect();
        assert!(taken < bound, "{beginning}… of {} bytes: {taken:?}", text.len());
    }
}
