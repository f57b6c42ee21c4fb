//! Interference networks of many links, with weak paths summed up.

use crate::problems::interference::Interference;

/// Interference network that keeps strong paths individually and sums up the weak ones.
///
/// Two links are neighbours if either hears the other above a threshold. A link's neighbours are thus those that
/// it hears and those that it disturbs, and one list serves both sums. Of all other links, only two sums are
/// kept: the gains to the link's receiver and the gains from its transmitter. Multiplied by the network's mean
/// power and mean harm, they replace the individual paths.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseInterference {
    /// Index of the first neighbour of each link, and one past the last neighbour.
    pub(crate) offsets: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
    /// Gain `g_kj` from neighbour j to link k, in units of the noise at full power.
    pub(crate) hears: Vec<f64>,
    /// Gain `g_jk` from link k to neighbour j.
    pub(crate) harms: Vec<f64>,
    /// Direct gain `g_kk`.
    pub(crate) direct: Vec<f64>,
    /// Weight `α_k`; 1 for every link if there are no weights.
    pub(crate) weights: Vec<f64>,
    /// Whether any weight differs from 1.
    pub(crate) weighted: bool,
    /// Sum of `g_kj` over all links that are not neighbours.
    pub(crate) far_hears: Vec<f64>,
    /// Sum of `g_jk` over all links that are not neighbours.
    pub(crate) far_harms: Vec<f64>,
}

impl SparseInterference {
    /// Builds a network that keeps paths whose gain, in units of the noise at full power, is at least `threshold`
    /// in one direction; 0 keeps all paths.
    pub fn new(problem: &Interference, threshold: f64) -> Self {
        let (gains, size) = (problem.normalised(), problem.size());
        let (mut far_hears, mut far_harms) = (vec![0.0; size], vec![0.0; size]);
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); size];
        // Row by row, in memory order. A strong path makes its two links neighbours.
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
                // A weak path whose opposite direction is strong was added to the far sums; subtract it.
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

    /// Returns the number of links `K`.
    pub fn size(&self) -> usize {
        self.direct.len()
    }

    /// Returns the number of paths that are kept; both directions of a pair count.
    pub fn paths(&self) -> usize {
        self.neighbours.len()
    }

    /// Returns the neighbours of a link, each with the gain from it and the gain to it.
    pub fn neighbourhood(&self, link: usize) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        self.range(link)
            .map(|path| (self.neighbours[path] as usize, self.hears[path], self.harms[path]))
    }

    /// Returns the sums over the links that are not neighbours: gains from them and gains to them.
    pub fn far(&self, link: usize) -> (f64, f64) {
        (self.far_hears[link], self.far_harms[link])
    }

    /// Returns the range of a link's neighbours in the lists.
    pub(crate) fn range(&self, link: usize) -> std::ops::Range<usize> {
        self.offsets[link] as usize..self.offsets[link + 1] as usize
    }
}

/// Number of gains that are compared at once.
const CHUNK: usize = 8;

/// Converts an index to 32 bits; a matrix with more links would not fit into memory.
fn short(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Scans a part of a row that starts at column `first`. Records neighbours, adds the other gains to `harms`, and
/// returns their sum.
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
            // If all paths are kept, the other link records this one in its own row.
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
