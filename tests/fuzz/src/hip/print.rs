//! A kernel's tree as source. It needs no header, which halves the time of the compiler.

use std::fmt::Write;

use super::node::{Kind, Mark, Node, Type};

/// What the kernels need of HIP, in the compiler's own words.
pub const PRELUDE: &str = "\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __noinline__ __attribute__((noinline))
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;
typedef unsigned long long u64; typedef long long i64;
struct Record { int* p; i64 k; };
struct Pair { int* p; int n; int* q; };
struct Records { Record r[4]; };
struct Four { int x[4]; };
#define tid() ((int)__builtin_amdgcn_workitem_id_x())
#define group() ((int)__builtin_amdgcn_workgroup_id_x())
#define group_size() ((int)__builtin_amdgcn_workgroup_size_x())
#define gid() (group() * group_size() + tid())
#define groups() ((int)(__builtin_amdgcn_grid_size_x() / (u32)group_size()))
#define shuffle(value, lane) __builtin_amdgcn_ds_bpermute((lane) << 2, value)
#define ballot(value) __builtin_amdgcn_uicmp(value, 0, 33)
";

/// Words of a mark, and marks that have words of their own.
const MARK_WORDS: usize = 128;
const MARKS: usize = 28;
const ATOMICS: [&str; 5] = ["add", "and", "or", "xor", "nand"];
const OPERATIONS: [&str; 10] = ["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"];
const COMPARISONS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::I8 => "signed char",
            Self::U8 => "u8",
            Self::I16 => "short",
            Self::U16 => "u16",
            Self::I32 => "int",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "float",
        }
    }
}

/// The source of one kernel; `name` is its name and begins those of its functions.
#[must_use]
pub fn source(tree: &Node, name: &str) -> String {
    let mut printer = Printer {
        text: String::new(),
        name,
        labels: 0,
        marks: 0,
        nothing: "",
    };
    let (block, functions) = tree.children.split_last().expect("a kernel has a block");
    for (number, function) in functions.iter().enumerate() {
        printer.function(number, function);
    }
    let _ = writeln!(
        printer.text,
        "extern \"C\" __global__ void {name}(int* a, int* b, short* h, Record* table, int** pointers, \
         u64* words,\n    Pair s, Records rs, int m, u32 n, i64 l, signed char c, u16 d, u32 small, \
         int* before, int* marks) {{\n    __shared__ int lds[64];"
    );
    printer.variables("a", "b", "m");
    printer.block(block, 1);
    printer.text.push_str("}\n");
    printer.text
}

struct Printer<'a> {
    text: String,
    name: &'a str,
    labels: usize,
    marks: usize,
    /// What a function that ends early returns.
    nothing: &'static str,
}

