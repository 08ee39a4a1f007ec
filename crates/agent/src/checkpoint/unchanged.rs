//! Chunks that are at the cut what they were at an earlier checkpoint, as their fingerprints say: nobody copies them.

use std::collections::HashMap;
use strobe_extent::Extent;
use strobe_fingerprint::Fingerprint;
use strobe_proto::KnownChunks;

/// What chunks were at an earlier checkpoint.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<Extent, Fingerprint>);

impl Known {
    /// Takes in what the controller says. What makes no sense is nothing.
    pub(super) fn learn(&mut self, piece: &KnownChunks) {
        let chunks = piece.chunks.iter().filter_map(|known| {
            let extent = Extent::try_from(known.extent?).ok()?;
            Some((extent, Fingerprint::from_bytes(&known.fingerprint)?))
        });
        self.0.extend(chunks);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether anything is known of a chunk.
    pub(super) fn has(&self, chunk: Extent) -> bool {
        self.0.contains_key(&chunk)
    }

    /// Whether a chunk is now what it was.
    pub(super) fn is(&self, chunk: Extent, now: Fingerprint) -> bool {
        self.0.get(&chunk) == Some(&now)
    }
}

/// What regions have of chunks of theirs; both are in address order.
pub(super) fn only(regions: &[Extent], chunks: &[Extent]) -> Vec<Extent> {
    let mut chunks = chunks.iter().copied().peekable();
    let mut only: Vec<Extent> = Vec::new();
    for region in regions {
        let mut run: Option<Extent> = None;
        while let Some(chunk) = chunks.next_if(|chunk| chunk.end() <= region.end()) {
            let joined = run.filter(|run| run.end() == chunk.start());
            let joined = joined.and_then(|run| Extent::new(run.start(), chunk.end()).ok());
            if joined.is_none() {
                only.extend(run);
            }
            run = joined.or(Some(chunk));
        }
        only.extend(run);
    }
    only
}

/// What is left of regions without chunks of theirs; both are in address order.
pub(super) fn without(regions: &[Extent], chunks: &[Extent]) -> Vec<Extent> {
    let mut chunks = chunks.iter().copied().peekable();
    let mut left = Vec::new();
    for region in regions {
        let mut at = region.start();
        while let Some(chunk) = chunks.next_if(|chunk| chunk.end() <= region.end()) {
            left.extend(Extent::new(at, chunk.start()));
            at = chunk.end();
        }
        left.extend(Extent::new(at, region.end()));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_without_chunks_keep_their_boundaries() {
        let extent = |(start, end)| Extent::new(start, end).unwrap();
        let all = |extents: &[(u64, u64)]| extents.iter().copied().map(extent).collect::<Vec<_>>();
        // Two that touch, and one apart.
        let regions = all(&[(0, 0x2800), (0x2800, 0x4800), (0x8000, 0x9000)]);
        let left = |chunks: &[(u64, u64)]| without(&regions, &all(chunks));
        let only = |chunks: &[(u64, u64)]| only(&regions, &all(chunks));
        assert_eq!((left(&[]), only(&[])), (regions.clone(), Vec::new()));
        assert_eq!(
            only(&[
                (0, 0x1000),
                (0x1000, 0x2000),
                (0x2000, 0x2800),
                (0x2800, 0x3800),
                (0x8000, 0x9000)
            ]),
            all(&[(0, 0x2800), (0x2800, 0x3800), (0x8000, 0x9000)])
        );
        assert_eq!(
            only(&[(0, 0x1000), (0x2000, 0x2800)]),
            all(&[(0, 0x1000), (0x2000, 0x2800)])
        );
        assert_eq!(
            left(&[(0x1000, 0x2000), (0x2000, 0x2800), (0x8000, 0x9000)]),
            all(&[(0, 0x1000), (0x2800, 0x4800)])
        );
        assert_eq!(
            left(&[(0, 0x1000), (0x3800, 0x4800)]),
            all(&[(0x1000, 0x2800), (0x2800, 0x3800), (0x8000, 0x9000)])
        );
    }

    #[test]
    fn a_chunk_is_unchanged_only_where_it_is_known_as_it_is() {
        let extent = |start| Extent::with_len(start, 8).unwrap();
        let (one, other) = (Fingerprint::of(&[1; 8]), Fingerprint::of(&[2; 8]));
        let mut known = Known::default();
        let chunk = |start, fingerprint: &[u8]| strobe_proto::KnownChunk {
            extent: Some(extent(start).into()),
            fingerprint: fingerprint.to_vec(),
        };
        known.learn(&KnownChunks {
            chunks: vec![chunk(0, &one.to_bytes()), chunk(8, &[1; 3])],
        });
        assert_eq!(known.len(), 1, "what is no fingerprint is nothing");
        assert!(known.is(extent(0), one) && !known.is(extent(0), other));
        assert!(!known.is(extent(8), one) && !known.has(extent(8)));
    }
}
