//! On-demand restore, seen from who fills the memory: what is filled next.
//!
//! Every chunk is handed out once, and is never touched again when it was said to be filled: the program may have
//! written to it since. What was asked for comes first, in that order; else what is predicted to be used first.

use std::collections::VecDeque;

use strobe_extent::ChunkIndex;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct FillOrder {
    chunks: Vec<State>,
    asked: VecDeque<ChunkIndex>,
    predicted: VecDeque<ChunkIndex>,
    /// Chunks that are not filled.
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Somebody else's.
    Foreign,
    Waiting,
    UnderWay,
    Filled,
}

impl FillOrder {
    /// Of `chunks` in all, numbered from 0, these are to be filled, in this order as long as nobody asks.
    pub fn new(chunks: usize, predicted: impl IntoIterator<Item = ChunkIndex>) -> FillOrder {
        let mut order = FillOrder {
            chunks: vec![State::Foreign; chunks],
            asked: VecDeque::new(),
            predicted: VecDeque::new(),
            left: 0,
        };
        for chunk in predicted {
            if let Some(state @ State::Foreign) = order.chunks.get_mut(chunk.0 as usize) {
                *state = State::Waiting;
                order.predicted.push_back(chunk);
                order.left += 1;
            }
        }
        order
    }

    /// Somebody waits for this chunk. Of one that is none of ours, or under way already, nothing changes.
    pub fn ask(&mut self, chunk: ChunkIndex) {
        if self.state(chunk) == State::Waiting {
            self.asked.push_back(chunk);
        }
    }

    /// The chunk to be filled now, if one is left.
    pub fn take(&mut self) -> Option<ChunkIndex> {
        while let Some(chunk) = self
            .asked
            .pop_front()
            .or_else(|| self.predicted.pop_front())
        {
            // It is in both.
            if self.state(chunk) == State::Waiting {
                self.chunks[chunk.0 as usize] = State::UnderWay;
                return Some(chunk);
            }
        }
        None
    }

    /// The chunk that was handed out is filled. Panics when it was not handed out: nothing may be filled twice.
    pub fn filled(&mut self, chunk: ChunkIndex) {
        assert_eq!(self.state(chunk), State::UnderWay, "chunk {}", chunk.0);
        self.chunks[chunk.0 as usize] = State::Filled;
        self.left -= 1;
    }

    /// Nobody wants what was not handed out yet.
    pub fn abandon(&mut self) {
        self.asked.clear();
        self.predicted.clear();
    }

    /// Whether everything is filled.
    pub fn is_complete(&self) -> bool {
        self.left == 0
    }

    fn state(&self, chunk: ChunkIndex) -> State {
        let state = self.chunks.get(chunk.0 as usize);
        state.copied().unwrap_or(State::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(chunks: usize, predicted: &[u32]) -> FillOrder {
        FillOrder::new(chunks, predicted.iter().copied().map(ChunkIndex))
    }

    fn rest(order: &mut FillOrder) -> Vec<u32> {
        std::iter::from_fn(|| order.take())
            .map(|chunk| chunk.0)
            .collect()
    }

    #[test]
    fn what_was_asked_for_comes_first_and_nothing_comes_twice() {
        let mut order = order(6, &[3, 1, 0, 2, 5]);
        assert_eq!(order.take(), Some(ChunkIndex(3)));
        for chunk in [5, 3, 0, 5, 4, 99] {
            order.ask(ChunkIndex(chunk));
        }
        assert_eq!(rest(&mut order), [5, 0, 1, 2]);
        order.ask(ChunkIndex(1));
        assert_eq!(order.take(), None);
    }

    #[test]
    fn it_is_complete_when_all_is_filled_that_was_handed_out() {
        let mut order = order(3, &[2, 0, 2, 7]);
        let (first, second) = (order.take().unwrap(), order.take().unwrap());
        order.filled(second);
        assert!(!order.is_complete());
        order.filled(first);
        assert!(order.is_complete() && order.take().is_none());
    }

    #[test]
    fn what_is_abandoned_is_not_handed_out() {
        let mut order = order(3, &[0, 1, 2]);
        order.ask(ChunkIndex(2));
        assert_eq!(order.take(), Some(ChunkIndex(2)));
        order.ask(ChunkIndex(1));
        order.abandon();
        assert_eq!(order.take(), None);
    }

    #[test]
    #[should_panic(expected = "chunk 1")]
    fn nothing_is_filled_that_was_not_handed_out() {
        order(2, &[0, 1]).filled(ChunkIndex(1));
    }
}
