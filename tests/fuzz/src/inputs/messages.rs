//! Messages with a length before them, and the hand-over, which has its length in the agent's page.

use strobe_criu::plain;
use strobe_proto::amdgpu::{
    CriuDmabufNode, CriuKfd, CriuRenderNode, DevIolink, DrmBoEntry, DrmVmEntry, KfdBoEntry,
    KfdDeviceEntry,
};
use strobe_proto::frame::{Message, read_control, read_image, write_control, write_image};
use strobe_proto::image::Image;
use strobe_proto::{
    AsideRange, Attributes, Begin, ByteRange, ChunkOrigin, ChunkReady, DeviceHandOver, FileJournal,
    FillRequest, FromAgent, HandOver, HeldBack, HeldBy, Hello, Missed, PluginStatistics,
    ProcessAttributes, ProcessCourse, ProgramFile, ProgramFiles, Residual, ResidualRange,
    SetAsideAnswer, Span, StandIn, Statistics, Suspect, Suspects, ThreadAttributes, ToAgent,
    TraceEvent, TraceKind, Traced, from_agent, to_agent,
};

/// Reads an image of CRIU's folder as each kind that there is.
pub fn amdgpu_images(bytes: &[u8]) {
    let _ = read_image::<CriuKfd>(&mut &bytes[..]);
    let _ = read_image::<CriuRenderNode>(&mut &bytes[..]);
    let _ = read_image::<CriuDmabufNode>(&mut &bytes[..]);
    let _ = read_image::<Residual>(&mut &bytes[..]);
    let _ = read_image::<PluginStatistics>(&mut &bytes[..]);
    let _ = read_image::<ProgramFiles>(&mut &bytes[..]);
    let _ = read_image::<Attributes>(&mut &bytes[..]);
}

/// Reads a list of CRIU's as each kind that an import looks into.
pub fn criu_lists(bytes: &[u8]) {
    plain::read_as_each(bytes);
}

/// Reads what comes out of the control socket, at both of its ends, up to the first error.
pub fn control(bytes: &[u8]) {
    let mut at_the_command = bytes;
    while let Ok(Some(_)) = read_control::<FromAgent>(&mut at_the_command) {}
    let mut at_the_agent = bytes;
    while let Ok(Some(_)) = read_control::<ToAgent>(&mut at_the_agent) {}
}

/// Reads the agent's promise, the plugin's answer to it, and what a restored process hands to another.
pub fn hand_over(bytes: &[u8]) {
    let _ = HandOver::decode(bytes);
    let _ = SetAsideAnswer::decode(bytes);
    let _ = FillRequest::decode(bytes);
}

fn image(message: &impl Image) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_image(&mut bytes, message).expect("a vector grows");
    bytes
}

const SOME: ByteRange = ByteRange {
    start: 0x7f00_0020_0000,
    len: 0x20_0000,
};

/// One of each kind.
pub fn valid_amdgpu_images() -> Vec<Vec<u8>> {
    let device = KfdDeviceEntry {
        node_id: 1,
        gpu_id: 0x1092,
        iolinks: vec![DevIolink {
            r#type: 2,
            node_to_id: 0,
        }],
        vram_size: 1 << 30,
        ..KfdDeviceEntry::default()
    };
    let bo = KfdBoEntry {
        addr: SOME.start,
        size: SOME.len,
        gpu_id: 0x1092,
        handle: Some(1),
        ..KfdBoEntry::default()
    };
    let kfd = CriuKfd {
        pid: 1,
        num_of_gpus: 1,
        device_entries: vec![KfdDeviceEntry::default(), device],
        num_of_bos: 2,
        bo_entries: vec![bo, bo],
        priv_data: vec![7; 64],
        ..CriuKfd::default()
    };
    let node = CriuRenderNode {
        gpu_id: 0x1092,
        num_of_bos: Some(1),
        bo_entries: vec![DrmBoEntry {
            size: 4096,
            num_of_vms: 1,
            vm_entries: vec![DrmVmEntry::default()],
            ..DrmBoEntry::default()
        }],
        ..CriuRenderNode::default()
    };
    let residual = Residual {
        ranges: vec![ResidualRange {
            bo_index: 1,
            bo_offset: 4096,
            len: 4096,
            file_offset: 0,
        }],
        tracked: vec![SOME],
        ..Residual::default()
    };
    let files = ProgramFiles {
        files: vec![ProgramFile {
            path: "/a".into(),
            size: 10,
            user: Some(1000),
            groups: vec![7],
            ..ProgramFile::default()
        }],
        failure: "none".into(),
        journals: vec![FileJournal {
            path: "/a".into(),
            cut: "1f".into(),
            owner: 1,
            cut_unix_ns: 3,
            groups: vec![7],
        }],
    };
    vec![
        image(&kfd),
        image(&node),
        image(&CriuDmabufNode { gem_handle: 1 }),
        image(&residual),
        image(&PluginStatistics {
            target: "gfx906".into(),
            ..PluginStatistics::default()
        }),
        image(&files),
        image(&Attributes {
            processes: vec![ProcessAttributes {
                pid: 7,
                coredump_filter: Some(0x33),
                threads: vec![ThreadAttributes {
                    thread: 7,
                    cpus: vec![0b101],
                    io_priority: Some(0),
                    timer_slack_ns: Some(50_000),
                }],
            }],
        }),
    ]
}

