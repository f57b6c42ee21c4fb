//! Power gains between all transmitters and receivers of an interference network.

use crate::invalid::Invalid;

/// Gains of `K` links that share a band: `g_kj` from transmitter `j` (column) to receiver `k` (row).
///
/// ```
/// use anyk::channel::GainMatrix;
/// let gains = GainMatrix::new(2, vec![1.0, 0.1, 0.2, 0.9])?;
/// assert_eq!(gains.row(1), [0.2, 0.9]);   // gains from all transmitters to receiver 1
/// assert_eq!(gains.direct(0), 1.0);
/// # Ok::<(), anyk::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GainMatrix {
    size: usize,
    gains: Vec<f64>,
}

impl GainMatrix {
    /// Creates a matrix from `size·size` gains, row by row.
    pub fn new(size: usize, gains: Vec<f64>) -> Result<Self, Invalid> {
        if size == 0 {
            return Err(Invalid::value("the number of links", 0, "at least 1"));
        }
        if size.checked_mul(size) != Some(gains.len()) {
            let expected = format!("{size}×{size}");
            return Err(Invalid::value("the number of gains", gains.len(), expected));
        }
        if let Some(at) = gains.iter().position(|gain| !(gain.is_finite() && *gain >= 0.0)) {
            let field = format!("row {}, column {}: the gain", at / size, at % size);
            return Err(Invalid::number(field, gains[at], "a finite number, not negative"));
        }
        Ok(Self { size, gains })
    }

    /// Creates a matrix from gains that are valid by construction.
    pub(crate) fn from_sound(size: usize, gains: Vec<f64>) -> Self {
        debug_assert!(size > 0 && gains.len() == size * size);
        debug_assert!(gains.iter().all(|gain| gain.is_finite() && *gain >= 0.0));
        Self { size, gains }
    }

    /// Multiplies each gain by a factor of its row and column, which must keep it finite.
    pub(crate) fn scaled(mut self, factor: impl Fn(usize, usize) -> f64) -> Self {
        for (row, line) in self.gains.chunks_exact_mut(self.size).enumerate() {
            for (column, gain) in line.iter_mut().enumerate() {
                *gain *= factor(row, column);
            }
        }
        self
    }

    /// Returns the number of links `K`.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the gains from each transmitter to a receiver.
    pub fn row(&self, receiver: usize) -> &[f64] {
        &self.gains[receiver * self.size..(receiver + 1) * self.size]
    }

    /// Returns the direct gain of a link.
    pub fn direct(&self, link: usize) -> f64 {
        self.gains[link * self.size + link]
    }

    /// Returns all gains, row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.gains
    }

    /// Returns the network with its links in another order: link `i` is the old link `order[i]`.
    pub fn reordered(&self, order: &[usize]) -> Self {
        let gains = order
            .iter()
            .flat_map(|&row| order.iter().map(move |&column| self.row(row)[column]))
            .collect();
        Self { size: order.len(), gains }
    }
}
