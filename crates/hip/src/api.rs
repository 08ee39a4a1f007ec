//! The functions as values.

/// How a function is dealt with; see [`crate::for_each_function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionClass {
    /// What it does to the GPU is known and followed.
    Modelled,
    /// It changes no state of the GPU.
    Pure,
    /// Who uses it is not checkpointed.
    Refused,
}

/// The C types of a function, as the list spells them.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Name and type of each parameter.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Type of the result.
    pub result: &'static str,
}

macro_rules! define {
    (
        modelled { $($m_in:literal $m_since:literal $m:ident($($m_arg:ident: $m_ty:ty),*) -> $m_ret:ty { $effect:ident($($given:expr),*) })* }
        called { $($c_in:literal $c_since:literal $c:ident($($c_arg:ident: $c_ty:ty),*) -> $c_ret:ty;)* }
        refused { $($r_in:literal $r_since:literal $r:ident;)* }
        pure { $($p_in:literal $p_since:literal $p:ident;)* }
    ) => {
        /// A function of HIP, named by its symbol. Those that the table of next pointers holds come
        /// first.
        #[allow(non_camel_case_types, missing_docs, reason = "the names are HIP's")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Api {
            $($m,)* $($c,)* $($r,)* $($p,)*
        }

        impl Api {
            /// Every function, by number.
            pub const ALL: &[Api] = &[$(Api::$m,)* $(Api::$c,)* $(Api::$r,)* $(Api::$p,)*];
            /// How many have a next pointer with a signature: modelled or called.
            pub const TYPED: usize = [$(Api::$m,)* $(Api::$c,)*].len();
            /// Those that are wrapped.
            pub const MODELLED: &[Api] = &[$(Api::$m,)*];
            /// Those that are refused.
            pub const REFUSED: &[Api] = &[$(Api::$r,)*];

            /// The symbol, with its NUL.
            #[must_use]
            pub fn symbol(self) -> &'static std::ffi::CStr {
                const SYMBOLS: &[&str] = &[
                    $(concat!(stringify!($m), "\0"),)* $(concat!(stringify!($c), "\0"),)*
                    $(concat!(stringify!($r), "\0"),)* $(concat!(stringify!($p), "\0"),)*
                ];
                std::ffi::CStr::from_bytes_with_nul(SYMBOLS[self as usize].as_bytes())
                    .expect("names hold no NUL")
            }

            /// The releases that have it, as the list says it.
            #[must_use]
            pub fn releases(self) -> &'static str {
                const RELEASES: &[&str] = &[$($m_in,)* $($c_in,)* $($r_in,)* $($p_in,)*];
                RELEASES[self as usize]
            }

            /// The version of its symbol.
            #[must_use]
            pub fn since(self) -> &'static str {
                const SINCE: &[&str] = &[$($m_since,)* $($c_since,)* $($r_since,)* $($p_since,)*];
                SINCE[self as usize]
            }

            /// Its types, where they are modelled.
            #[must_use]
            pub fn signature(self) -> Option<&'static Signature> {
                const SIGNATURES: &[Signature] = &[
                    $(Signature {
                        parameters: &[$((stringify!($m_arg), stringify!($m_ty)),)*],
                        result: stringify!($m_ret),
                    },)*
                    $(Signature {
                        parameters: &[$((stringify!($c_arg), stringify!($c_ty)),)*],
                        result: stringify!($c_ret),
                    },)*
                ];
                SIGNATURES.get(self as usize)
            }

            /// The name of what it does to GPU memory, if it is modelled.
            #[must_use]
            pub fn effect(self) -> Option<&'static str> {
                const EFFECTS: &[&str] = &[$(stringify!($effect),)*];
                EFFECTS.get(self as usize).copied()
            }
        }
    };
}
for_each_function!(define);

/// The releases of ROCm that the list is of.
pub const RELEASES: [&str; 4] = ["5.2", "5.7", "6.4", "7.2"];

impl Api {
    /// Whether a release has it: one of [`RELEASES`].
    #[must_use]
    pub fn is_in(self, release: &str) -> bool {
        let place = |of: &str| RELEASES.iter().position(|known| *known == of);
        let (first, last) = self.releases().split_once("..").unwrap_or_default();
        let is_after = place(first) <= place(release);
        is_after && (last.is_empty() || place(release) <= place(last))
    }

    /// How it is dealt with.
    #[must_use]
    pub fn class(self) -> FunctionClass {
        let number = self as usize;
        if number < Api::MODELLED.len() {
            FunctionClass::Modelled
        } else if (Api::TYPED..Api::TYPED + Api::REFUSED.len()).contains(&number) {
            FunctionClass::Refused
        } else {
            FunctionClass::Pure
        }
    }

    /// The name as C and C++ programs write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        let symbol = self.symbol().to_str().unwrap_or_default();
        // C++ functions: "_Z<length><name>" or "_ZN<length><namespace><length><name>".
        let Some(mangled) = symbol.strip_prefix("_Z") else {
            return symbol;
        };
        let name = match mangled.strip_prefix('N') {
            Some(nested) => source_name(nested).and_then(|(_, rest)| source_name(rest)),
            None => source_name(mangled),
        };
        name.map_or(symbol, |(name, _)| name)
    }
}

/// A "<length><name>" of a mangled symbol, and what follows it.
fn source_name(mangled: &str) -> Option<(&str, &str)> {
    let digits = mangled.find(|c: char| !c.is_ascii_digit())?;
    let len = mangled[..digits].parse().ok()?;
    mangled[digits..].split_at_checked(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_list() {
        for (number, api) in Api::ALL.iter().enumerate() {
            assert_eq!(*api as usize, number, "{api:?}");
            assert_eq!(api.symbol().to_str().unwrap(), format!("{api:?}"));
        }
        assert_eq!(Api::hipMalloc.class(), FunctionClass::Modelled);
        assert_eq!(Api::hipGetDevice.class(), FunctionClass::Pure);
        assert_eq!(Api::hipMallocArray.class(), FunctionClass::Refused);
        assert_eq!(Api::hipInit.class(), FunctionClass::Pure);
    }

    #[test]
    fn each_function_is_in_some_of_the_releases() {
        for api in Api::ALL {
            let (first, last) = api.releases().split_once("..").expect("a range");
            assert!(RELEASES.contains(&first), "{api:?}");
            assert!(last.is_empty() || RELEASES.contains(&last), "{api:?}");
            assert!(api.is_in(first), "{api:?}");
        }
        let in_which = |api: Api| RELEASES.map(|release| api.is_in(release));
        assert_eq!(in_which(Api::hipMalloc), [true; 4]);
        assert_eq!(
            in_which(Api::hipLaunchKernelExC),
            [false, false, false, true]
        );
        assert_eq!(in_which(Api::hiprtcVersion), [true, true, true, false]);
    }

    #[test]
    fn mangled_names_read_as_in_the_source() {
        let names: Vec<&str> = Api::ALL
            .iter()
            .filter(|api| api.symbol().to_bytes().starts_with(b"_Z"))
            .map(|api| api.name())
            .collect();
        assert_eq!(
            names,
            [
                "hipExtModuleLaunchKernel",
                "hipHccModuleLaunchKernel",
                "hipLaunchKernelGGLImpl",
                "hipCreateSurfaceObject",
                "hipDestroySurfaceObject",
            ]
        );
    }
}
