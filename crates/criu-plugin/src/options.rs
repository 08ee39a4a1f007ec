//! What a user may set: the variables of CRIU's own plugin, one of ours, and the same names as options of a CRIU that
//! knows such (4.3: `--plugin-option=amdgpu_plugin.KFD_VRAM_SIZE_CHECK=NO`), which come first.
//!
//! | name | value | decides |
//! |---|---|---|
//! | `KFD_FW_VER_CHECK` | 0, NO, 1 or YES | may the firmware be older than it was |
//! | `KFD_SDMA_FW_VER_CHECK` | the same | and that of the DMA engines |
//! | `KFD_CACHES_COUNT_CHECK` | the same | may there be fewer caches |
//! | `KFD_NUM_GWS_CHECK` | the same | may there be less global wave sync |
//! | `KFD_VRAM_SIZE_CHECK` | the same | may there be less memory |
//! | `KFD_NUMA_CHECK` | the same | may GPUs be at other CPUs, each by itself |
//! | `KFD_CAPABILITY_CHECK` | the same | may other capabilities be reported |
//! | `KFD_MAX_BUFFER_SIZE` | bytes, or with K, M or G; 0 for no bound | memory for copies, of each GPU |
//! | `STROBE_PARALLEL_RESTORE` | 0, NO, 1 or YES | are contents filled while CRIU restores the rest |
//! | `STROBE_ON_DEMAND` | 0, NO, 1 or YES | may contents be filled while the program runs; NO where nothing is said |
//!
//! All checks are made where nothing is said. They are of a restore, the buffer is of both. Upstream's plugin
//! overlooks a value that it does not know; a check that somebody meant to turn off is worth an error.

use std::env;
use std::ffi::OsString;

use strobe_kfd::client::copier;

use crate::host;

/// Comparisons of the machine's GPUs with those of the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checks {
    pub(crate) firmware: bool,
    pub(crate) sdma_firmware: bool,
    pub(crate) caches: bool,
    pub(crate) gws: bool,
    pub(crate) vram_size: bool,
    pub(crate) numa: bool,
    pub(crate) capability: bool,
}

impl Checks {
    pub(crate) const ALL: Self = Self {
        firmware: true,
        sdma_firmware: true,
        caches: true,
        gws: true,
        vram_size: true,
        numa: true,
        capability: true,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) checks: Checks,
    /// Bytes through which contents of a GPU are copied.
    pub(crate) staging: u64,
    /// Contents are filled while CRIU restores the rest.
    pub(crate) parallel: bool,
    /// And some while the program runs.
    pub(crate) on_demand: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            checks: Checks::ALL,
            staging: copier::STAGING_BYTES,
            parallel: true,
            on_demand: false,
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OptionError {
    #[error("{name} is {value:?}; it may be 0, NO, 1 or YES")]
    Switch { name: String, value: String },
    #[error(
        "{name} is {value:?}; it may be a number of bytes, also with K, M or G, and 0 for no bound"
    )]
    Size { name: String, value: String },
    #[error("{name} is {value:?}, and copies need at least {least} bytes", least = copier::LEAST_STAGING)]
    TooSmall { name: String, value: String },
    #[error("{0:?} is no option of amdgpu_plugin; there are {list}", list = known())]
    Unknown(String),
}

const BUFFER: &str = "KFD_MAX_BUFFER_SIZE";
const PARALLEL: &str = "STROBE_PARALLEL_RESTORE";
const ON_DEMAND: &str = strobe_proto::environment::ON_DEMAND;

type Switch = fn(&mut Checks) -> &mut bool;

const SWITCHES: [(&str, Switch); 7] = [
    ("KFD_FW_VER_CHECK", |checks| &mut checks.firmware),
    ("KFD_SDMA_FW_VER_CHECK", |checks| &mut checks.sdma_firmware),
    ("KFD_CACHES_COUNT_CHECK", |checks| &mut checks.caches),
    ("KFD_NUM_GWS_CHECK", |checks| &mut checks.gws),
    ("KFD_VRAM_SIZE_CHECK", |checks| &mut checks.vram_size),
    ("KFD_NUMA_CHECK", |checks| &mut checks.numa),
    ("KFD_CAPABILITY_CHECK", |checks| &mut checks.capability),
];

fn names() -> impl Iterator<Item = &'static str> {
    SWITCHES
        .iter()
        .map(|(name, _)| *name)
        .chain([BUFFER, PARALLEL, ON_DEMAND])
}

fn known() -> String {
    names().collect::<Vec<_>>().join(", ")
}

impl Options {
    /// As the user has set them.
    pub(crate) fn read() -> Result<Self, OptionError> {
        Self::from(|name| env::var_os(name), &host::plugin_options())
    }

