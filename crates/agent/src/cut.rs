//! The cut: what the checkpoint holds is fixed, and the engine begins when the dump is done.

use crate::agent::{Agent, GATE};
use crate::answer::Answer;
use crate::checkpoint::ring_slots;
use crate::reach;
use crate::saving::Saving;
use prost::Message;
use std::sync::atomic::Ordering;
use std::time::Duration;
use strobe_engine::{Config, Engine};
use strobe_proto::{Begin, Extent as ExtentMessage, HandOver, Mode};

/// What is known of a checkpoint at its cut.
#[derive(Debug)]
pub(crate) struct Cut {
    config: Config,
    pool: Option<strobe_extent::Extent>,
    answer: Option<Answer>,
    max_hold: Duration,
}

impl Cut {
    /// The gate is closed, the GPU idle: fixes what the checkpoint holds.
    pub(crate) fn take(agent: &Agent, begin: &Begin) -> Result<Cut, String> {
        while !agent.ring.is_empty() {
            agent.drain_ring(usize::MAX);
        }
        agent.trace.lock().look_up_tables(reach::AT_REST);
        GATE.take_held_back();
        let pool = match &*agent.control.spare.lock() {
            Some(resources) => resources.pool(),
            None => return Err("the copy queues are gone: the device was reset".into()),
        };
        let config = Config {
            mode: match begin.mode() {
                Mode::Stop => strobe_engine::Mode::Stop,
                _ => strobe_engine::Mode::Cow,
            },
            chunk_bytes: begin.chunk_bytes,
            ring_slots: ring_slots(begin.chunk_bytes),
            aside_bytes: pool.map_or(0, strobe_extent::Extent::len),
            tracked: agent.registry.extents(),
            set_aside: Vec::new(),
            copy_order: agent.trace.lock().copy_order(),
        };
        Ok(Cut {
            config,
            pool,
            answer: pool.and_then(Answer::expect),
            max_hold: Duration::from_millis(begin.max_hold_ms.into()),
        })
    }

    /// The encoded hand-over for the plugin; it names places in `self`.
    pub(crate) fn hand_over(&self, agent: &Agent, begin: &Begin) -> Vec<u8> {
        let message = |extent: &strobe_extent::Extent| ExtentMessage {
            start: extent.start(),
            len: extent.len(),
        };
        let (aside_room, answer) = self.answer.as_ref().map(Answer::places).unzip();
        let hand_over = HandOver {
            checkpoint_id: begin.checkpoint_id.clone(),
            mode: begin.mode,
            chunk_bytes: begin.chunk_bytes,
            tracked: self.config.tracked.iter().map(message).collect(),
            dead: self.pool.iter().map(message).collect(),
            target: agent
                .modules
                .device()
                .and_then(|name| name.split(':').next())
                .unwrap_or_default()
                .to_owned(),
            aside_room,
            answer,
        };
        hand_over.encode_to_vec()
    }

    /// The dump is done, the gate still closed: from now on the cut's content is kept.
    pub(crate) fn keep(self, agent: &Agent) -> Result<(), String> {
        let mut config = self.config;
        if let Some(answer) = &self.answer {
            config.set_aside = answer.read(agent.page)?;
        }
        let engine = Engine::begin(config).map_err(|error| error.to_string())?;
        let resources = agent.control.spare.lock().take();
        let resources = resources.ok_or("the copy queues are gone: the device was reset")?;
        agent
            .save
            .begin(Saving::new(engine, resources, self.max_hold));
        agent.trace.lock().must_be_right(true);
        agent.synchronous.store(true, Ordering::Release);
        Ok(())
    }
}
