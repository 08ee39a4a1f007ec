//! From any file to the AMDGPU ELF files in it.

use std::borrow::Cow;

use goblin::elf::Elf;

use crate::bundle::{self, BundleError};
use crate::compressed;
use crate::limits::ObjectLimits;

const ELF_MAGIC: &[u8; 4] = b"\x7fELF";
const EM_AMDGPU: u16 = 224;
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
    if bytes.starts_with(ELF_MAGIC) {
        if machine(bytes) == Some(EM_AMDGPU) {
            found.push(Extracted {
                triple: String::new(),
                at: 0,
                bytes: Cow::Borrowed(bytes),
            });
            return Ok(found);
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
            bundles(content, start, limits, &mut found)?;
        }
    } else if starts_bundle(bytes) {
        bundles(bytes, 0, limits, &mut found)?;
    } else {
        return Err(ExtractError::Format);
    }
    if found.is_empty() {
        Err(ExtractError::NoDeviceCode)
    } else {
        Ok(found)
    }
}

fn machine(elf: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(*elf.get(18..)?.first_chunk()?))
}

fn starts_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(bundle::MAGIC) || compressed::is_compressed(bytes)
}

/// Walks bundles that lie back to back with padding between; `base` is where `bytes` starts in the
/// file.
fn bundles<'a>(
    bytes: &'a [u8],
    base: usize,
    limits: &ObjectLimits,
    found: &mut Vec<Extracted<'a>>,
) -> Result<(), ExtractError> {
    let mut at = 0;
    while at < bytes.len() {
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
            let raw = compressed::decompress(rest, limits).map_err(|error| name(error.into()))?;
            for (triple, range) in device_entries(&raw, base + at, limits)? {
                push(
                    found,
                    triple,
                    base + at,
                    Cow::Owned(raw[range].to_vec()),
                    limits,
                )?;
            }
        } else {
            for (triple, range) in device_entries(rest, base + at, limits)? {
                push(
                    found,
                    triple,
                    base + at,
                    Cow::Borrowed(&rest[range]),
                    limits,
                )?;
            }
        }
        at += length.max(1).next_multiple_of(ALIGNMENT);
    }
    Ok(())
}

fn push<'a>(
    found: &mut Vec<Extracted<'a>>,
    triple: String,
    at: usize,
    bytes: Cow<'a, [u8]>,
    limits: &ObjectLimits,
) -> Result<(), ExtractError> {
    if found.len() >= limits.objects {
        return Err(ExtractError::TooMany(limits.objects));
    }
    found.push(Extracted { triple, at, bytes });
    Ok(())
}

/// Triple and byte range of each AMDGPU ELF file of a raw bundle.
fn device_entries(
    bundle: &[u8],
    at: usize,
    limits: &ObjectLimits,
) -> Result<Vec<(String, std::ops::Range<usize>)>, ExtractError> {
    let (entries, _) =
        bundle::entries(bundle, limits).map_err(|error| ExtractError::Bundle { at, error })?;
    let mut device = Vec::new();
    for entry in entries {
        if entry.size == 0 {
            continue;
        }
        let triple = String::from_utf8_lossy(entry.triple).into_owned();
        let range = entry.offset..entry.offset + entry.size;
        let Some(content) = bundle.get(range.clone()) else {
            return Err(ExtractError::Entry { at, triple });
        };
        if content.starts_with(ELF_MAGIC) && machine(content) == Some(EM_AMDGPU) {
            device.push((triple, range));
        }
    }
    Ok(device)
}