/// One of each kind.
pub fn valid_criu_lists() -> Vec<Vec<u8>> {
    plain::valid_lists()
}

/// Conversations of both ends.
pub fn valid_control() -> Vec<Vec<u8>> {
    use from_agent::Body as From;
    use to_agent::Body as To;
    let mut said = Vec::new();
    for body in [
        From::Hello(Hello {
            pid: 7,
            agent_version: "1".into(),
            attach_point: "exports".into(),
        }),
        From::Chunk(ChunkReady {
            slot: 3,
            extent: Some(SOME),
            fingerprint: vec![9; 16],
            origin: ChunkOrigin::Written.into(),
        }),
        From::Suspects(Suspects {
            kernels: vec![Suspect {
                kernel: "_Z4stepPf".into(),
                code_object: vec![1; 16],
            }],
        }),
        From::Done(Box::new(strobe_proto::Done {
            statistics: Some(Statistics {
                launches: 1 << 40,
                ..Statistics::default()
            }),
            first_use: vec![SOME],
            course: Some(ProcessCourse {
                pid: 7,
                spans: vec![Span {
                    name: "drain".into(),
                    start_ns: 1,
                    end_ns: 2,
                }],
                held: vec![HeldBack {
                    cause: HeldBy::Room.into(),
                    calls: 1,
                    ns: 2,
                    longest_ns: 2,
                }],
                expected: vec![SOME],
                written: vec![SOME],
                device_waits: 3,
            }),
        })),
        From::Traced(Traced {
            events: vec![TraceEvent {
                kind: TraceKind::Copy.into(),
                start_ns: 1,
                end_ns: 2,
                extent: Some(SOME),
                lane: 3,
                name: "_Z4stepPf".into(),
                cause: HeldBy::Link.into(),
                chunks: 2,
            }],
            left_out: 1,
        }),
        From::Wanted(strobe_proto::WantedChunks {
            chunks: vec![0, 70_000],
        }),
    ] {
        write_control(&mut said, &FromAgent { body: Some(body) }).expect("a vector grows");
    }
    let mut told = Vec::new();
    for body in [
        To::Begin(Begin {
            checkpoint_id: vec![5; 16],
            chunk_bytes: 1 << 21,
            residual: vec![SOME],
            ..Begin::default()
        }),
        To::Missed(Missed {
            chunks: vec![SOME, SOME],
        }),
        To::Unloaded(strobe_proto::Unloaded {
            chunk_bytes: 1 << 21,
            regions: vec![SOME],
        }),
        To::Arrived(strobe_proto::Arrived {
            chunks: vec![0, 70_000],
        }),
    ] {
        write_control(&mut told, &ToAgent { body: Some(body) }).expect("a vector grows");
    }
    vec![said, told]
}

/// A promise, an answer and a request.
pub fn valid_hand_overs() -> Vec<Vec<u8>> {
    let promise = HandOver {
        checkpoint_id: vec![5; 16],
        chunk_bytes: 1 << 21,
        devices: vec![DeviceHandOver {
            gpu_id: 4711,
            tracked: vec![SOME],
            dead: vec![ByteRange {
                start: 1 << 40,
                len: 4096,
            }],
            target: "gfx906".into(),
            aside_room: Some(ByteRange {
                start: 1 << 41,
                len: 1 << 24,
            }),
            answer: Some(ByteRange {
                start: 1 << 20,
                len: 1 << 16,
            }),
        }],
        ..HandOver::default()
    };
    let answer = SetAsideAnswer {
        ranges: vec![AsideRange {
            extent: Some(SOME),
            room_offset: 256,
        }],
    };
    let request = FillRequest {
        id: 5,
        stand_ins: vec![StandIn {
            known: 4711,
            present: 4712,
        }],
    };
    vec![
        promise.encode_to_vec(),
        answer.encode_to_vec(),
        request.encode_to_vec(),
    ]
}
