//! Loops with one way in.
//!
//! The walk takes for granted that a loop is entered at its head: what held there holds in the loop,
//! and whoever comes back to the head has been there before. Compilers make loops with several ways in
//! (jump threading does), so such loops are rewritten before anything else looks at them: one entry
//! becomes the head, and all blocks that the other entries lead to are there twice. The copies are
//! walked until they reach the head; from then on it is a loop like any other.
//!
//! A loop that was entered at an `if` is entered behind its condition: with the lanes that satisfy it, or past it with none. Where
//! an entry only switches lanes on again, the head is what comes after it: there all are on, on every way.

use crate::block::{Block, FlowError};

/// Entries of one loop that are tried as its head.
const MAX_CANDIDATES: usize = 8;

/// Blocks looked at, for each instruction that there may be.
const WORK: usize = 4;

/// Copies blocks until every loop has one entry. `limit`: instructions that the blocks may have then.
/// `restores`: whether the instruction of this index switches lanes on again.
pub(crate) fn make_reducible(
    blocks: &mut Vec<Block>,
    entry: usize,
    limit: usize,
    restores: impl Fn(usize) -> bool,
) -> Result<(), FlowError> {
    let restores = |block: &Block| restores(block.instructions.start);
    split_after_first(blocks, restores);
    let mut work = 0;
    let mut size: usize = blocks.iter().map(|block| block.instructions.len()).sum();
    let mut before = predecessors(blocks);
    let mut regions: Vec<Vec<usize>> = vec![(0..blocks.len()).collect()];
    while let Some(region) = regions.pop() {
        for knot in knots(blocks, &region) {
            work += blocks.len() / 8;
            if work > WORK * limit {
                return Err(FlowError::Size);
            }
            let inside = marked(blocks.len(), &knot);
            let is_entry =
                |block: usize| block == entry || before[block].iter().any(|&from| !inside[from]);
            let entries: Vec<usize> = knot.iter().copied().filter(|&b| is_entry(b)).collect();
            let mut head = *entries.first().ok_or(FlowError::Code)?;
            if entries.len() > 1 {
                let restored = entries.iter().filter(|&&b| restores(&blocks[b]));
                let restored = restored.filter_map(|&b| blocks[b].next.filter(|&to| inside[to]));
                let restored: Vec<usize> = restored.collect();
                let candidates = restored.iter().take(MAX_CANDIDATES).map(|&b| (false, b));
                let others = entries.iter().take(MAX_CANDIDATES).map(|&b| (true, b));
                let found = candidates
                    .chain(others)
                    .map(|(is_other, candidate)| {
                        let reached = without(blocks, &inside, &entries, candidate);
                        let cost: usize =
                            reached.iter().map(|&b| blocks[b].instructions.len()).sum();
                        (is_other, cost, candidate, reached)
                    })
                    .filter(|(_, cost, ..)| size + cost <= limit)
                    .min_by_key(|&(is_other, cost, ..)| (is_other, cost));
                work += blocks.len();
                let Some((_, cost, candidate, copied)) = found else {
                    return Err(FlowError::Size);
                };
                size += cost;
                head = candidate;
                regions.push(copy(blocks, &inside, &copied));
                before = predecessors(blocks);
            }
            regions.push(knot.into_iter().filter(|&block| block != head).collect());
        }
    }
    Ok(())
}

/// Cuts blocks after their first instruction.
fn split_after_first(blocks: &mut Vec<Block>, wanted: impl Fn(&Block) -> bool) {
    for index in 0..blocks.len() {
        let after = blocks.len();
        let block = &mut blocks[index];
        if wanted(block) && block.instructions.len() > 1 {
            let cut = block.instructions.start + 1;
            let rest = Block {
                instructions: cut..block.instructions.end,
                next: block.next.replace(after),
                taken: block.taken.take(),
                ..Block::default()
            };
            block.instructions.end = cut;
            blocks.push(rest);
        }
    }
}

