//! A failure made small: first the program, then what it is launched with.

use crate::campaign::Bench;
use crate::program::{self, Program};
use crate::scene::{Scene, Value};

/// Lanes.
const WAVE: u32 = 64;

/// Kernels that are tried with one run of the compiler.
const BATCH: usize = 32;

/// A kernel, a launch, and what it touched that was not foreseen.
#[derive(Clone, Debug)]
pub struct Failure<P> {
    pub program: P,
    pub scene: Scene,
    pub flags: String,
    pub missed: String,
}

impl<P: Program> Failure<P> {
    /// The smallest failure that is reached by leaving out one thing after the other.
    ///
    /// # Errors
    /// If the compiler cannot be run.
    pub fn shrunk(mut self, bench: &mut Bench) -> anyhow::Result<Self> {
        self.scene = smaller_scene(&self, bench)?;
        while let Some((program, missed)) = smaller_program(&self, bench)? {
            (self.program, self.missed) = (program, missed);
        }
        self.scene = smaller_scene(&self, bench)?;
        let alone = bench.trial(
            std::slice::from_ref(&self.program),
            &self.flags,
            &self.scene,
        )?;
        if let Some((_, missed)) = alone {
            self.missed = missed;
        }
        Ok(self)
    }
}

fn smaller_program<P: Program>(
    failure: &Failure<P>,
    bench: &mut Bench,
) -> anyhow::Result<Option<(P, String)>> {
    for batch in failure.program.smaller().chunks(BATCH) {
        if let Some((at, missed)) = bench.trial(batch, &failure.flags, &failure.scene)? {
            return Ok(Some((batch[at].clone(), missed)));
        }
    }
    Ok(None)
}

fn smaller_scene<P: Program>(failure: &Failure<P>, bench: &mut Bench) -> anyhow::Result<Scene> {
    let source = program::file(std::slice::from_ref(&failure.program));
    let mut fails = bench.failing(P::LANGUAGE, &source, &failure.flags)?;
    let mut scene = failure.scene.clone();
    loop {
        let next = smaller_scenes(&scene).into_iter().find(|s| fails(s));
        match next {
            Some(next) => scene = next,
            None => return Ok(scene),
        }
    }
}

fn smaller_scenes(scene: &Scene) -> Vec<Scene> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Scene)| {
        let mut changed = scene.clone();
        change(&mut changed);
        if changed != *scene {
            all.push(changed);
        }
    };
    with(&|s| s.words.clear());
    with(&|s| s.grid = s.block);
    for items in [1, WAVE] {
        // Whole waves stay whole: a kernel may switch on lanes that no work-item has, and that hold anything.
        let whole = !scene.block[0].is_multiple_of(WAVE) || items == WAVE;
        if scene.grid[0] > items && whole {
            with(&|s| (s.block, s.grid) = ([items, 1, 1], [items, 1, 1]));
        }
    }
    with(&|s| s.buffers.iter_mut().for_each(|b| b.known = true));
    with(&|s| s.buffers.iter_mut().for_each(|b| b.mask = 0));
    with(&|s| s.buffers.iter_mut().for_each(|b| b.seed = 0));
    with(&|s| s.buffers.iter_mut().for_each(|b| b.gap = 1 << 16));
    for at in 0..scene.words.len() {
        with(&|s| {
            s.words.remove(at);
        });
        with(&|s| simpler(&mut s.words[at].1.value));
    }
    for at in 0..scene.arguments.len() {
        with(&|s| simpler(&mut s.arguments[at].value));
    }
    all
}

fn simpler(value: &mut Value) {
    *value = match *value {
        Value::Number(0 | 1) | Value::Address(0, _) => return,
        Value::Number(_) => Value::Number(0),
        Value::Address(_, offset) => Value::Address(0, offset),
    };
}
