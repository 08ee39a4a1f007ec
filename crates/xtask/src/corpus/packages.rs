//! Packages that hold code for gfx906, or for gfx90a and gfx942, which nobody here has written.

/// Where a package comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A suite of Debian's archive; its newest version there.
    Debian(&'static str),
    /// Python's registry: this version, for a Python of this version.
    Wheel(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) origin: Origin,
    /// Megabytes that come, and that they become; about.
    pub(super) download: u64,
    pub(super) unpacked: u64,
}

const fn debian(name: &'static str, suite: &'static str, download: u64, unpacked: u64) -> Package {
    Package {
        name,
        origin: Origin::Debian(suite),
        download,
        unpacked,
    }
}

const fn wheel(name: &'static str, version: &'static str, download: u64, unpacked: u64) -> Package {
    Package {
        name,
        origin: Origin::Wheel(version),
        download,
        unpacked,
    }
}

/// The Python that wheels are for: the last that all of them have been built for.
pub(super) const PYTHON: &str = "3.11";

/// Smaller ones first. hipSPARSELt, rocBLAS 7.2 and CuPy 14 have code for later targets alone, or most of it. Left out: rocSOLVER 6.4 (which has
/// some for all of gfx9), hipBLASLt and rocWMMA, for their size; and because they compile it when they run: MIOpen, rocFFT, PyTorch's Triton.
pub(super) const PACKAGES: [Package; 22] = [
    wheel("jax-rocm7-plugin", "0.10.2", 4, 18),
    debian("librocrand1", "bookworm", 9, 24),
    wheel("ftllm-rocm", "0.1.5.1", 12, 36),
    debian("libmagma-sparse2-rocm", "sid", 16, 80),
    debian("librocrand1-tests", "sid", 34, 145),
    debian("librocrand1", "sid", 42, 137),
    debian("libhipsparselt0", "experimental", 44, 1100),
    debian("librpp2-hip", "experimental", 56, 524),
    wheel("cupy-rocm-5-0", "13.3.0", 61, 250),
    debian("librocsparse0", "bookworm", 95, 1280),
    debian("libggml0-backend-hip", "sid", 115, 1241),
    wheel("jax-rocm60-pjrt", "0.5.0", 123, 600),
    debian("librccl1", "sid", 126, 286),
    wheel("jax-rocm7-pjrt", "0.12.0", 134, 600),
    debian("librocblas4", "sid", 281, 4023),
    debian("libmagma2-rocm", "sid", 311, 1238),
    debian("librocblas5", "experimental", 319, 1500),
    debian("librocsparse1", "sid", 363, 1631),
    debian("libhipcub-tests", "sid", 497, 1421),
    debian("librocsolver0", "experimental", 630, 691),
    debian("librocprim-tests", "sid", 694, 2356),
    debian("librocthrust-tests", "sid", 765, 2467),
];

impl Package {
    /// Its folder, and its name in reports.
    pub(super) fn key(&self) -> String {
        match self.origin {
            Origin::Debian(suite) => format!("{}-{suite}", self.name),
            Origin::Wheel(version) => format!("{}-{version}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_package_has_a_folder_of_its_own() {
        let keys: HashSet<String> = PACKAGES.iter().map(Package::key).collect();
        assert_eq!(keys.len(), PACKAGES.len());
    }
}
