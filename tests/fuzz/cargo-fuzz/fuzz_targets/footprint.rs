#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| strobe_fuzz::inputs::code::footprint(bytes));