impl Printer<'_> {
    fn function(&mut self, number: usize, function: &Node) {
        let (inline, result, nothing) = match function.kind {
            Kind::Function { inline } => (inline, "int", "0"),
            Kind::PointerFunction { inline } => (inline, "int*", "fp"),
            other => unreachable!("{other:?} is no function"),
        };
        let inline = if inline { "inline" } else { "__noinline__" };
        let _ = writeln!(
            self.text,
            "static {inline} __device__ {result} {}_f{number}(int* fp, int* fq, int fx, \
             Record fr) {{",
            self.name
        );
        self.variables("fp", "fq", "fx");
        self.nothing = nothing;
        self.block(&function.children[0], 1);
        self.nothing = "";
        let value = self.expression(&function.children[1]);
        let _ = writeln!(self.text, "    return {value};\n}}");
    }

    /// All variables are declared first, so that a goto can go anywhere.
    fn variables(&mut self, p: &str, q: &str, x: &str) {
        let _ = writeln!(
            self.text,
            "    int v0 = {x}, v1 = tid(); u32 v2 = 3; i64 v3 = {x} - 5; int i0 = 0, i1 = 0, i2 = 0, \
             x = 0;\n    int *p0 = {p}, *p1 = {q}, *p2 = {p}; int* slots[4] = {{{p}, {q}, {q}, {p}}};\n    \
             int w0 = 0, w1 = 0, w2 = 0; u64 word = 0; (void)x; (void)word;"
        );
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "    ".repeat(depth));
    }

    fn block(&mut self, block: &Node, depth: usize) {
        for statement in &block.children {
            self.statement(statement, depth);
        }
    }

    fn braces(&mut self, head: &str, block: &Node, depth: usize) {
        self.line(depth, &format!("{head} {{"));
        self.block(block, depth + 1);
        self.line(depth, "}");
    }

    fn statement(&mut self, node: &Node, depth: usize) {
        let of = |at: usize| &node.children[at];
        let text: Vec<String> = node
            .children
            .iter()
            .map(|child| match child.kind {
                Kind::Block => String::new(),
                _ => self.expression(child),
            })
            .collect();
        let line = match node.kind {
            Kind::Store(ty) => {
                let name = ty.name();
                format!("(({name}*){})[{}] = ({name}){};", text[0], text[1], text[2])
            }
            Kind::Mark(mark) => {
                let at = match mark {
                    Mark::One => String::new(),
                    Mark::Lane => " + tid()".to_owned(),
                    Mark::Round(i) => format!(" + i{i}"),
                };
                let slice = MARK_WORDS * (self.marks % MARKS);
                self.marks += 1;
                format!("marks[{slice}{at}] = {};", text[0])
            }
            Kind::StoreFour => format!(
                "{{ Four f = {{{{{}, {}, 1, 2}}}}; *(Four*)({} + {}) = f; }}",
                text[2], text[3], text[0], text[1]
            ),
            Kind::StoreLambda => format!(
                "{{ int* t = {}; auto put = [&](int at, int y) {{ if (at < 300) t[at] = y; }}; \
                 put({}, {}); put(v1 & 31, {}); }}",
                text[0], text[1], text[2], text[3]
            ),
            Kind::Set(variable) => format!("v{variable} = {};", text[0]),
            Kind::SetPointer(variable) => format!("p{variable} = {};", text[0]),
            Kind::SetSlot => format!("slots[{} & 3] = {};", text[0], text[1]),
            Kind::Swap(a, b) => format!("{{ i64 t = v{a}; v{a} = v{b}; v{b} = t; }}"),
            Kind::SwapPointers(a, b) => format!("{{ int* t = p{a}; p{a} = p{b}; p{b} = t; }}"),
            Kind::If => {
                self.braces(&format!("if ({})", text[0]), of(1), depth);
                if !of(2).children.is_empty() {
                    self.braces("else", of(2), depth);
                }
                return;
            }
            Kind::For(i) => {
                let head = format!("for (i{i} = 0; i{i} < ({} & 7); ++i{i})", text[0]);
                return self.braces(&head, of(1), depth);
            }
            Kind::Down(i) => {
                let head = format!("for (i{i} = ({} & 7); i{i}-- > 0;)", text[0]);
                return self.braces(&head, of(1), depth);
            }
            Kind::GridLoop(i) => {
                let head = format!(
                    "for (i{i} = gid(); i{i} < ({} & 255); i{i} += groups() * group_size())",
                    text[0]
                );
                return self.braces(&head, of(1), depth);
            }
            Kind::MovingLoop(i, op, step, change) => {
                let n = self.label();
                let compare = COMPARISONS[op];
                self.line(
                    depth,
                    &format!("{{ int b{n} = {} & 15, fuel{n} = 20;", text[0]),
                );
                let head = format!(
                    "for (i{i} = 0; i{i} {compare} b{n} && --fuel{n} > 0; i{i} += {step}, b{n} += {change})"
                );
                self.braces(&head, of(1), depth);
                return self.line(depth, "}");
            }
            Kind::MeetingLoop(i) => {
                let n = self.label();
                self.line(depth, &format!("{{ int fuel{n} = 12;"));
                let head = format!(
                    "for (i{i} = 0; i{i} != (int){}.k && --fuel{n} > 0; ++i{i})",
                    text[0]
                );
                self.braces(&head, of(1), depth);
                return self.line(depth, "}");
            }
            Kind::While(w) => {
                let head = format!("for (w{w} = 9; w{w} > 0 && {}; --w{w})", text[0]);
                return self.braces(&head, of(1), depth);
            }
            Kind::Break => format!("if ({}) break;", text[0]),
            Kind::Continue => format!("if ({}) continue;", text[0]),
            Kind::Return => format!("if ({}) return {};", text[0], self.nothing),
            Kind::TwoEntries => return self.two_entries(node, &text, depth),
            Kind::IntoLoop => {
                let n = self.label();
                self.line(depth, &format!("{{ int fuel{n} = 6;"));
                self.line(depth, &format!("switch ({} & 3) {{ case 0: do {{", text[0]));
                for (case, label) in ["", "case 1: {", "case 2: {"].iter().enumerate() {
                    self.line(depth, if case == 0 { "{" } else { label });
                    self.block(of(2 + case), depth + 1);
                    self.line(depth, "}");
                }
                let end = format!("default:; }} while (--fuel{n} > 0 && {}); }} }}", text[1]);
                return self.line(depth, &end);
            }
            Kind::Walk(step) => format!(
                "{{ int* t = {} + {}; int* end = t + ({} & 15) * {step}; for (; t != end; t += {step}) \
                 *t = {}; }}",
                text[0], text[1], text[2], text[3]
            ),
            Kind::Switch => {
                self.line(depth, &format!("switch ({} & 3) {{", text[0]));
                for (case, label) in ["case 0:", "case 1:", "default:"].iter().enumerate() {
                    self.line(depth, label);
                    self.block(of(1 + case), depth + 1);
                    let end = if case == 1 { "// on" } else { "break;" };
                    self.line(depth + 1, end);
                }
                return self.line(depth, "}");
            }
            Kind::Atomic(_) => format!("{};", atomic(node.kind, &text)),
            Kind::LdsStore => format!("lds[{} & 63] = {};", text[0], text[1]),
            Kind::Barrier => "__builtin_amdgcn_s_barrier();".to_owned(),
            Kind::Guarded => format!(
                "{{ int g = {}; if (g > -9 && g < 70) {}[g] = {}; }}",
                text[0], text[1], text[2]
            ),
            Kind::WhenKind(op) => format!(
                "{{ Record e = {}; if (e.k {} {}) e.p[{}] = {}; }}",
                text[0], COMPARISONS[op], text[3], text[1], text[2]
            ),
            Kind::Strided => format!(
                "{{ Record e = {}; if (e.k >= 0 && e.k < 9) e.p[({} & 15) * e.k] = {}; }}",
                text[0], text[1], text[2]
            ),
            Kind::Tagged(bits) => format!(
                "word = words[{} & 7]; if (word > 0xffffffu && (word & 7) {} {}) \
                 ((int*)(word & ~7ull))[{}] = {};",
                text[0],
                if bits & 8 == 0 { "==" } else { "!=" },
                bits & 3,
                text[1],
                text[2]
            ),
            Kind::Nullable => format!(
                "{{ Record e = {}; if (e.p) e.p[{}] = {} + (int)e.k; }}",
                text[0], text[1], text[2]
            ),
            Kind::OneBased => {
                format!("before[1 + ({} & 63)] = {};", text[0], text[1])
            }
            other => unreachable!("{other:?} is no statement"),
        };
        self.line(depth, &line);
    }

    /// A number that no other label has.
    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn two_entries(&mut self, node: &Node, text: &[String], depth: usize) {
        let (name, n) = (self.name.to_owned(), self.label());
        let fuel = format!("fuel{n}");
        self.line(depth, &format!("{{ int {fuel} = 6;"));
        self.line(depth, &format!("if ({}) goto {name}_b{n};", text[0]));
        self.line(depth, &format!("{name}_a{n}:"));
        self.block(&node.children[3], depth + 1);
        self.line(depth, &format!("if (--{fuel} < 0) goto {name}_c{n};"));
        self.line(depth, &format!("{name}_b{n}:"));
        self.block(&node.children[4], depth + 1);
        self.line(
            depth,
            &format!("if (--{fuel} > 0 && {}) goto {name}_a{n};", text[1]),
        );
        self.line(
            depth,
            &format!("if (--{fuel} > 0 && {}) goto {name}_b{n};", text[2]),
        );
        self.line(depth, &format!("{name}_c{n}:; }}"));
    }

    fn expression(&self, node: &Node) -> String {
        let text: Vec<String> = node.children.iter().map(|c| self.expression(c)).collect();
        let t = |at: usize| &text[at];
        match node.kind {
            Kind::Const(value) => format!("{value}"),
            Kind::Variable(v) => format!("(int)v{v}"),
            Kind::Loop(i) | Kind::LoopIndex(i) => format!("i{i}"),
            Kind::Argument(n) => {
                ["m", "(int)n", "(int)l", "c", "d", "(int)s.n", "fx"][n].to_owned()
            }
            Kind::Tid => "tid()".to_owned(),
            Kind::Gid => "gid()".to_owned(),
            Kind::Group => "group()".to_owned(),
            Kind::Groups => "groups()".to_owned(),
            Kind::GroupSize => "group_size()".to_owned(),
            Kind::Bound => "x".to_owned(),
            Kind::Load(ty) => format!("(int)(({}*){})[{}]", ty.name(), t(0), t(1)),
            Kind::RecordNumber => format!("(int){}.k", t(0)),
            Kind::Binary(op, ty) => binary(op, ty, t(0), t(1)),
            Kind::Compare(op, ty) => {
                let ty = ty.name();
                format!("(({ty})({}) {} ({ty})({}))", t(0), COMPARISONS[op], t(1))
            }
            Kind::RecordIs(op, value) => format!("({}.k {} {value})", t(0), COMPARISONS[op]),
            Kind::Not => format!("!({})", t(0)),
            Kind::Negate => format!("(-({}))", t(0)),
            Kind::Cast(ty) => format!("(int)({})({})", ty.name(), t(0)),
            Kind::Choose => format!("(({}) ? ({}) : ({}))", t(0), t(1), t(2)),
            Kind::Shuffle => format!("shuffle({}, {})", t(0), t(1)),
            Kind::Hidden => format!("({{ int y = {}; __asm__(\"\" : \"+v\"(y)); y; }})", t(0)),
            Kind::FirstLane => format!("__builtin_amdgcn_readfirstlane({})", t(0)),
            Kind::Ballot => format!("(int)ballot({})", t(0)),
            Kind::LdsLoad => format!("lds[{} & 63]", t(0)),
            Kind::Call(f) | Kind::CallPointer(f) => {
                format!("{}_f{f}({}, {}, {}, {})", self.name, t(0), t(1), t(2), t(3))
            }
            Kind::Lambda => format!("([&](int x) -> int {{ return {}; }})({})", t(0), t(1)),
            Kind::SamePointer => format!("({} == {})", t(0), t(1)),
            Kind::AtomicResult(_) => atomic(node.kind, &text),
            Kind::Masked => format!("(({}) & 63)", t(0)),
            Kind::Opaque => format!("shuffle(({}) & 63, tid())", t(0)),
            Kind::Modulo => format!("(int)((u32)({}) % 61)", t(0)),
            Kind::Least => format!("({{ u32 y = {}; (int)(y < 63u ? y : 63u); }})", t(0)),
            Kind::Clamped => format!("({{ int y = {}; y < -20 ? -20 : y > 60 ? 60 : y; }})", t(0)),
            Kind::Cell => format!("((({}) & 7) * 8 + (({}) & 7))", t(0), t(1)),
            Kind::Divided(by) => format!("(({}) / {by})", t(0)),
            Kind::RecordIndex => format!("((int){}.k & 31)", t(0)),
            Kind::Signed => format!("(signed char)({})", t(0)),
            Kind::Own(grid) => if grid { "gid()" } else { "tid()" }.to_owned(),
            Kind::Small => "(int)small".to_owned(),
            Kind::Minus => format!("-({})", t(0)),
            Kind::Plus(value) => format!("({} + {value})", t(0)),
            Kind::Parameter(n) => ["a", "b", "((int*)h)", "s.p", "s.q", "fp", "fq"][n].to_owned(),
            Kind::PointerVariable(p) => format!("p{p}"),
            Kind::TableEntry => format!("pointers[{} & 7]", t(0)),
            Kind::RecordPointer => format!("{}.p", t(0)),
            Kind::ChoosePointer => format!("(({}) ? {} : {})", t(0), t(1), t(2)),
            Kind::Advance => format!("({} + ({} & 15))", t(0), t(1)),
            Kind::ThereAndBack(hidden) => {
                let hide = if hidden {
                    "__asm__(\"\" : \"+v\"(way));"
                } else {
                    ""
                };
                format!(
                    "({{ char* y = (char*){}; char* z = (char*){}; i64 way = y - z; {hide} (int*)(z + way); }})",
                    t(0),
                    t(1)
                )
            }
            Kind::Slot => format!("slots[{} & 3]", t(0)),
            Kind::TableRecord => format!("table[{} & 7]", t(0)),
            Kind::ParameterRecord => format!("rs.r[{} & 3]", t(0)),
            Kind::FunctionRecord => "fr".to_owned(),
            Kind::ChooseRecord => format!("(({}) ? {} : {})", t(0), t(1), t(2)),
            other => unreachable!("{other:?} is no expression"),
        }
    }
}

fn atomic(kind: Kind, text: &[String]) -> String {
    let (Kind::Atomic(op) | Kind::AtomicResult(op)) = kind else {
        unreachable!("{kind:?} is not atomic")
    };
    let at = format!("&{}[{}]", text[0], text[1]);
    match ATOMICS.get(op) {
        Some(name) => format!("__atomic_fetch_{name}({at}, {}, 0)", text[2]),
        None => format!("__atomic_exchange_n({at}, {}, 0)", text[2]),
    }
}

fn binary(op: usize, ty: Type, a: &str, b: &str) -> String {
    let name = ty.name();
    match OPERATIONS[op] {
        sign @ ("<<" | ">>") if ty != Type::F32 => {
            format!("(int)(({name})({a}) {sign} (({b}) & 7))")
        }
        // Never by zero.
        sign @ ("/" | "%") if ty != Type::F32 => {
            format!("(int)((u32)({a}) {sign} (({b}) & 7 | 1))")
        }
        "&" | "|" | "^" | "<<" | ">>" | "%" if ty == Type::F32 => {
            format!("(int)({a} ^ {b})")
        }
        sign => format!("(int)(({name})({a}) {sign} ({name})({b}))"),
    }
}
