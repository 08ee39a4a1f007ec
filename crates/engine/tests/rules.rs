//! The engine's rules, one at a time.

use strobe_engine::{
    BeginError, Config, CopyAside, CopyOut, Engine, Mode, Proceed, RingSlot, SetAside, SlotError,
    Source, Ticket, Waits, Writer,
};
use strobe_extent::{Extent, Reason, Side, StreamId};

const A: Writer = Writer::Stream(StreamId(1));
const B: Writer = Writer::Stream(StreamId(2));
const CHUNK: u64 = 0x1000;

fn e(start: u64, len: u64) -> Extent {
    Extent::with_len(start, len).unwrap()
}

/// Four chunks at 0x10000 and a short one at 0x20000.
fn config() -> Config {
    Config {
        mode: Mode::Cow,
        chunk_bytes: CHUNK,
        ring_slots: 2,
        aside_bytes: 4 * CHUNK,
        tracked: vec![e(0x20000, 0x100), e(0x10000, 4 * CHUNK)],
        set_aside: Vec::new(),
        copy_order: Vec::new(),
    }
}

fn begin(change: impl FnOnce(&mut Config)) -> Engine {
    let mut config = config();
    change(&mut config);
    Engine::begin(config).unwrap()
}

fn write(start: u64) -> Side {
    e(start, 4).into()
}

fn waits(aside: u64, out: u64) -> Proceed {
    let ticket = |t| (t > 0).then_some(Ticket(t));
    Proceed::After(Waits {
        aside: ticket(aside),
        out: ticket(out),
    })
}

/// Copies and stores everything that is left.
fn finish(engine: &mut Engine) -> Vec<CopyOut> {
    let mut copies = Vec::new();
    while let Some(copy) = engine.next_copy() {
        copies.push(copy);
        engine.copy_done(copy.slot);
        engine.slot_free(copy.slot).unwrap();
    }
    assert!(engine.finished());
    copies
}

#[test]
fn a_write_copies_aside_only_what_it_touches_and_waits_once() {
    let mut engine = begin(|_| {});
    let first = engine.before_write(A, &e(0x10ffc, 8).into());
    assert_eq!(
        first.asides,
        [
            CopyAside {
                extent: e(0x10000, CHUNK),
                pool_offset: 0
            },
            CopyAside {
                extent: e(0x11000, CHUNK),
                pool_offset: CHUNK
            },
        ]
    );
    assert_eq!(
        (first.ticket, first.proceed),
        (Some(Ticket(1)), waits(1, 0))
    );
    let again = engine.before_write(A, &write(0x10000));
    assert!(again.asides.is_empty(), "the chunk is safe already");
    assert_eq!(again.proceed, waits(0, 0), "the stream waits already");
    assert_eq!(engine.before_write(B, &write(0x10000)).proceed, waits(1, 0));
    assert_eq!(
        engine.before_write(Writer::Host, &write(0x10000)).proceed,
        waits(1, 0)
    );
    engine.aside_done(Ticket(1));
    assert_eq!(
        engine.before_write(Writer::Host, &write(0x10000)).proceed,
        waits(0, 0)
    );
    assert_eq!(engine.statistics().bytes_aside, 2 * CHUNK);
    assert_eq!(engine.statistics().waits, 3);
}

#[test]
fn a_later_ticket_covers_the_earlier_ones() {
    let mut engine = begin(|_| {});
    engine.before_write(A, &write(0x10000));
    assert_eq!(engine.before_write(B, &write(0x11000)).proceed, waits(2, 0));
    assert_eq!(engine.before_write(B, &write(0x10000)).proceed, waits(0, 0));
    assert_eq!(engine.before_write(A, &write(0x11000)).proceed, waits(2, 0));
}

#[test]
fn a_write_waits_for_a_copy_out_under_way_and_not_for_one_from_the_pool() {
    let mut engine = begin(|c| c.aside_bytes = CHUNK);
    let out = engine.next_copy().unwrap();
    assert_eq!(
        (out.extent, out.source),
        (e(0x10000, CHUNK), Source::Original)
    );
    assert_eq!(engine.before_write(A, &write(0x10000)).proceed, waits(0, 1));
    assert_eq!(engine.before_write(A, &write(0x11000)).proceed, waits(1, 0));
    // The pool is full now, so it is drained before the rest, once the bytes are there.
    engine.aside_done(Ticket(1));
    let from_pool = engine.next_copy().unwrap();
    assert_eq!(
        (from_pool.extent, from_pool.source),
        (e(0x11000, CHUNK), Source::Pool(0))
    );
    assert_eq!(engine.before_write(B, &write(0x11000)).proceed, waits(0, 0));
    engine.copy_done(out.slot);
    engine.copy_done(from_pool.slot);
    let all = engine.before_write(B, &e(0x10000, 2 * CHUNK).into());
    assert_eq!((all.asides.len(), all.proceed), (0, waits(0, 0)));
}

