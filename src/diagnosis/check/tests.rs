use super::Budget;

/// By hand: 5 % of 10 MiB is 0.5 MiB, of 100 MiB 5 MiB; both have to be exceeded.
#[test]
fn the_larger_of_both_limits_counts() {
    let mib = 1_048_576.0;
    assert_eq!(Budget::DEFAULT.limit(10.0 * mib), mib);
    assert_eq!(Budget::DEFAULT.limit(100.0 * mib), 5.0 * mib);
    let none = Budget {
        relative: None,
        bytes: Some(0.0),
    };
    assert_eq!(none.limit(100.0 * mib), 0.0);
}
