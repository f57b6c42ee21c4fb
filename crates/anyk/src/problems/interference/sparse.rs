//! An interference network with its weak paths taken together: what a large field of links looks like.

use crate::problems::interference::Interference;

/// The paths of an [`Interference`] network that matter one by one, and the others summed up.
///
/// Links are neighbours if either hears the other above a threshold, so that the neighbours of a link
/// are those that it hears and those that it harms, and sums over both run over one list. What a
/// receiver hears from all others, and what its transmitter does to them, is only kept as a sum: with
/// the mean power of the network, and the mean harm, it stands for them.
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
    /// `α_k`; 1 for each where there are no weights.
    pub(crate) weights: Vec<f64>,
    /// Whether not all weights are 1.
    pub(crate) weighted: bool,
    /// `Σ g_kj` over the others that are no neighbours.
    pub(crate) far_hears: Vec<f64>,
    /// `Σ g_jk` over them.
    pub(crate) far_harms: Vec<f64>,
}

impl SparseInterference {
    /// Keeps the paths whose gain, in units of the noise at full power, is at least `threshold` in one
    /// direction; 0 keeps all.
    pub fn new(problem: &Interference, threshold: f64) -> Self {
        let (gains, size) = (problem.normalised(), problem.size());
        let (mut far_hears, mut far_harms) = (vec![0.0; size], vec![0.0; size]);
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); size];
        // Row by row, as the matrix lies in memory: a loud path makes neighbours of both its links.
        for (link, far_hears) in far_hears.iter_mut().enumerate() {
            let row = gains.row(link);
            let harms = far_harms.as_chunks_mut::<CHUNK>();
            let rows = row.as_chunks::<CHUNK>();
            let mut sums = [0.0; CHUNK];
            for (index, (chunk, harms)) in rows.0.iter().zip(harms.0).enumerate() {
                let own = link / CHUNK == index;
                if !own && chunk.iter().all(|gain| *gain < threshold) {
                    for i in 0..CHUNK {
                        sums[i] += chunk[i];
                        harms[i] += chunk[i];
                    }
                } else {
                    sums[0] += sort_out(link, index * CHUNK, chunk, threshold, harms, &mut lists);
                }
            }
            let first = size - rows.1.len();
            sums[0] += sort_out(link, first, rows.1, threshold, harms.1, &mut lists);
            *far_hears = sums.iter().sum();
        }
        let mut sparse = Self {
            offsets: vec![0],
            neighbours: Vec::new(),
            hears: Vec::new(),
            harms: Vec::new(),
            direct: (0..size).map(|link| gains.direct(link)).collect(),
            weights: (0..size).map(|link| problem.weight(link)).collect(),
            weighted: problem.weights().is_some(),
            far_hears,
            far_harms,
        };
        for (link, mut list) in lists.into_iter().enumerate() {
            list.sort_unstable();
            list.dedup();
            for &other in &list {
                let (hears, harms) =
                    (gains.row(link)[other as usize], gains.row(other as usize)[link]);
                sparse.hears.push(hears);
                sparse.harms.push(harms);
                // A weak path whose other direction is loud was summed up with the far ones.
                for (gain, far) in
                    [(hears, &mut sparse.far_hears[link]), (harms, &mut sparse.far_harms[link])]
                {
                    if gain < threshold {
                        *far = (*far - gain).max(0.0);
                    }
                }
            }
            sparse.neighbours.append(&mut list);
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

    /// Each neighbour of a link, with what the link hears from it and what it does to it.
    pub fn neighbourhood(&self, link: usize) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        self.range(link)
            .map(|path| (self.neighbours[path] as usize, self.hears[path], self.harms[path]))
    }

    /// Sums over the others: what the link hears from them at full power, and what it does to them.
    pub fn far(&self, link: usize) -> (f64, f64) {
        (self.far_hears[link], self.far_harms[link])
    }

    /// The places of a link's neighbours in the lists.
    pub(crate) fn range(&self, link: usize) -> std::ops::Range<usize> {
        self.offsets[link] as usize..self.offsets[link + 1] as usize
    }
}

/// Gains that are looked at together.
const CHUNK: usize = 8;

/// Links are counted by 32 bits; a matrix of more would not fit into any memory.
fn short(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Goes through a part of a row, from column `first` on: notes neighbours, adds the others' gains to
/// `harms`, and returns the sum of them.
fn sort_out(
    link: usize,
    first: usize,
    gains: &[f64],
    threshold: f64,
    harms: &mut [f64],
    lists: &mut [Vec<u32>],
) -> f64 {
    let mut far = 0.0;
    for (other, (&gain, harms)) in (first..).zip(gains.iter().zip(harms)) {
        if other == link {
            continue;
        }
        if gain >= threshold {
            lists[link].push(short(other));
            // Where all paths are kept, the other link notes this one by itself.
            if threshold > 0.0 {
                lists[other].push(short(link));
            }
        } else {
            far += gain;
            *harms += gain;
        }
    }
    far
}