fn successors(block: &Block) -> impl Iterator<Item = usize> {
    [block.next, block.taken].into_iter().flatten()
}

fn marked(count: usize, blocks: &[usize]) -> Vec<bool> {
    let mut marks = vec![false; count];
    for &block in blocks {
        marks[block] = true;
    }
    marks
}

fn predecessors(blocks: &[Block]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); blocks.len()];
    for (index, block) in blocks.iter().enumerate() {
        for to in successors(block) {
            before[to].push(index);
        }
    }
    before
}

/// What the other entries lead to inside without passing the head.
fn without(blocks: &[Block], inside: &[bool], entries: &[usize], head: usize) -> Vec<usize> {
    let mut found: Vec<usize> = entries.iter().copied().filter(|&e| e != head).collect();
    let mut seen = marked(blocks.len(), &found);
    seen[head] = true;
    let mut at = 0;
    while let Some(&block) = found.get(at) {
        at += 1;
        for to in successors(&blocks[block]) {
            if inside[to] && !seen[to] {
                seen[to] = true;
                found.push(to);
            }
        }
    }
    found
}

/// Makes copies that lead to each other, and leads all ways from outside to them.
fn copy(blocks: &mut Vec<Block>, inside: &[bool], originals: &[usize]) -> Vec<usize> {
    let first = blocks.len();
    let mut copies: Vec<Option<usize>> = vec![None; first];
    for (number, &original) in originals.iter().enumerate() {
        copies[original] = Some(first + number);
    }
    let copied = |to: Option<usize>| to.map(|to| copies[to].unwrap_or(to));
    for (index, block) in blocks.iter_mut().enumerate() {
        if !inside[index] {
            (block.next, block.taken) = (copied(block.next), copied(block.taken));
        }
    }
    for &original in originals {
        let block = &blocks[original];
        let copy = Block {
            instructions: block.instructions.clone(),
            next: copied(block.next),
            taken: copied(block.taken),
            ..Block::default()
        };
        blocks.push(copy);
    }
    (first..blocks.len()).collect()
}

