//! What a C++ signature says of each parameter.

/// A parameter, as far as memory goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// A number, or something else that is no pointer to data.
    Number,
    /// A pointer or reference.
    Pointer {
        /// What it points to cannot be written through it.
        constant: bool,
        /// What it points to is itself a pointer.
        table: bool,
    },
    /// A class by value, which may hold pointers; an enumeration looks the same.
    Class,
}

/// The builtin types, as demanglers write them.
const NUMBERS: [&str; 26] = [
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "__int128",
    "unsigned __int128",
    "float",
    "double",
    "long double",
    "half",
    "_Float16",
    "decimal16",
    "__bf16",
    "std::bfloat16_t",
    "wchar_t",
    "char8_t",
    "char32_t",
];

/// The parameters of a demangled function; `None` if there is no list of them.
pub(crate) fn parameters(demangled: &str) -> Option<Vec<Parameter>> {
    let text = demangled.trim_end();
    let text = text.strip_suffix(')')?;
    let mut depth = 1_usize;
    let start = text.bytes().rposition(|byte| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let list = &text[start + 1..];
    if list.trim().is_empty() || list == "void" {
        return Some(Vec::new());
    }
    Some(split(list)?.into_iter().map(parameter).collect())
}

/// At the commas that stand in no brackets; `None` if brackets do not match.
fn split(list: &str) -> Option<Vec<&str>> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    let bytes = list.as_bytes();
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    (depth == 0).then_some(parts)
}

fn parameter(text: &str) -> Parameter {
    let text = without_qualifiers(text);
    let Some(pointee) = text.strip_suffix(['*', '&']) else {
        let number = NUMBERS.contains(&text)
            || text.contains(" vector[")
            || text.contains(" __vector(")
            || text.contains("(*)");
        return if number {
            Parameter::Number
        } else {
            Parameter::Class
        };
    };
    let pointee = pointee.trim_end_matches('&').trim();
    let constant = pointee.split(' ').next_back() == Some("const")
        || pointee.ends_with("*const")
        || (pointee.starts_with("const ") && !pointee.contains('*'));
    let table = without_qualifiers(pointee).ends_with('*');
    Parameter::Pointer { constant, table }
}

/// Without those at the end, which are the parameter's own.
fn without_qualifiers(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = [
        "const",
        "volatile",
        "restrict",
        "__restrict",
        "__restrict__",
    ]
    .iter()
    .filter_map(|word| text.strip_suffix(word))
    .find(|rest| rest.ends_with([' ', '*', '&']))
    {
        text = rest.trim_end();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(constant: bool, table: bool) -> Parameter {
        Parameter::Pointer { constant, table }
    }

    #[test]
    fn constness_is_that_of_what_is_pointed_to() {
        let text = "void f<float, (a)1>(float*, float const*, double* const*, float**, int, char const* __restrict)";
        let expected = vec![
            pointer(false, false),
            pointer(true, false),
            pointer(true, true),
            pointer(false, true),
            Parameter::Number,
            pointer(true, false),
        ];
        assert_eq!(parameters(text), Some(expected));
    }

    #[test]
    fn commas_and_brackets_of_types_part_no_parameters() {
        let text = "void g<f(int, int)::{lambda(float*)#1}>(std::pair<int, long>, f(int, int)::{lambda(float*)#1}, unsigned long)";
        let expected = vec![Parameter::Class, Parameter::Class, Parameter::Number];
        assert_eq!(parameters(text), Some(expected));
        assert_eq!(parameters("h()"), Some(Vec::new()));
        assert_eq!(parameters("Cijk_Ailk_Bljk"), None);
        assert_eq!(parameters("f(a<b)"), None);
    }

    #[test]
    fn a_pointer_to_const_pointers_is_not_written() {
        let parameter = |text| parameters(text).unwrap()[0];
        assert_eq!(parameter("f(float* const* const)"), pointer(true, true));
        assert_eq!(parameter("f(float const**)"), pointer(false, true));
        assert_eq!(parameter("f(float const&)"), pointer(true, false));
        assert_eq!(parameter("f(void (*)(int*))"), Parameter::Number);
        assert_eq!(parameter("f(float vector[4])"), Parameter::Number);
    }
}
