//! Roots of increasing functions of one variable.

/// Finds the root of an increasing function `f` in `[low, high]` by Newton's method from `start`, with a bisection if
/// a step leaves the bracket or is NaN. `f` returns its value and its derivative.
///
/// The search stops if the step is below `tolerance` (absolute, in the variable), and returns the point after that
/// step. If the bracket does not contain a root, the nearer end is returned.
pub(crate) fn increasing(
    (mut low, mut high): (f64, f64),
    start: f64,
    tolerance: f64,
    mut f: impl FnMut(f64) -> (f64, f64),
) -> f64 {
    let mut here = start.clamp(low, high);
    for _ in 0..200 {
        let (value, slope) = f(here);
        if value < 0.0 {
            low = here;
        } else {
            high = here;
        }
        let next = here - value / slope;
        let next = if next >= low && next <= high { next } else { 0.5 * (low + high) };
        let moved = (next - here).abs();
        here = next;
        if moved <= tolerance || high - low <= tolerance {
            break;
        }
    }
    here
}

#[cfg(test)]
mod tests {
    use super::increasing;

    #[test]
    fn cube_root_and_ends() {
        let cube = |x: f64| (x * x * x - 2.0, 3.0 * x * x);
        let root = increasing((0.0, 10.0), 9.0, 1e-15, cube);
        assert!((root - 2f64.cbrt()).abs() < 1e-14);
        // At a flat start there is no Newton step, so the search bisects.
        let root = increasing((-1.0, 10.0), 0.0, 1e-15, cube);
        assert!((root - 2f64.cbrt()).abs() < 1e-14);
        // There is no root inside, so the result is the end.
        assert!((increasing((0.0, 1.0), 0.5, 1e-15, cube) - 1.0).abs() < 1e-12);
    }
}