/// The sets of blocks of a region that all lead to each other within it (Tarjan's algorithm).
fn knots(blocks: &[Block], region: &[usize]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let inside = marked(blocks.len(), region);
    let mut number = vec![UNSEEN; blocks.len()];
    let mut lowest = vec![UNSEEN; blocks.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut is_open = vec![false; blocks.len()];
    let mut count = 0;
    let mut found = Vec::new();
    for &root in region {
        if number[root] != UNSEEN {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some(&mut (block, ref mut way)) = stack.last_mut() {
            if *way == 0 {
                (number[block], lowest[block]) = (count, count);
                count += 1;
                open.push(block);
                is_open[block] = true;
            }
            let next = successors(&blocks[block])
                .filter(|&to| inside[to])
                .nth(*way);
            *way += 1;
            match next {
                Some(to) if number[to] == UNSEEN => stack.push((to, 0)),
                Some(to) if is_open[to] => lowest[block] = lowest[block].min(number[to]),
                Some(_) => {}
                None => {
                    stack.pop();
                    if let Some(&(above, _)) = stack.last() {
                        lowest[above] = lowest[above].min(lowest[block]);
                    }
                    if lowest[block] == number[block] {
                        let mut knot = Vec::new();
                        while let Some(member) = open.pop() {
                            is_open[member] = false;
                            knot.push(member);
                            if member == block {
                                break;
                            }
                        }
                        let turns = successors(&blocks[block]).any(|to| to == block);
                        if knot.len() > 1 || turns {
                            knot.sort_unstable();
                            found.push(knot);
                        }
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of two instructions with these successors.
    fn graph(ways: &[&[usize]]) -> Vec<Block> {
        let block = |(index, ways): (usize, &&[usize])| Block {
            instructions: 2 * index..2 * index + 2,
            next: ways.first().copied(),
            taken: ways.get(1).copied(),
            ..Block::default()
        };
        ways.iter().enumerate().map(block).collect()
    }

    /// Every loop of every region has one entry.
    fn is_reducible(blocks: &[Block], entry: usize) -> bool {
        let before = predecessors(blocks);
        let mut regions: Vec<Vec<usize>> = vec![(0..blocks.len()).collect()];
        while let Some(region) = regions.pop() {
            for knot in knots(blocks, &region) {
                let inside = marked(blocks.len(), &knot);
                let entries: Vec<usize> = knot
                    .iter()
                    .copied()
                    .filter(|&b| b == entry || before[b].iter().any(|&from| !inside[from]))
                    .collect();
                if entries.len() != 1 {
                    return false;
                }
                regions.push(knot.into_iter().filter(|&b| b != entries[0]).collect());
            }
        }
        true
    }

    /// The first so many instructions of all ways from the entry.
    fn ways(blocks: &[Block], entry: usize, count: usize) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        let mut open = vec![(Vec::new(), entry)];
        while let Some((mut way, at)) = open.pop() {
            way.extend(blocks[at].instructions.clone());
            if way.len() >= count || successors(&blocks[at]).next().is_none() {
                way.truncate(count);
                found.push(way);
            } else {
                open.extend(successors(&blocks[at]).map(|to| (way.clone(), to)));
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_loop_with_two_entries_gets_one() {
        let before = graph(&[&[1, 2], &[2, 3], &[1], &[]]);
        let mut blocks = graph(&[&[1, 2], &[2, 3], &[1], &[]]);
        assert!(!is_reducible(&blocks, 0));
        make_reducible(&mut blocks, 0, 100, |_| false).expect("small enough");
        assert!(is_reducible(&blocks, 0));
        assert_eq!(blocks.len(), 5, "one block is copied");
        assert_eq!(ways(&before, 0, 12), ways(&blocks, 0, 12));
    }

    #[test]
    fn a_loop_that_is_entered_at_an_if_begins_after_it() {
        // 0 leads into the if (1) or past it (2); so does 3, which ends the loop.
        let ways_of: [&[usize]; 5] = [&[1, 2], &[2], &[3], &[1, 2], &[]];
        let before = graph(&ways_of);
        let mut blocks = graph(&ways_of);
        make_reducible(&mut blocks, 0, 100, |at| at == 4).expect("small enough");
        assert!(is_reducible(&blocks, 0));
        assert_eq!(ways(&before, 0, 12), ways(&blocks, 0, 12));
        let rest = blocks.iter().position(|block| block.instructions == (5..6));
        let inner =
            (0..blocks.len()).filter(|&b| successors(&blocks[b]).any(|to| Some(to) == rest));
        assert_eq!(
            inner.count(),
            2,
            "from the copy outside, and where it goes round"
        );
    }

    /// Random graphs: afterwards each loop has one entry, and the same ways lead through them.
    #[test]
    fn random_graphs_become_reducible_and_keep_their_ways() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % below as u64) as usize
        };
        let mut irreducible = 0;
        for _ in 0..500 {
            let count = 3 + random(6);
            let mut ways_of: Vec<Vec<usize>> = Vec::new();
            for block in 0..count {
                // Each is reached from the one before.
                let mut ways: Vec<usize> = (block + 1..count).take(1).collect();
                if random(4) > 0 {
                    ways.push(random(count));
                }
                ways_of.push(ways);
            }
            let slices: Vec<&[usize]> = ways_of.iter().map(|ways| &ways[..]).collect();
            let before = graph(&slices);
            let mut after = graph(&slices);
            irreducible += usize::from(!is_reducible(&before, 0));
            make_reducible(&mut after, 0, 10_000, |at| at % 6 == 0).expect("small enough");
            assert!(is_reducible(&after, 0), "{ways_of:?}");
            assert_eq!(ways(&before, 0, 16), ways(&after, 0, 16), "{ways_of:?}");
        }
        assert!(irreducible > 50, "only {irreducible}: too tame");
    }
}
