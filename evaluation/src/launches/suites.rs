//! Programs of others that launch kernels.

/// Where a program and all that it needs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// On this machine.
    Here,
    /// In a folder of that name, with a C library of its own.
    Apart(&'static str),
}

/// What is run of a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// All, with these arguments.
    Whole(&'static [&'static str]),
    /// So many tests of `GoogleTest`, of all suites of tests with that in their names alike.
    Tests(&'static str, usize),
    /// Of each operation of ggml so many cases.
    Operations(usize),
    /// Of each function of rocBLAS so many calls.
    Calls(usize),
}

/// Programs that launch the kernels of one library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suite {
    pub(super) name: &'static str,
    pub(super) root: Root,
    /// From the root on; of this machine, sources in `tests/programs`.
    pub(super) programs: &'static [&'static str],
    /// The first arguments of each; `ROOT` in them is the root.
    pub(super) arguments: &'static [&'static str],
    /// Where each is run.
    pub(super) folder: &'static str,
    pub(super) part: Part,
    /// Parts that one process is asked for: others go on where it fails.
    pub(super) at_once: usize,
}

const HIP_57: Root = Root::Apart("trixie");
const HIP_64: Root = Root::Apart("sid");

const fn of_tests(name: &'static str, root: Root, programs: &'static [&'static str]) -> Suite {
    Suite {
        name,
        root,
        programs,
        arguments: &[],
        folder: "",
        part: Part::Tests("", 1),
        at_once: 1,
    }
}

pub(super) const SUITES: [Suite; 9] = [
    Suite {
        part: Part::Whole(&["1024"]),
        ..of_tests("rocRAND 5.3", Root::Here, &["random.cpp"])
    },
    Suite {
        part: Part::Whole(&["6"]),
        ..of_tests("rocSPARSE 5.3", Root::Here, &["sparse.cpp"])
    },
    Suite {
        part: Part::Whole(&["4"]),
        ..of_tests("rocPRIM 5.3", Root::Here, &["prim.cpp"])
    },
    Suite {
        part: Part::Tests("", 6),
        at_once: 6,
        ..of_tests(
            "rocRAND 6.4",
            HIP_64,
            &[
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_generate_uniform",
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_generate_normal",
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_generate_poisson",
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_sobol32_qrng",
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_mtgp32_prng",
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_mt19937_prng",
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_kernel_xorwow",
                "usr/libexec/rocm/librocrand1-tests/test_rocrand_kernel_mrg",
            ],
        )
    },
    Suite {
        arguments: &[
            "--data",
            "ROOT/usr/share/librocsparse1-tests/data/rocsparse_test.data",
        ],
        part: Part::Tests("quick/", 90),
        at_once: 90,
        ..of_tests(
            "rocSPARSE 6.4",
            HIP_64,
            &["usr/libexec/rocm/librocsparse1-tests/rocsparse-test"],
        )
    },
    Suite {
        part: Part::Tests("", 2),
        ..of_tests(
            "rocPRIM 6.4",
            HIP_64,
            &[
                "usr/libexec/rocm/librocprim-tests/test_device_reduce",
                "usr/libexec/rocm/librocprim-tests/test_device_reduce_by_key",
                "usr/libexec/rocm/librocprim-tests/test_device_radix_sort",
                "usr/libexec/rocm/librocprim-tests/test_device_merge_sort",
                "usr/libexec/rocm/librocprim-tests/test_device_merge",
                "usr/libexec/rocm/librocprim-tests/test_device_select",
                "usr/libexec/rocm/librocprim-tests/test_device_partition",
                "usr/libexec/rocm/librocprim-tests/test_device_histogram",
                "usr/libexec/rocm/librocprim-tests/test_device_transform",
                "usr/libexec/rocm/librocprim-tests/test_device_run_length_encode",
                "usr/libexec/rocm/librocprim-tests/test_device_segmented_reduce",
                "usr/libexec/rocm/librocprim-tests/test_device_segmented_scan",
                "usr/libexec/rocm/librocprim-tests/test_device_segmented_radix_sort",
                "usr/libexec/rocm/librocprim-tests/test_device_adjacent_difference",
                "usr/libexec/rocm/librocprim-tests/test_device_binary_search",
                "usr/libexec/rocm/librocprim-tests/test_device_nth_element",
                "usr/libexec/rocm/librocprim-tests/test_device_batch_memcpy",
                "usr/libexec/rocm/librocprim-tests/test_block_scan",
                "usr/libexec/rocm/librocprim-tests/test_block_radix_sort",
                "usr/libexec/rocm/librocprim-tests/test_warp_reduce",
            ],
        )
    },
    Suite {
        part: Part::Calls(1),
        ..of_tests(
            "rocBLAS 5.5",
            HIP_57,
            &["usr/libexec/rocm/librocblas0-bench/rocblas-bench"],
        )
    },
    Suite {
        part: Part::Tests("checkin_lapack/", 120),
        at_once: 8,
        ..of_tests(
            "rocSOLVER 5.5",
            HIP_57,
            &["usr/libexec/rocm/librocsolver0-tests/rocsolver-test"],
        )
    },
    Suite {
        arguments: &["test", "-b", "ROCm0"],
        // Where it looks for its backends.
        folder: "usr/lib/x86_64-linux-gnu/ggml/backends0",
        part: Part::Operations(2),
        at_once: 20,
        ..of_tests(
            "ggml",
            HIP_64,
            &["usr/libexec/x86_64-linux-gnu/ggml/test-backend-ops"],
        )
    },
];

/// Functions of rocBLAS, as its benchmark names them. Each is a process that loads all of rocBLAS: one of a kind.
pub(super) const FUNCTIONS: [&str; 24] = [
    "axpy",
    "copy_strided_batched",
    "dot",
    "iamax",
    "nrm2",
    "rotm",
    "gbmv",
    "gemv",
    "gemv_strided_batched",
    "ger_batched",
    "spr2",
    "symv",
    "syr2",
    "tbsv",
    "trmv",
    "trsv",
    "geam",
    "gemm",
    "gemm_batched",
    "gemm_strided_batched",
    "syr2k",
    "trmm",
    "trsm",
    "trtri",
];