    fn from(
        variable: impl Fn(&str) -> Option<OsString>,
        of_criu: &[String],
    ) -> Result<Self, OptionError> {
        let mut options = Self::default();
        for name in names() {
            if let Some(value) = variable(name) {
                options.set(name, &value.to_string_lossy())?;
            }
        }
        for option in of_criu {
            let (name, value) = option.split_once('=').unwrap_or((option, "YES"));
            options.set(name, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        if let Some((_, switch)) = SWITCHES.iter().find(|(known, _)| *known == name) {
            *switch(&mut self.checks) = is_on(name, value)?;
            return Ok(());
        }
        if name == PARALLEL {
            self.parallel = is_on(name, value)?;
            return Ok(());
        }
        if name == ON_DEMAND {
            self.on_demand = is_on(name, value)?;
            return Ok(());
        }
        if name != BUFFER {
            return Err(OptionError::Unknown(name.into()));
        }
        self.staging = match bytes(name, value)? {
            0 => copier::STAGING_BYTES,
            least if least < copier::LEAST_STAGING => {
                let (name, value) = (name.into(), value.into());
                return Err(OptionError::TooSmall { name, value });
            }
            most => most.min(copier::STAGING_BYTES),
        };
        Ok(())
    }
}

fn is_on(name: &str, value: &str) -> Result<bool, OptionError> {
    match value.to_ascii_uppercase().as_str() {
        "0" | "NO" => Ok(false),
        "1" | "YES" => Ok(true),
        _ => Err(OptionError::Switch {
            name: name.into(),
            value: value.into(),
        }),
    }
}

/// A number as strtoul reads it (decimal, 0x, 0), and a letter.
fn bytes(name: &str, value: &str) -> Result<u64, OptionError> {
    let (digits, shift) = match value.as_bytes().last() {
        Some(b'k' | b'K') => (&value[..value.len() - 1], 10),
        Some(b'M') => (&value[..value.len() - 1], 20),
        Some(b'G') => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    let number = if let Some(hex) = digits.strip_prefix("0x") {
        u64::from_str_radix(hex, 16)
    } else if let Some(octal) = digits.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        u64::from_str_radix(octal, 8)
    } else {
        digits.parse()
    };
    let whole = number
        .ok()
        .filter(|_| !digits.contains('+'))
        .and_then(|number| number.checked_mul(1 << shift));
    whole.ok_or_else(|| OptionError::Size {
        name: name.into(),
        value: value.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Options, OptionError> {
        let variable = |asked: &str| (asked == name).then(|| value.into());
        Options::from(variable, &[])
    }

    #[test]
    fn each_check_is_turned_off_by_its_own_name() {
        assert_eq!(Options::from(|_| None, &[]), Ok(Options::default()));
        let mut seen = Vec::new();
        for (name, switch) in SWITCHES {
            for off in ["0", "NO", "no", "No"] {
                let mut checks = with(name, off).unwrap().checks;
                assert!(!*switch(&mut checks), "{name}");
                *switch(&mut checks) = true;
                assert_eq!(checks, Checks::ALL, "{name}: no other");
            }
            for on in ["1", "YES", "yes"] {
                assert_eq!(with(name, on).unwrap().checks, Checks::ALL);
            }
            assert!(!seen.contains(&name));
            seen.push(name);
        }
    }

    #[test]
    fn a_restore_is_parallel_unless_it_shall_not_be() {
        let parallel = |value| with(PARALLEL, value).unwrap().parallel;
        assert!(Options::default().parallel && parallel("yes"));
        assert!(!parallel("NO") && !parallel("0"));
        let error = with(PARALLEL, "off").unwrap_err().to_string();
        assert!(error.starts_with("STROBE_PARALLEL_RESTORE is \"off\"; it may be 0, NO, 1 or YES"));
    }

    #[test]
    fn an_unknown_value_is_named_with_what_it_may_be() {
        for value in ["", "off", "2", "false", " 0"] {
            let error = with("KFD_NUMA_CHECK", value).unwrap_err().to_string();
            let expected = format!("KFD_NUMA_CHECK is {value:?}; it may be 0, NO, 1 or YES");
            assert_eq!(error, expected);
        }
        for value in [
            "",
            "K",
            "-1",
            "+4M",
            "4T",
            "4MB",
            "0x",
            "08",
            "99999999999G",
            "1.5G",
        ] {
            let error = with(BUFFER, value).unwrap_err().to_string();
            assert!(error.starts_with(&format!(
                "{BUFFER} is {value:?}; it may be a number of bytes"
            )));
        }
        let error = with(BUFFER, "4095").unwrap_err().to_string();
        assert!(error.contains("at least 8192"), "{error}");
    }

    #[test]
    fn the_buffer_is_never_larger_than_is_said() {
        let staging = |value| with(BUFFER, value).unwrap().staging;
        assert_eq!(staging("0"), copier::STAGING_BYTES);
        assert_eq!(staging("64G"), copier::STAGING_BYTES);
        for value in ["1048576", "1024K", "1024k", "1M", "0x100000", "04000000"] {
            assert_eq!(staging(value), 1 << 20, "{value}");
        }
    }

    #[test]
    fn options_of_criu_come_first() {
        let of_criu = ["KFD_NUMA_CHECK=yes", "KFD_VRAM_SIZE_CHECK=0"].map(String::from);
        let numa_off = |name: &str| (name == "KFD_NUMA_CHECK").then(|| "0".into());
        let checks = Options::from(numa_off, &of_criu).unwrap().checks;
        let vram_size = false;
        assert_eq!(
            checks,
            Checks {
                vram_size,
                ..Checks::ALL
            }
        );
        let error = Options::from(|_| None, &["VRAM=1".into()]).unwrap_err();
        let sentence = error.to_string();
        assert!(
            sentence.starts_with("\"VRAM\" is no option of amdgpu_plugin; there are KFD_FW_VER")
        );
    }
}
