//! An interference network with its weak paths taken together: what a large field of links looks like.

use crate::problem::Interference;

/// The paths of an [`Interference`] network that matter one by one, and the others summed up.
///
/// Links are neighbours if either hears the other above a threshold, so that the neighbours of a link
/// are those that it hears and those that it harms, and sums over both run over one list. What a
/// receiver hears from all others is only kept as a sum, `far`: with the mean power of the network it
/// stands for their interference.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseInterference {
    /// Where the neighbours of each link begin, and one past the last.
    pub(crate) offsets: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
    /// `g_kj` of link k and its neighbour j, in units of the noise at full power.
    pub(crate) hears: Vec<f64>,
    /// `g_jk`.
    pub(crate) harms: Vec<f64>,
    /// `g_kk`.
    pub(crate) direct: Vec<f64>,
    /// `Σ g_kj` over the others that are no neighbours.
    pub(crate) far: Vec<f64>,
}

impl SparseInterference {
    /// Keeps the paths whose gain, in units of the noise at full power, is at least `threshold` in one
    /// direction; 0 keeps all.
    pub fn new(problem: &Interference, threshold: f64) -> Self {
        let (gains, size) = (problem.normalised(), problem.size());
        let mut sparse = Self {
            offsets: vec![0],
            neighbours: Vec::new(),
            hears: Vec::new(),
            harms: Vec::new(),
            direct: (0..size).map(|link| gains.direct(link)).collect(),
            far: Vec::with_capacity(size),
        };
        // Links are counted by 32 bits; a matrix of more would not fit into any memory.
        let short = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        for link in 0..size {
            let mut far = 0.0;
            for (other, &hears) in gains.row(link).iter().enumerate() {
                if other == link {
                    continue;
                }
                let harms = gains.row(other)[link];
                if hears >= threshold || harms >= threshold {
                    sparse.neighbours.push(short(other));
                    sparse.hears.push(hears);
                    sparse.harms.push(harms);
                } else {
                    far += hears;
                }
            }
            sparse.far.push(far);
            sparse.offsets.push(short(sparse.neighbours.len()));
        }
        sparse
    }

    /// Number of links `K`.
    pub fn size(&self) -> usize {
        self.direct.len()
    }

    /// Number of paths kept, both directions of a pair counted.
    pub fn paths(&self) -> usize {
        self.neighbours.len()
    }

    /// The places of a link's neighbours in the lists.
    pub(crate) fn range(&self, link: usize) -> std::ops::Range<usize> {
        self.offsets[link] as usize..self.offsets[link + 1] as usize
    }
}
