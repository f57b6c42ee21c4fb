//! Mini-batches whose order depends only on the seed and the step, so that a training run can resume at any step.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Order of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Shuffles again when fewer samples remain than one batch needs, and skips these samples.
    Whole,
    /// Shuffles again when all samples are used; the last batch of an epoch may be smaller.
    All,
    /// Order like `Whole`, but each shuffle starts from the sorted order, and batches are taken from the end.
    Fresh,
}

/// Batches of one training run, drawn by the generator that also drew the initialization. If training resumes at a
/// later step, the batches up to that step are drawn again.
#[derive(Debug, Clone)]
pub(crate) struct Batches {
    start: ChaCha8Rng,
    rng: ChaCha8Rng,
    count: usize,
    batch: usize,
    rule: Order,
    order: Vec<usize>,
    /// Start of the next batch; for `Fresh`, its end.
    next: usize,
    /// Batch of the last step.
    current: (usize, usize),
    /// Number of steps whose batches were drawn.
    made: u64,
}

impl Batches {
    /// Creates batches of at most `batch` out of `count` samples.
    pub(crate) fn new(rng: ChaCha8Rng, count: usize, batch: usize, rule: Order) -> Self {
        let batch = if rule == Order::Fresh { batch.min(count) } else { batch };
        let mut batches = Self {
            start: rng.clone(),
            rng,
            count,
            batch,
            rule,
            order: Vec::new(),
            next: 0,
            current: (0, 0),
            made: 0,
        };
        batches.rewind();
        batches
    }

    fn rewind(&mut self) {
        self.rng = self.start.clone();
        self.order = (0..self.count).collect();
        self.next = if self.rule == Order::Fresh { 0 } else { self.count };
        self.made = 0;
    }

    /// Returns the indices of the samples of a step.
    pub(crate) fn at(&mut self, step: u64) -> &[usize] {
        if step + 1 < self.made {
            self.rewind();
        }
        while self.made <= step {
            self.advance();
        }
        &self.order[self.current.0..self.current.1]
    }

    fn advance(&mut self) {
        self.made += 1;
        if self.rule == Order::Fresh {
            if self.next < self.batch {
                self.order = (0..self.count).collect();
                self.order.shuffle(&mut self.rng);
                self.next = self.count;
            }
            self.current = (self.next - self.batch, self.next);
            self.next -= self.batch;
            return;
        }
        let over = match self.rule {
            Order::All => self.next >= self.count,
            _ => self.next + self.batch > self.count,
        };
        if over {
            self.order.shuffle(&mut self.rng);
            self.next = 0;
        }
        let end = (self.next + self.batch).min(self.count);
        self.current = (self.next, end);
        self.next = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_later_step_has_the_same_batch_whichever_way_one_gets_there() {
        for rule in [Order::Whole, Order::All, Order::Fresh] {
            let make = || Batches::new(ChaCha8Rng::seed_from_u64(3), 10, 4, rule);
            let mut one_by_one = make();
            let all: Vec<Vec<usize>> = (0..20).map(|step| one_by_one.at(step).to_vec()).collect();
            for step in [13, 2, 19, 0, 7] {
                assert_eq!(make().at(step), all[usize::try_from(step).unwrap()], "{rule:?}");
                assert_eq!(one_by_one.at(step), all[usize::try_from(step).unwrap()], "{rule:?}");
            }
            let sizes: Vec<usize> = all.iter().take(3).map(Vec::len).collect();
            assert_eq!(sizes, if rule == Order::All { [4, 4, 2] } else { [4, 4, 4] });
        }
    }

    #[test]
    fn fewer_samples_than_a_batch() {
        for rule in [Order::Whole, Order::All, Order::Fresh] {
            let mut batches = Batches::new(ChaCha8Rng::seed_from_u64(3), 3, 4, rule);
            let mut batch = batches.at(5).to_vec();
            batch.sort_unstable();
            assert_eq!(batch, [0, 1, 2]);
        }
    }
}