#[test]
fn an_unknown_write_takes_everything_that_is_unsaved() {
    let mut engine = begin(|c| c.aside_bytes = 8 * CHUNK);
    let out = engine.next_copy().unwrap();
    engine.before_write(B, &write(0x11000));
    let decision = engine.before_write(A, &Side::Unknown(Reason::NotAnalysed));
    let aside: Vec<Extent> = decision.asides.iter().map(|copy| copy.extent).collect();
    assert_eq!(
        aside,
        [e(0x12000, CHUNK), e(0x13000, CHUNK), e(0x20000, 0x100)]
    );
    assert_eq!(decision.proceed, waits(2, 1), "{out:?} is under way too");
    assert_eq!(engine.statistics().conservative_writes, 1);
}

#[test]
fn memory_outside_the_cut_is_free_to_write() {
    let mut engine = begin(|_| {});
    for writes in [write(0x20100), write(0xfffc), write(0x14000), Side::none()] {
        let decision = engine.before_write(A, &writes);
        assert_eq!(
            (decision.asides.len(), decision.proceed),
            (0, waits(0, 0)),
            "{writes}"
        );
    }
    assert_eq!(
        engine.before_write(A, &write(0xffff)).asides.len(),
        1,
        "one byte inside is enough"
    );
}

#[test]
fn a_full_pool_blocks_until_the_writers_chunk_is_copied_out_first() {
    let mut engine = begin(|c| c.aside_bytes = CHUNK);
    engine.before_write(A, &write(0x10000));
    let blocked = engine.before_write(B, &write(0x13000));
    assert_eq!(
        (blocked.asides.len(), blocked.proceed),
        (0, Proceed::Blocked)
    );
    let out = engine.next_copy().unwrap();
    assert_eq!(
        out.extent,
        e(0x13000, CHUNK),
        "what a writer is blocked on goes first"
    );
    assert_eq!(engine.before_write(B, &write(0x13000)).proceed, waits(0, 1));
}

#[test]
fn a_blocked_write_keeps_what_it_got() {
    let mut engine = begin(|c| c.aside_bytes = CHUNK);
    let both: Side = e(0x10ffc, 8).into();
    let blocked = engine.before_write(A, &both);
    assert_eq!((blocked.asides.len(), blocked.ticket), (1, Some(Ticket(1))));
    assert_eq!(blocked.proceed, Proceed::Blocked);
    assert_eq!(engine.next_copy().unwrap().extent, e(0x11000, CHUNK));
    // The wait that the blocked decision did not hand out is still due.
    assert_eq!(engine.before_write(A, &both).proceed, waits(1, 1));
}

#[test]
fn without_a_pool_every_write_waits_for_its_copy_out() {
    let mut engine = begin(|c| c.aside_bytes = 0);
    assert_eq!(
        engine.before_write(A, &write(0x20000)).proceed,
        Proceed::Blocked
    );
    assert_eq!(engine.next_copy().unwrap().extent, e(0x20000, 0x100));
    assert_eq!(engine.before_write(A, &write(0x20000)).proceed, waits(0, 1));
}

#[test]
fn copies_follow_the_order_asked_for_and_cover_everything() {
    let order = vec![e(0x20000, 1), e(0x500, 4), e(0x12800, CHUNK), e(0x12000, 1)];
    let mut engine = begin(|c| c.copy_order = order);
    let copies: Vec<Extent> = finish(&mut engine).iter().map(|copy| copy.extent).collect();
    let starts: Vec<u64> = copies.iter().map(|extent| extent.start()).collect();
    assert_eq!(starts, [0x20000, 0x12000, 0x13000, 0x10000, 0x11000]);
    assert_eq!(engine.statistics().bytes_out, 4 * CHUNK + 0x100);
}

