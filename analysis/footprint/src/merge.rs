//! Points where values from several paths meet, and the phis made there.
//!
//! All phis of a point have one input per way into it, in the same order, so two phis of one point
//! pair up to a 64-bit phi input by input. Each way carries the facts that hold on it: an input is
//! evaluated under those and under no others.

use serde::{Deserialize, Serialize};

use crate::expr::{Arena, BOTTOM, FactId, Id, Map, Node};
use crate::facts::Facts;
use crate::live::Live;

/// A way into a point.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Way {
    /// For values of lanes.
    pub(crate) facts: FactId,
    /// For values of the whole wave.
    pub(crate) wave: FactId,
    /// Comes from the end of the loop that the point heads.
    pub(crate) back: bool,
    /// The walk came this way.
    pub(crate) taken: bool,
    /// Some lane is active whenever it is taken.
    pub(crate) occupied: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) ways: Vec<Way>,
    /// The facts that hold at the point.
    pub(crate) facts: FactId,
    pub(crate) wave: FactId,
    #[serde(skip)]
    pub(crate) phis: PointPhis,
    /// The bit of the loop that it heads ([`crate::expr::Traits::loops`]), or none.
    pub(crate) loops: u64,
}

/// The phis of a point: those of a meeting point follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PointPhis {
    /// The number of the first, if there is any.
    first: u32,
    pub(crate) count: u32,
    /// Their bits in [`crate::expr::Traits::parts`].
    pub(crate) parts: u64,
}

impl Point {
    fn keep(&self, live: &Live) -> Self {
        let ways = self.ways.iter().map(|way| Way {
            facts: live.fact(way.facts),
            wave: live.fact(way.wave),
            ..*way
        });
        Self {
            ways: ways.collect(),
            facts: live.fact(self.facts),
            wave: live.fact(self.wave),
            phis: PointPhis::default(),
            loops: self.loops,
        }
    }

    pub(crate) fn is_loop(&self) -> bool {
        self.loops != 0
    }
}

/// Where a phi's inputs come from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Phi {
    pub(crate) point: u32,
    /// Of all inputs: [`Merges::inputs`].
    first: u32,
    ways: u32,
    /// The value of the whole wave: only scalar facts count for its inputs.
    pub(crate) scalar: bool,
}

/// The ways that bring lanes of a mask ([`crate::gathered`]).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Gathered {
    /// Where they meet.
    pub(crate) point: u32,
    /// What holds for a lane of the mask, and for its wave, on each way; `None` where it brings none.
    pub(crate) ways: Vec<Option<[FactId; 2]>>,
    /// The mask on the only way that brings lanes, and the epoch at its end.
    #[serde(skip)]
    pub(crate) only: Option<(Id, u32)>,
}

/// Of most phis.
const WAYS: usize = 3;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Merges {
    pub(crate) points: Vec<Point>,
    pub(crate) phis: Vec<Phi>,
    /// Of all phis together.
    inputs: Vec<Id>,
    /// How many have come up while the walk went on.
    #[serde(skip)]
    pub(crate) brought: usize,
    /// Inputs of 64-bit phis, made when the walk is over.
    pub(crate) wide: Map<(u32, u32), Vec<Id>>,
    /// Masks that are empty on some ways.
    pub(crate) gathered: Map<Id, Gathered>,
}

impl Merges {
    /// About so many phis will come up.
    pub(crate) fn reserve(&mut self, phis: usize) {
        self.phis.reserve(phis);
        self.inputs.reserve(WAYS * phis);
    }

    pub(crate) fn point(&mut self, mut point: Point) -> u32 {
        point.phis.first = self.phis.len() as u32;
        self.points.push(point);
        self.points.len() as u32 - 1
    }

    /// A phi of a point; `loops` are the bits of the loops whose iteration it depends on, beside
    /// those of its inputs.
    pub(crate) fn phi(
        &mut self,
        arena: &mut Arena,
        point: u32,
        inputs: &[Id],
        scalar: bool,
        loops: u64,
    ) -> Id {
        let mut bits = loops | arena.inside;
        for input in inputs {
            bits |= arena.traits(*input).loops;
        }
        self.brought += inputs.len();
        let id = arena.new_phi(bits, !scalar);
        let of_point = &mut self.points[point as usize].phis;
        if (of_point.first + of_point.count) as usize == self.phis.len() {
            of_point.count += 1;
            of_point.parts |= arena.part(id);
        }
        self.phis.push(Phi {
            point,
            first: self.inputs.len() as u32,
            ways: inputs.len() as u32,
            scalar,
        });
        self.inputs.extend_from_slice(inputs);
        id
    }

    /// The inputs of a phi: one a way; [`BOTTOM`] where the way brings no value.
    pub(crate) fn inputs(&self, phi: u32) -> &[Id] {
        let Phi { first, ways, .. } = self.phis[phi as usize];
        &self.inputs[first as usize..][..ways as usize]
    }

    /// The halves that two phis of one place where ways meet have on each way; none of a loop's, which are not all known
    /// while the walk goes on.
    pub(crate) fn whole_inputs(&self, low: u32, high: u32) -> Vec<(Id, Id)> {
        let [l, h] = [low, high].map(|phi| self.phis[phi as usize]);
        let point = &self.points[l.point as usize];
        let is_whole = l.point == h.point
            && !point.is_loop()
            && point.ways.iter().all(|way| !way.back)
            && [l, h]
                .iter()
                .all(|phi| phi.ways as usize == point.ways.len());
        if !is_whole {
            return Vec::new();
        }
        let (lows, highs) = (self.inputs(low).iter(), self.inputs(high).iter());
        lows.copied().zip(highs.copied()).collect()
    }

