//! Lengths in front of messages.
//!
//! CRIU's amdgpu images, and ours beside them, are a u64 little-endian payload length and the
//! payload ([`read_image`], [`write_image`]). The control socket carries a u32 little-endian
//! length and a message ([`read_control`], [`write_control`]). Lengths come from files and peers:
//! they are bounded before anything is allocated.

use std::io::{self, Read, Write};

pub use prost::Message;

use crate::image::Image;

/// Largest message of an image file, read and written: what could not be read is not written. A kfd image
/// of 100,000 buffer objects stays below it.
pub const IMAGE_LIMIT: u64 = 256 << 20;
/// Largest control message accepted.
pub const CONTROL_LIMIT: u32 = 1 << 20;

fn decode<M: Message + Default>(reader: &mut impl Read, len: u64) -> io::Result<M> {
    let mut payload = Vec::new();
    reader.by_ref().take(len).read_to_end(&mut payload)?;
    if payload.len() as u64 != len {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("a message of {len} bytes ends after {}", payload.len()),
        ));
    }
    M::decode(payload.as_slice()).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

fn too_long(len: u64, limit: u64) -> io::Error {
    let text = format!("a message of {len} bytes is longer than {limit}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Reads an image's length (bytes that follow).
pub fn read_image_len(reader: &mut impl Read) -> io::Result<u64> {
    let mut len = [0; 8];
    reader.read_exact(&mut len)?;
    Ok(u64::from_le_bytes(len))
}

/// Reads one message of an image file; the reader stands behind it afterwards.
pub fn read_image<M: Message + Default>(reader: &mut impl Read) -> io::Result<M> {
    let len = read_image_len(reader)?;
    if len > IMAGE_LIMIT {
        return Err(too_long(len, IMAGE_LIMIT));
    }
    decode(reader, len)
}

/// The bytes of one message in an image file. An error, which says what there is too much of, if nobody
/// would read it.
pub fn image_bytes(message: &impl Image) -> io::Result<Vec<u8>> {
    let len = message.encoded_len() as u64;
    if len > IMAGE_LIMIT {
        let text = format!("{}: {}", too_long(len, IMAGE_LIMIT), message.parts());
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut bytes = len.to_le_bytes().to_vec();
    message.encode(&mut bytes).expect("a vector grows");
    Ok(bytes)
}

/// Writes one message of an image file ([`image_bytes`]).
pub fn write_image(writer: &mut impl Write, message: &impl Image) -> io::Result<()> {
    writer.write_all(&image_bytes(message)?)
}

/// Reads one control message; `None` when the peer closed the connection between messages.
pub fn read_control<M: Message + Default>(reader: &mut impl Read) -> io::Result<Option<M>> {
    let mut len = [0; 4];
    let mut got = 0;
    while got < len.len() {
        match reader.read(&mut len[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let len = u32::from_le_bytes(len);
    if len > CONTROL_LIMIT {
        return Err(too_long(len.into(), CONTROL_LIMIT.into()));
    }
    decode(reader, len.into()).map(Some)
}

/// Writes one control message, in one write.
pub fn write_control(writer: &mut impl Write, message: &impl Message) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    message.encode(&mut bytes).expect("a vector grows");
    let len = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    if len > CONTROL_LIMIT {
        return Err(too_long(len.into(), CONTROL_LIMIT.into()));
    }
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    writer.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amdgpu::{CriuDmabufNode, CriuKfd, CriuRenderNode, DevIolink, KfdBoEntry};
    use crate::{FromAgent, Refused, from_agent};

    #[test]
    fn image_bytes_are_those_computed_by_hand() {
        // Tags are number << 3 | wire type (0: varint, 2: a length and bytes); a zero is written too.
        let node = CriuDmabufNode { gem_handle: 0 };
        assert_eq!(
            image_bytes(&node).unwrap(),
            [2, 0, 0, 0, 0, 0, 0, 0, 0x08, 0]
        );

        let bo = KfdBoEntry {
            addr: 0x7f00_0020_0000,
            size: 4096,
            offset: 0,
            alloc_flags: 1 << 31,
            gpu_id: 300,
            handle: Some(u32::MAX),
            mapped_at: None,
        };
        let expected = [
            [0x08, 0x80, 0x80, 0x80, 0x81, 0x80, 0xe0, 0x1f].as_slice(), // 0x7f0000200000 in 7-bit groups
            &[0x10, 0x80, 0x20],
            &[0x18, 0x00],
            &[0x20, 0x80, 0x80, 0x80, 0x80, 0x08],
            &[0x28, 0xac, 0x02],
            &[0x30, 0xff, 0xff, 0xff, 0xff, 0x0f],
        ]
        .concat();
        let image = CriuKfd {
            bo_entries: vec![bo],
            ..CriuKfd::default()
        };
        let bytes = image_bytes(&image).unwrap();
        let entry = [&[6 << 3 | 2, expected.len() as u8], expected.as_slice()].concat();
        assert_eq!(bytes[..8], (bytes.len() as u64 - 8).to_le_bytes());
        assert!(
            bytes.windows(entry.len()).any(|part| part == entry),
            "{bytes:x?}"
        );
        assert_eq!(read_image::<CriuKfd>(&mut bytes.as_slice()).unwrap(), image);
    }

    #[test]
    fn what_nobody_would_read_is_not_written_and_says_what_there_is_too_much_of() {
        let image = |bytes: u64| CriuKfd {
            bo_entries: vec![KfdBoEntry::default(); 3],
            priv_data: vec![0; bytes as usize],
            ..CriuKfd::default()
        };
        let rest = image(1 << 27).encoded_len() as u64 - (1 << 27);
        let largest = image_bytes(&image(IMAGE_LIMIT - rest)).unwrap();
        assert_eq!(largest.len() as u64, 8 + IMAGE_LIMIT);
        read_image::<CriuKfd>(&mut largest.as_slice()).unwrap();
        let mut written = Vec::new();
        let error = write_image(&mut written, &image(IMAGE_LIMIT - rest + 1)).unwrap_err();
        assert_eq!(written, []);
        let expected = format!(
            "a message of {} bytes is longer than {IMAGE_LIMIT}: 3 buffer objects and {} bytes of the \
             driver's own state",
            IMAGE_LIMIT + 1,
            IMAGE_LIMIT - rest + 1,
        );
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_image_of_criu_4_2_is_read_without_its_later_fields() {
        // criu_render_node of 4.2: gpu_id only.
        let bytes = [3, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x92, 0x21];
        let node: CriuRenderNode = read_image(&mut bytes.as_slice()).unwrap();
        assert_eq!(
            node,
            CriuRenderNode {
                gpu_id: 0x1092,
                ..Default::default()
            }
        );
        assert_eq!(node.num_of_bos, None);
    }

    #[test]
    fn an_absurd_length_is_refused_before_reading() {
        let mut bytes = (IMAGE_LIMIT + 1).to_le_bytes().to_vec();
        bytes.extend([0; 16]);
        let error = read_image::<DevIolink>(&mut bytes.as_slice()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let bytes = [0xff; 8];
        let error = read_control::<FromAgent>(&mut bytes.as_slice()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_cut_message_is_an_error_and_a_closed_connection_is_none() {
        let refused = Refused {
            reason: "a kernel does not end".into(),
        };
        let message = FromAgent {
            body: Some(from_agent::Body::Refused(refused)),
        };
        let mut bytes = Vec::new();
        write_control(&mut bytes, &message).unwrap();
        let mut reader = bytes.as_slice();
        assert_eq!(read_control(&mut reader).unwrap(), Some(message));
        assert_eq!(read_control::<FromAgent>(&mut reader).unwrap(), None);
        for cut in 1..bytes.len() {
            let error = read_control::<FromAgent>(&mut &bytes[..cut]).unwrap_err();
            assert_eq!(
                error.kind(),
                io::ErrorKind::UnexpectedEof,
                "cut after {cut} bytes"
            );
        }
    }
}
