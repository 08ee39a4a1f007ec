//! From any file to the AMDGPU ELF files in it.

use std::borrow::Cow;
use std::ops::ControlFlow;

use goblin::elf::Elf;

use crate::bundle::{self, BundleError};
use crate::compressed::{self, CompressedError, Unpacked};
use crate::limits::ObjectLimits;

const ELF_MAGIC: &[u8; 4] = b"\x7fELF";
const EM_AMDGPU: u16 = 224;
/// Where `e_machine` stands.
const MACHINE: usize = 18;
const MACHINE_BYTES: usize = 2;
const FATBIN_SECTION: &str = ".hip_fatbin";
/// Bundles start on page boundaries in the section, and on 8 bytes when concatenated by hand.
const ALIGNMENT: usize = 8;

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
/// time, and none of which `wanted` does not want the triple.
///
/// # Errors
/// Those of [`extract`]; some objects may have been seen by then.
pub fn visit<'a>(
    bytes: &'a [u8],
    limits: &ObjectLimits,
    wanted: impl FnMut(&str) -> bool,
    each: impl FnMut(Extracted<'a>) -> ControlFlow<()>,
) -> Result<(), ExtractError> {
    let mut visit = Visit {
        limits,
        wanted,
        each,
        objects: 0,
        ended: false,
    };
    visit.file(bytes)?;
    match visit.objects {
        0 => Err(ExtractError::NoDeviceCode),
        _ => Ok(()),
    }
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

struct Visit<'l, W, E> {
    limits: &'l ObjectLimits,
    wanted: W,
    each: E,
    /// Those that are not wanted, too.
    objects: usize,
    /// `each` has seen enough.
    ended: bool,
}

impl<'a, W, E> Visit<'_, W, E>
where
    W: FnMut(&str) -> bool,
    E: FnMut(Extracted<'a>) -> ControlFlow<()>,
{
    fn file(&mut self, bytes: &'a [u8]) -> Result<(), ExtractError> {
        if bytes.starts_with(ELF_MAGIC) {
            if is_device_code(bytes) {
                return self.object("", 0, || Ok(Cow::Borrowed(bytes)));
            }
            let elf = Elf::parse(bytes).map_err(|error| ExtractError::Elf(error.to_string()))?;
            for section in &elf.section_headers {
                if elf.shdr_strtab.get_at(section.sh_name) != Some(FATBIN_SECTION) {
                    continue;
                }
                let range = section
                    .file_range()
                    .and_then(|range| Some((range.start, bytes.get(range)?)));
                let Some((start, content)) = range else {
                    return Err(ExtractError::Elf(format!(
                        "{FATBIN_SECTION} lies outside the file"
                    )));
                };
                self.bundles(content, start)?;
            }
            Ok(())
        } else if starts_bundle(bytes) {
            self.bundles(bytes, 0)
        } else {
            Err(ExtractError::Format)
        }
    }

    /// Walks bundles that lie back to back with padding between; `base` is where `bytes` starts in the
    /// file.
    fn bundles(&mut self, bytes: &'a [u8], base: usize) -> Result<(), ExtractError> {
        let mut at = 0;
        while at < bytes.len() && !self.ended {
            let rest = &bytes[at..];
            if !starts_bundle(rest) {
                at += ALIGNMENT;
                continue;
            }
            let name = |error: BundleError| ExtractError::Bundle {
                at: base + at,
                error,
            };
            let length = bundle::bundle_len(rest).map_err(name)?;
            if compressed::is_compressed(rest) {
                self.packed(rest, base + at)?;
            } else {
                self.raw(rest, base + at)?;
            }
            at += length.max(1).next_multiple_of(ALIGNMENT);
        }
        Ok(())
    }

    fn raw(&mut self, bytes: &'a [u8], at: usize) -> Result<(), ExtractError> {
        let named = |error| ExtractError::Bundle { at, error };
        let (entries, _) = bundle::entries(bytes, self.limits).map_err(named)?;
        for entry in entries.iter().filter(|entry| entry.size != 0) {
            let triple = String::from_utf8_lossy(entry.triple);
            let Some(content) = bytes.get(entry.offset..entry.offset + entry.size) else {
                let triple = triple.into_owned();
                return Err(ExtractError::Entry { at, triple });
            };
            if is_device_code(content) && !self.ended {
                self.object(&triple, at, || Ok(Cow::Borrowed(content)))?;
            }
        }
        Ok(())
    }

    fn packed(&mut self, bytes: &[u8], at: usize) -> Result<(), ExtractError> {
        let named = |error: BundleError| ExtractError::Bundle { at, error };
        let failed = |error: CompressedError| named(error.into());
        let mut unpacked = Unpacked::new(bytes, self.limits).map_err(failed)?;
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
                return Ok(());
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
                self.object(&triple, at, || {
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
        unpacked.finish().map_err(failed)
    }

    /// Device code, which `content` brings if it is wanted.
    fn object(
        &mut self,
        triple: &str,
        at: usize,
        content: impl FnOnce() -> Result<Cow<'a, [u8]>, ExtractError>,
    ) -> Result<(), ExtractError> {
        if self.objects >= self.limits.objects {
            return Err(ExtractError::TooMany(self.limits.objects));
        }
        self.objects += 1;
        if !(self.wanted)(triple) {
            return Ok(());
        }
        let object = Extracted {
            triple: triple.to_owned(),
            at,
            bytes: content()?,
        };
        self.ended = (self.each)(object).is_break();
        Ok(())
    }
}