    /// One input of a phi, now that it is known.
    pub(crate) fn bring(&mut self, phi: u32, way: usize, input: Id) {
        let Phi { first, ways, .. } = self.phis[phi as usize];
        let inputs = &mut self.inputs[first as usize..][..ways as usize];
        if let Some(known) = inputs.get_mut(way) {
            *known = input;
        }
    }

    /// All inputs of a phi, now that they are known.
    pub(crate) fn bring_all(&mut self, phi: u32, inputs: impl IntoIterator<Item = Id>) {
        let first = self.inputs.len();
        self.inputs.extend(inputs);
        let phi = &mut self.phis[phi as usize];
        (phi.first, phi.ways) = (first as u32, (self.inputs.len() - first) as u32);
    }

    /// Makes the inputs of every 64-bit phi that has come up, and of those that come up then.
    pub(crate) fn widen(&mut self, arena: &mut Arena) {
        let mut seen = 0;
        while seen < arena.len() {
            let id = Id(seen as u32);
            seen += 1;
            let Node::Phi64(low, high) = arena.node(id) else {
                continue;
            };
            let (l, h) = (self.phis[low as usize], self.phis[high as usize]);
            // Where only one half was merged, later than the other, the other is the same on all
            // ways.
            let (mut lows, mut highs) = (self.inputs(low).to_vec(), self.inputs(high).to_vec());
            if l.point > h.point {
                highs = vec![arena.high(id); lows.len()];
            } else if l.point < h.point {
                lows = vec![arena.low(id); highs.len()];
            }
            let pairs = lows.into_iter().zip(highs);
            let inputs = pairs.map(|(low, high)| arena.pair(low, high)).collect();
            self.wide.insert((low, high), inputs);
        }
    }

    /// What is kept of them; nothing is added any more.
    pub(crate) fn keep(&self, live: &Live) -> Self {
        let mut inputs = Vec::new();
        let phis = live.phis.kept().map(|number| {
            let phi = self.phis[number as usize];
            let first = inputs.len() as u32;
            inputs.extend(self.inputs(number).iter().map(|input| live.node(*input)));
            Phi {
                point: live.points.of(phi.point),
                first,
                ..phi
            }
        });
        let phis = phis.collect();
        let points = live.points.kept();
        let points = points.map(|point| self.points[point as usize].keep(live));
        let node = |id: Id| live.nodes.get(id.0).map(Id);
        let wide = self.wide.iter().filter_map(|((low, high), inputs)| {
            let key = (live.phis.get(*low)?, live.phis.get(*high)?);
            let inputs = inputs.iter().map(|input| node(*input));
            Some((key, inputs.collect::<Option<_>>()?))
        });
        // Of masks that are no conditions nobody asks.
        let gathered = self.gathered.iter().filter_map(|(mask, gathered)| {
            let fact = |id: FactId| live.facts.get(id.0).map(FactId);
            let ways = gathered.ways.iter().map(|way| match way {
                Some([lane, wave]) => Some(Some([fact(*lane)?, fact(*wave)?])),
                None => Some(None),
            });
            let gathered = Gathered {
                point: live.points.get(gathered.point)?,
                ways: ways.collect::<Option<_>>()?,
                only: None,
            };
            Some((node(*mask)?, gathered))
        });
        Self {
            points: points.collect(),
            phis,
            wide: wide.collect(),
            gathered: gathered.collect(),
            brought: self.brought,
            inputs,
        }
    }

    /// Whether all refer to what there is, and each phi has an input for each way.
    pub(crate) fn are_sound(&self, arena: &Arena, facts: &Facts) -> bool {
        let is_input = |input: Id, bits| input == BOTTOM || arena.is_of(input, bits);
        let has_point = |point: u32| (point as usize) < self.points.len();
        let phi = |phi: &Phi| {
            let end = phi.first.checked_add(phi.ways);
            has_point(phi.point)
                && phi.ways as usize == self.points[phi.point as usize].ways.len()
                && end.is_some_and(|end| end as usize <= self.inputs.len())
        };
        let wide = |((low, high), inputs): (&(u32, u32), &Vec<Id>)| {
            [low, high]
                .iter()
                .all(|half| (**half as usize) < self.phis.len())
                && inputs.iter().all(|input| is_input(*input, 64))
                && inputs.len() == self.phis[self.later(*low, *high) as usize].ways as usize
        };
        let way = |way: &Way| facts.has(way.facts) && facts.has(way.wave);
        let point = |point: &Point| {
            facts.has(point.facts) && facts.has(point.wave) && point.ways.iter().all(way)
        };
        let gathered = |(mask, gathered): (&Id, &Gathered)| {
            let mut chains = gathered.ways.iter().flatten().flatten();
            arena.is_truth(*mask) && has_point(gathered.point) && chains.all(|id| facts.has(*id))
        };
        self.points.iter().all(point)
            && self.phis.iter().all(phi)
            && self.inputs.iter().all(|input| is_input(*input, 32))
            && self.wide.iter().all(wide)
            && self.gathered.iter().all(gathered)
    }

    /// The phi whose ways the inputs of a 64-bit phi follow.
    pub(crate) fn later(&self, low: u32, high: u32) -> u32 {
        if self.phis[low as usize].point < self.phis[high as usize].point {
            high
        } else {
            low
        }
    }

    /// Joins the values of several ways: one value if they agree, else a new phi.
    pub(crate) fn join(
        &mut self,
        arena: &mut Arena,
        point: u32,
        values: &[Id],
        scalar: bool,
    ) -> Id {
        let mut only = BOTTOM;
        for &value in values {
            if value != BOTTOM && value != only {
                if only != BOTTOM {
                    return self.phi(arena, point, values, scalar, 0);
                }
                only = value;
            }
        }
        only
    }
}