#[test]
fn stopping_holds_every_write_until_all_is_saved() {
    let mut engine = begin(|c| c.mode = Mode::Stop);
    assert_eq!(
        engine.before_write(A, &write(0x10000)).proceed,
        Proceed::Blocked
    );
    assert!(!engine.is_saved());
    finish(&mut engine);
    assert!(engine.is_saved());
    assert_eq!(engine.before_write(A, &write(0x10000)).proceed, waits(0, 0));
}

/// How many copies are ordered at once, of eight small regions and then so many whole chunks.
fn at_once(chunks: u64, change: impl FnOnce(&mut Config)) -> usize {
    let small = (0..8).map(|at| e(0x10000 + at * 2 * CHUNK, 0x100));
    let whole = (0..chunks).map(|at| e(0x80000 + at * CHUNK, CHUNK));
    let mut engine = begin(|config| {
        config.tracked = small.chain(whole).collect();
        config.ring_slots = 32;
        change(config);
    });
    while let Some((_, ticket)) = engine.stage() {
        engine.aside_done(ticket);
    }
    std::iter::from_fn(|| engine.next_copy()).count()
}

#[test]
fn the_link_has_as_much_to_do_as_nobody_waits_for_and_small_copies_are_little() {
    let bytes_that_writers_wait_for = at_once(8, |config| config.aside_bytes = 0);
    assert_eq!(bytes_that_writers_wait_for, 8 + 3);
    assert_eq!(at_once(8, |config| config.mode = Mode::Stop), 16);
    // Through the pool: by how much there is to copy, and a quarter of the pool.
    let pool = |chunks: u64| move |config: &mut Config| config.aside_bytes = chunks * CHUNK;
    assert_eq!(at_once(8, pool(64)), 8 + 4);
    assert_eq!(at_once(128, pool(64)), 8 + 16);
    assert_eq!(at_once(128, pool(24)), 8 + 6);
}

#[test]
fn saved_comes_before_finished() {
    let mut engine = begin(|c| c.tracked = vec![e(0x10000, 16)]);
    let copy = engine.next_copy().unwrap();
    engine.copy_done(copy.slot);
    assert!(
        engine.is_saved() && !engine.finished(),
        "the controller has not stored it"
    );
    engine.slot_free(copy.slot).unwrap();
    assert!(engine.finished());
}

#[test]
fn nothing_tracked_is_finished_at_once() {
    let mut engine = begin(|c| c.tracked.clear());
    assert!(engine.finished() && engine.next_copy().is_none());
}

#[test]
fn an_aborted_checkpoint_holds_nobody_back() {
    let mut engine = begin(|c| c.mode = Mode::Stop);
    engine.next_copy().unwrap();
    engine.abort();
    assert_eq!(engine.before_write(A, &write(0x10000)).proceed, waits(0, 0));
    assert!(engine.next_copy().is_none() && !engine.finished());
}

#[test]
fn false_reports_of_the_controller_are_refused() {
    let mut engine = begin(|_| {});
    let copy = engine.next_copy().unwrap();
    assert_eq!(engine.slot_free(RingSlot(7)), Err(SlotError::NoSuchSlot(7)));
    assert_eq!(
        engine.slot_free(copy.slot),
        Err(SlotError::NotFull(copy.slot.0))
    );
    engine.copy_done(copy.slot);
    assert_eq!(engine.slot_free(copy.slot), Ok(()));
    assert_eq!(
        engine.slot_free(copy.slot),
        Err(SlotError::NotFull(copy.slot.0))
    );
}

#[test]
fn impossible_configurations_are_refused() {
    let mut no_ring = config();
    no_ring.ring_slots = 0;
    assert_eq!(Engine::begin(no_ring).unwrap_err(), BeginError::NoRingSlot);
    let mut overlap = config();
    overlap.tracked.push(e(0x10010, 1));
    assert!(matches!(Engine::begin(overlap), Err(BeginError::Chunks(_))));
}

#[test]
#[should_panic(expected = "no copy into")]
fn an_arrival_that_was_never_ordered_is_a_bug() {
    begin(|_| {}).copy_done(RingSlot(0));
}

