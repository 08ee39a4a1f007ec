//! From any file to the AMDGPU ELF files in it.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};

use crate::bundle::{self, BundleError};
use crate::compressed::{self, CompressedError, Unpacked};
use crate::input::{Input, OpenFile};
use crate::limits::ObjectLimits;
use crate::sections;
use crate::target::TargetId;

const ELF_MAGIC: &[u8; 4] = b"\x7fELF";
const EM_AMDGPU: u16 = 224;
/// Where `e_machine` stands.
const MACHINE: usize = 18;
const MACHINE_BYTES: usize = 2;
const FATBIN_SECTION: &str = ".hip_fatbin";
/// Bundles start on page boundaries in the section, and on 8 bytes when concatenated by hand.
const ALIGNMENT: usize = 8;
/// What is read at first of a header; longer ones are read again.
const HEADER: usize = 512;
/// What is read at a time to look for a bundle.
const WINDOW: usize = 1 << 13;

/// Why a file yields no code objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum ExtractError {
    #[error("neither an ELF file nor an offload bundle")]
    Format,
    #[error("the file carries no device code")]
    NoDeviceCode,
    #[error("the ELF file cannot be read: {0}")]
    Elf(String),
    #[error("at byte {at}: {error}")]
    Bundle { at: usize, error: BundleError },
    #[error("entry {triple} of the bundle at byte {at} is cut off")]
    Entry { at: usize, triple: String },
    #[error("the file holds more than {0} code objects")]
    TooMany(usize),
    #[error("the file cannot be read: {0}")]
    Read(String),
}

impl From<io::Error> for ExtractError {
    fn from(error: io::Error) -> Self {
        Self::Read(error.to_string())
    }
}

/// One AMDGPU ELF file, not yet parsed.
#[derive(Clone, Debug)]
pub struct Extracted<'a> {
    /// As the bundle names it (`hipv4-amdgcn-amd-amdhsa--gfx906`); empty for a bare ELF file.
    pub triple: String,
    /// Where its bundle (or the ELF file itself) starts in the input, in bytes.
    pub at: usize,
    /// The file, decompressed where it was packed.
    pub bytes: Cow<'a, [u8]>,
}

/// Every device code object in `bytes`: an executable, shared library, offload bundle (raw or
/// compressed, or many back to back) or AMDGPU ELF file.
///
/// Entries for the host and for SPIR-V are passed over.
///
/// # Errors
/// If the format is not one of those, or a part of it is cut off or hostile.
pub fn extract<'a>(
    bytes: &'a [u8],
    limits: &ObjectLimits,
) -> Result<Vec<Extracted<'a>>, ExtractError> {
    let mut found = Vec::new();
    visit(
        bytes,
        limits,
        |_| true,
        |object| {
            found.push(object);
            ControlFlow::Continue(())
        },
    )?;
    Ok(found)
}

/// Likewise, one after the other, until `each` has seen enough: of what is packed, one object is in memory at a
/// time, and none of which `wanted` does not want the target: a bundle's triple, or the target id of a bare ELF file
/// (empty if it has none).
///
/// # Errors
/// Those of [`extract`]; some objects may have been seen by then.
pub fn visit<'a>(
    bytes: &'a [u8],
    limits: &ObjectLimits,
    wanted: impl FnMut(&str) -> bool,
    each: impl FnMut(Extracted<'a>) -> ControlFlow<()>,
) -> Result<(), ExtractError> {
    Visit::new(bytes, limits, wanted, each).all()
}

/// Likewise, of a file: of it, too, one object is in memory at a time.
///
/// # Errors
/// Those of [`visit`], and if the file cannot be read.
pub fn visit_file<'a>(
    file: &'a File,
    limits: &ObjectLimits,
    wanted: impl FnMut(&str) -> bool,
    each: impl FnMut(Extracted<'a>) -> ControlFlow<()>,
) -> Result<(), ExtractError> {
    Visit::new(OpenFile::new(file)?, limits, wanted, each).all()
}

fn is_device_code(content: &[u8]) -> bool {
    content.starts_with(ELF_MAGIC) && machine(content) == Some(EM_AMDGPU)
}

