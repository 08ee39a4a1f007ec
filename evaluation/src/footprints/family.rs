//! What kernels have in common that were made from one source.

/// Letters of a name that is no C++ name, at the most.
const LETTERS: usize = 40;

/// The function without namespaces and template arguments; of Tensile's kernels the problem that they solve.
pub(crate) fn family(name: &str) -> String {
    if let Some(function) = function(name) {
        return function.to_owned();
    }
    let problem = name.split("_MT").next().unwrap_or_default();
    problem.chars().take(LETTERS).collect()
}

/// Of an Itanium name, `_Z[N](<length><identifier>)*`: the last identifier.
fn function(name: &str) -> Option<&str> {
    let mut rest = name.strip_prefix("_Z")?;
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut last = None;
    loop {
        rest = rest.strip_prefix('L').unwrap_or(rest);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(length) = rest[..digits].parse::<usize>() else {
            return last;
        };
        last = Some(rest.get(digits..digits.checked_add(length)?)?);
        rest = &rest[digits + length..];
    }
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn a_family_is_a_function_whatever_it_was_made_for() {
        assert_eq!(family("_Z3addPfi"), "add");
        assert_eq!(family("_ZL8scale_upILi128EfEvPT0_"), "scale_up");
        let nested = "_ZN7rocprim6detail17block_sort_kernelILj512EEEvv";
        assert_eq!(family(nested), "block_sort_kernel");
        assert_eq!(
            family("Cijk_Ailk_Bljk_SB_MT128x128x16_SN"),
            "Cijk_Ailk_Bljk_SB"
        );
        // Names come from files.
        for name in [
            "_Z",
            "_Z9",
            "_Z99999999999999999999x",
            "_ZN5\u{e9}\u{e9}xE",
            "",
        ] {
            let _ = family(name);
        }
    }
}