#[test]
fn what_was_set_aside_is_delivered_from_the_pool_and_holds_nobody_back() {
    let aside = SetAside {
        extent: e(0x30000, CHUNK + 0x80),
        pool_offset: CHUNK,
    };
    let mut engine = begin(|config| config.set_aside.push(aside));
    let write = engine.before_write(A, &e(0x30000, 2 * CHUNK).into());
    assert_eq!((write.asides, write.proceed), (Vec::new(), waits(0, 0)));
    let room = engine.before_write(A, &e(0x10000, 4 * CHUNK).into()).asides;
    assert!(
        room.iter().all(|copy| copy.pool_offset != CHUNK),
        "its room is taken: {room:?}"
    );
    engine.aside_done(Ticket(1));
    let copies = finish(&mut engine);
    let from_pool = |start: u64| copies.iter().find(|copy| copy.extent.start() == start);
    let (first, last) = (from_pool(0x30000).unwrap(), from_pool(0x31000).unwrap());
    assert_eq!(first.source, Source::Pool(CHUNK));
    assert_eq!(last.source, Source::Pool(2 * CHUNK));
    assert_eq!(last.extent, e(0x31000, 0x80));
}

#[test]
fn what_cannot_lie_in_the_pool_is_refused() {
    let refused = |extent, pool_offset| {
        let mut config = config();
        config.set_aside = vec![
            SetAside {
                extent: e(0x40000, 0x100),
                pool_offset: 0,
            },
            SetAside {
                extent,
                pool_offset,
            },
        ];
        Engine::begin(config).unwrap_err()
    };
    let far = e(0x50000, 0x100);
    for offset in [0, 1, 4 * CHUNK, u64::MAX - 0xff] {
        let error = refused(far, offset);
        assert!(matches!(error, BeginError::Room { .. }), "{error}");
    }
    let tracked = refused(e(0x10000, 0x100), 0x100);
    assert!(matches!(tracked, BeginError::Chunks(_)), "{tracked}");
}

#[test]
fn with_a_large_pool_copies_out_come_from_it_and_only_when_they_are_there() {
    let mut engine = begin(|c| c.aside_bytes = 16 * CHUNK);
    assert_eq!(engine.next_copy(), None, "nothing is in the pool");
    let staged: Vec<_> = std::iter::from_fn(|| engine.stage()).collect();
    let starts: Vec<u64> = staged.iter().map(|(copy, _)| copy.extent.start()).collect();
    assert_eq!(starts, [0x10000, 0x11000, 0x12000, 0x13000], "a few ahead");
    assert_eq!(engine.next_copy(), None, "nothing has arrived in the pool");
    engine.aside_done(staged[0].1);
    let copy = engine.next_copy().unwrap();
    let offset = staged[0].0.pool_offset;
    assert_eq!(
        (copy.extent, copy.source),
        (e(0x10000, CHUNK), Source::Pool(offset))
    );
    assert_eq!(engine.next_copy(), None, "the second has not");
    // The chunk that is on the link may be written, and the staged one when it is in the pool.
    assert_eq!(engine.before_write(A, &write(0x10000)).proceed, waits(0, 0));
    assert_eq!(engine.before_write(A, &write(0x11000)).proceed, waits(2, 0));
    let (last, ticket) = engine.stage().expect("there is room for one more");
    assert_eq!(last.extent, e(0x20000, 0x100));
    engine.aside_done(ticket);
    engine.copy_done(copy.slot);
    engine.slot_free(copy.slot).unwrap();
    assert_eq!(finish(&mut engine).len(), 4);
    assert_eq!(
        engine.statistics().bytes_aside,
        0,
        "no writer asked for any"
    );
}

#[test]
fn what_writers_set_aside_goes_out_first_when_the_pool_runs_short() {
    let mut engine = begin(|c| {
        c.aside_bytes = 16 * CHUNK;
        c.tracked = vec![e(0x100_0000, 32 * CHUNK)];
    });
    let (staged, _) = engine.stage().unwrap();
    let written = e(0x100_0000 + 20 * CHUNK, 8 * CHUNK);
    let ticket = engine.before_write(A, &written.into()).ticket.unwrap();
    engine.aside_done(ticket);
    assert_eq!(engine.stage(), None, "the pool is for writers now");
    let copies = [engine.next_copy().unwrap(), engine.next_copy().unwrap()];
    assert_eq!(copies[0].extent, e(written.start(), CHUNK));
    engine.copy_done(copies[0].slot);
    assert_eq!(copies[1].extent, e(written.start() + CHUNK, CHUNK));
    engine.copy_done(copies[1].slot);
    engine.slot_free(copies[0].slot).unwrap();
    assert_eq!(
        engine.next_copy().unwrap().extent,
        staged.extent,
        "there is room again"
    );
}