fn machine(elf: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(
        *elf.get(MACHINE..)?.first_chunk::<MACHINE_BYTES>()?,
    ))
}

fn starts_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(bundle::MAGIC) || compressed::is_compressed(bytes)
}

struct Visit<'l, I, W, E> {
    input: I,
    limits: &'l ObjectLimits,
    wanted: W,
    each: E,
    /// Those that are not wanted, too.
    objects: usize,
    /// `each` has seen enough.
    ended: bool,
}

impl<'a, 'l, I, W, E> Visit<'l, I, W, E>
where
    I: Input<'a>,
    W: FnMut(&str) -> bool,
    E: FnMut(Extracted<'a>) -> ControlFlow<()>,
{
    fn new(input: I, limits: &'l ObjectLimits, wanted: W, each: E) -> Self {
        Self {
            input,
            limits,
            wanted,
            each,
            objects: 0,
            ended: false,
        }
    }

    fn all(mut self) -> Result<(), ExtractError> {
        self.file()?;
        match self.objects {
            0 => Err(ExtractError::NoDeviceCode),
            _ => Ok(()),
        }
    }

    fn file(&mut self) -> Result<(), ExtractError> {
        let len = self.input.len();
        let start = self.input.part(0, HEADER)?;
        if is_device_code(&start) {
            let target = TargetId::of_elf(&start).map(|target| target.to_string());
            let name = target.as_deref().unwrap_or_default();
            return self.object("", name, 0, |input| Ok(input.part(0, len)?));
        }
        if start.starts_with(ELF_MAGIC) {
            for content in sections::named(&self.input, FATBIN_SECTION)? {
                if content.end > len {
                    return Err(ExtractError::Elf(format!(
                        "{FATBIN_SECTION} lies outside the file"
                    )));
                }
                self.bundles(content)?;
            }
            Ok(())
        } else if starts_bundle(&start) {
            self.bundles(0..len)
        } else {
            Err(ExtractError::Format)
        }
    }

    /// Walks bundles that lie back to back with padding between, somewhere in the input.
    fn bundles(&mut self, range: Range<usize>) -> Result<(), ExtractError> {
        let mut at = range.start;
        while at < range.end && !self.ended {
            let next = self.input.part(at, WINDOW.min(range.end - at))?;
            let shown = (0..next.len()).step_by(ALIGNMENT);
            let Some(padding) = shown.into_iter().find(|from| starts_bundle(&next[*from..])) else {
                // What is cut off at the window's end is looked at again.
                at += match at + next.len() < range.end {
                    true => WINDOW - bundle::MAGIC.len(),
                    false => next.len(),
                };
                continue;
            };
            at += padding;
            let length = match compressed::is_compressed(&next[padding..]) {
                true => self.packed(at, range.end)?,
                false => self.raw(at, range.end)?,
            };
            at += length.max(1).next_multiple_of(ALIGNMENT);
        }
        Ok(())
    }

    /// The header of the bundle at a place, and what has been made of it.
    fn header<T>(
        &self,
        at: usize,
        end: usize,
        make: impl Fn(&[u8]) -> Result<T, BundleError>,
    ) -> Result<(Cow<'a, [u8]>, T), ExtractError> {
        let mut len = HEADER;
        loop {
            let header = self.input.part(at, len.min(end - at))?;
            match make(&header) {
                Err(BundleError::Short(more)) if more > header.len() && more <= end - at => {
                    len = more.max(2 * len);
                }
                Err(error) => return Err(ExtractError::Bundle { at, error }),
                Ok(made) => return Ok((header, made)),
            }
        }
    }

    /// The bytes of the bundle.
    fn raw(&mut self, at: usize, end: usize) -> Result<usize, ExtractError> {
        let limits = self.limits;
        let entries = |header: &[u8]| bundle::entries(header, limits).map(|_| ());
        let (header, ()) = self.header(at, end, entries)?;
        let named = |error| ExtractError::Bundle { at, error };
        let (entries, behind) = bundle::entries(&header, limits).map_err(named)?;
        let length = bundle::len(&entries, behind);
        // Entries that lie on each other would be read more often than the file is long.
        let mut left = end - at;
        for entry in entries.iter().filter(|entry| entry.size != 0) {
            let triple = String::from_utf8_lossy(entry.triple);
            if entry.offset + entry.size > end - at {
                let triple = triple.into_owned();
                return Err(ExtractError::Entry { at, triple });
            }
            let Some(rest) = left.checked_sub(entry.size) else {
                return Err(named(BundleError::Overlap(triple.into_owned())));
            };
            left = rest;
            let from = at + entry.offset;
            let shown = entry.size.min(MACHINE + MACHINE_BYTES);
            if !self.ended && is_device_code(&self.input.part(from, shown)?) {
                self.object(&triple, &triple, at, |input| {
                    Ok(input.part(from, entry.size)?)
                })?;
            }
        }
        Ok(length)
    }

    /// Likewise.
    fn packed(&mut self, at: usize, end: usize) -> Result<usize, ExtractError> {
        let (_, length) = self.header(at, end, bundle::bundle_len)?;
        let named = |error: BundleError| ExtractError::Bundle { at, error };
        let failed = |error: CompressedError| named(error.into());
        let start = self.input.part(at, HEADER.min(end - at))?;
        let header = compressed::Header::parse(&start).map_err(failed)?;
        if length > end - at {
            return Err(failed(CompressedError::Short));
        }
        let frame = self.input.stream(at + header.len());
        let mut unpacked = Unpacked::new(&header, frame, self.limits).map_err(failed)?;
        let mut header = Vec::new();
        let entries = loop {
            match bundle::entries(&header, self.limits) {
                Err(BundleError::Short(more)) => {
                    let missing = more.saturating_sub(header.len());
                    let next = unpacked.read(missing).map_err(failed)?;
                    if next.len() < missing {
                        return Err(named(BundleError::Short(more)));
                    }
                    header.extend(next);
                }
                entries => break entries.map_err(named)?.0,
            }
        };
        let mut entries: Vec<_> = entries.iter().filter(|entry| entry.size != 0).collect();
        // What has come out is gone: what comes first is looked at first.
        entries.sort_by_key(|entry| entry.offset);
        for entry in entries {
            if self.ended {
                return Ok(length);
            }
            let triple = String::from_utf8_lossy(entry.triple);
            let cut_off = || ExtractError::Entry {
                at,
                triple: triple.clone().into_owned(),
            };
            let Some(before) = entry.offset.checked_sub(unpacked.at()) else {
                return Err(named(BundleError::Overlap(triple.into_owned())));
            };
            if unpacked.skip(before).map_err(failed)? < before {
                return Err(cut_off());
            }
            let shown = entry.size.min(MACHINE + MACHINE_BYTES);
            let start = unpacked.read(shown).map_err(failed)?;
            let rest = entry.size - shown;
            let mut left = rest;
            if is_device_code(&start) {
                self.object(&triple, &triple, at, |_| {
                    let mut content = start;
                    content.extend(unpacked.read(rest).map_err(failed)?);
                    left = 0;
                    match content.len() == entry.size {
                        true => Ok(Cow::Owned(content)),
                        false => Err(cut_off()),
                    }
                })?;
            } else if start.len() < shown {
                return Err(cut_off());
            }
            if unpacked.skip(left).map_err(failed)? < left {
                return Err(cut_off());
            }
        }
        unpacked.finish().map_err(failed)?;
        Ok(length)
    }

    /// Device code for a target, which `content` brings if it is wanted.
    fn object(
        &mut self,
        triple: &str,
        target: &str,
        at: usize,
        content: impl FnOnce(&I) -> Result<Cow<'a, [u8]>, ExtractError>,
    ) -> Result<(), ExtractError> {
        if self.objects >= self.limits.objects {
            return Err(ExtractError::TooMany(self.limits.objects));
        }
        self.objects += 1;
        if !(self.wanted)(target) {
            return Ok(());
        }
        let object = Extracted {
            triple: triple.to_owned(),
            at,
            bytes: content(&self.input)?,
        };
        self.ended = (self.each)(object).is_break();
        Ok(())
    }
}
