//! A kernel's tree as source. It needs no header, which halves the time of the compiler.

use std::fmt::Write;

use super::node::{Mark, Node, NodeKind, ScalarType};

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

impl ScalarType {
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
            NodeKind::Function { inline } => (inline, "int", "0"),
            NodeKind::PointerFunction { inline } => (inline, "int*", "fp"),
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
                NodeKind::Block => String::new(),
                _ => self.expression(child),
            })
            .collect();
        let line = match node.kind {
            NodeKind::Store(ty) => {
                let name = ty.name();
                format!("(({name}*){})[{}] = ({name}){};", text[0], text[1], text[2])
            }
            NodeKind::Mark(mark) => {
                let at = match mark {
                    Mark::One => String::new(),
                    Mark::Lane => " + tid()".to_owned(),
                    Mark::Round(i) => format!(" + i{i}"),
                };
                let slice = MARK_WORDS * (self.marks % MARKS);
                self.marks += 1;
                format!("marks[{slice}{at}] = {};", text[0])
            }
            NodeKind::StoreFour => format!(
                "{{ Four f = {{{{{}, {}, 1, 2}}}}; *(Four*)({} + {}) = f; }}",
                text[2], text[3], text[0], text[1]
            ),
            NodeKind::StoreLambda => format!(
                "{{ int* t = {}; auto put = [&](int at, int y) {{ if (at < 300) t[at] = y; }}; \
                 put({}, {}); put(v1 & 31, {}); }}",
                text[0], text[1], text[2], text[3]
            ),
            NodeKind::Set(variable) => format!("v{variable} = {};", text[0]),
            NodeKind::SetPointer(variable) => format!("p{variable} = {};", text[0]),
            NodeKind::SetSlot => format!("slots[{} & 3] = {};", text[0], text[1]),
            NodeKind::Swap(a, b) => format!("{{ i64 t = v{a}; v{a} = v{b}; v{b} = t; }}"),
            NodeKind::SwapPointers(a, b) => format!("{{ int* t = p{a}; p{a} = p{b}; p{b} = t; }}"),
            NodeKind::If => {
                self.braces(&format!("if ({})", text[0]), of(1), depth);
                if !of(2).children.is_empty() {
                    self.braces("else", of(2), depth);
                }
                return;
            }
            NodeKind::For(i) => {
                let head = format!("for (i{i} = 0; i{i} < ({} & 7); ++i{i})", text[0]);
                return self.braces(&head, of(1), depth);
            }
            NodeKind::Down(i) => {
                let head = format!("for (i{i} = ({} & 7); i{i}-- > 0;)", text[0]);
                return self.braces(&head, of(1), depth);
            }
            NodeKind::GridLoop(i) => {
                let head = format!(
                    "for (i{i} = gid(); i{i} < ({} & 255); i{i} += groups() * group_size())",
                    text[0]
                );
                return self.braces(&head, of(1), depth);
            }
            NodeKind::MovingLoop(i, op, step, change) => {
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
            NodeKind::MeetingLoop(i) => {
                let n = self.label();
                self.line(depth, &format!("{{ int fuel{n} = 12;"));
                let head = format!(
                    "for (i{i} = 0; i{i} != (int){}.k && --fuel{n} > 0; ++i{i})",
                    text[0]
                );
                self.braces(&head, of(1), depth);
                return self.line(depth, "}");
            }
            NodeKind::While(w) => {
                let head = format!("for (w{w} = 9; w{w} > 0 && {}; --w{w})", text[0]);
                return self.braces(&head, of(1), depth);
            }
            NodeKind::Break => format!("if ({}) break;", text[0]),
            NodeKind::Continue => format!("if ({}) continue;", text[0]),
            NodeKind::Return => format!("if ({}) return {};", text[0], self.nothing),
            NodeKind::TwoEntries => return self.two_entries(node, &text, depth),
            NodeKind::IntoLoop => {
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
            NodeKind::Walk(step) => format!(
                "{{ int* t = {} + {}; int* end = t + ({} & 15) * {step}; for (; t != end; t += {step}) \
                 *t = {}; }}",
                text[0], text[1], text[2], text[3]
            ),
            NodeKind::Switch => {
                self.line(depth, &format!("switch ({} & 3) {{", text[0]));
                for (case, label) in ["case 0:", "case 1:", "default:"].iter().enumerate() {
                    self.line(depth, label);
                    self.block(of(1 + case), depth + 1);
                    let end = if case == 1 { "// on" } else { "break;" };
                    self.line(depth + 1, end);
                }
                return self.line(depth, "}");
            }
            NodeKind::Atomic(_) => format!("{};", atomic(node.kind, &text)),
            NodeKind::LdsStore => format!("lds[{} & 63] = {};", text[0], text[1]),
            NodeKind::Barrier => "__builtin_amdgcn_s_barrier();".to_owned(),
            NodeKind::Guarded => format!(
                "{{ int g = {}; if (g > -9 && g < 70) {}[g] = {}; }}",
                text[0], text[1], text[2]
            ),
            NodeKind::WhenKind(op) => format!(
                "{{ Record e = {}; if (e.k {} {}) e.p[{}] = {}; }}",
                text[0], COMPARISONS[op], text[3], text[1], text[2]
            ),
            NodeKind::Strided => format!(
                "{{ Record e = {}; if (e.k >= 0 && e.k < 9) e.p[({} & 15) * e.k] = {}; }}",
                text[0], text[1], text[2]
            ),
            NodeKind::Tagged(bits) => format!(
                "word = words[{} & 7]; if (word > 0xffffffu && (word & 7) {} {}) \
                 ((int*)(word & ~7ull))[{}] = {};",
                text[0],
                if bits & 8 == 0 { "==" } else { "!=" },
                bits & 3,
                text[1],
                text[2]
            ),
            NodeKind::Nullable => format!(
                "{{ Record e = {}; if (e.p) e.p[{}] = {} + (int)e.k; }}",
                text[0], text[1], text[2]
            ),
            NodeKind::OneBased => {
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
            NodeKind::Const(value) => format!("{value}"),
            NodeKind::Variable(v) => format!("(int)v{v}"),
            NodeKind::Loop(i) | NodeKind::LoopIndex(i) => format!("i{i}"),
            NodeKind::Argument(n) => {
                ["m", "(int)n", "(int)l", "c", "d", "(int)s.n", "fx"][n].to_owned()
            }
            NodeKind::Tid => "tid()".to_owned(),
            NodeKind::Gid => "gid()".to_owned(),
            NodeKind::Group => "group()".to_owned(),
            NodeKind::Groups => "groups()".to_owned(),
            NodeKind::GroupSize => "group_size()".to_owned(),
            NodeKind::Bound => "x".to_owned(),
            NodeKind::Load(ty) => format!("(int)(({}*){})[{}]", ty.name(), t(0), t(1)),
            NodeKind::RecordNumber => format!("(int){}.k", t(0)),
            NodeKind::Binary(op, ty) => binary(op, ty, t(0), t(1)),
            NodeKind::Compare(op, ty) => {
                let ty = ty.name();
                format!("(({ty})({}) {} ({ty})({}))", t(0), COMPARISONS[op], t(1))
            }
            NodeKind::RecordIs(op, value) => format!("({}.k {} {value})", t(0), COMPARISONS[op]),
            NodeKind::Not => format!("!({})", t(0)),
            NodeKind::Negate => format!("(-({}))", t(0)),
            NodeKind::Cast(ty) => format!("(int)({})({})", ty.name(), t(0)),
            NodeKind::Choose => format!("(({}) ? ({}) : ({}))", t(0), t(1), t(2)),
            NodeKind::Shuffle => format!("shuffle({}, {})", t(0), t(1)),
            NodeKind::Hidden => format!("({{ int y = {}; __asm__(\"\" : \"+v\"(y)); y; }})", t(0)),
            NodeKind::FirstLane => format!("__builtin_amdgcn_readfirstlane({})", t(0)),
            NodeKind::Ballot => format!("(int)ballot({})", t(0)),
            NodeKind::LdsLoad => format!("lds[{} & 63]", t(0)),
            NodeKind::Call(f) | NodeKind::CallPointer(f) => {
                format!("{}_f{f}({}, {}, {}, {})", self.name, t(0), t(1), t(2), t(3))
            }
            NodeKind::Lambda => format!("([&](int x) -> int {{ return {}; }})({})", t(0), t(1)),
            NodeKind::SamePointer => format!("({} == {})", t(0), t(1)),
            NodeKind::AtomicResult(_) => atomic(node.kind, &text),
            NodeKind::Masked => format!("(({}) & 63)", t(0)),
            NodeKind::Opaque => format!("shuffle(({}) & 63, tid())", t(0)),
            NodeKind::Modulo => format!("(int)((u32)({}) % 61)", t(0)),
            NodeKind::Least => format!("({{ u32 y = {}; (int)(y < 63u ? y : 63u); }})", t(0)),
            NodeKind::Clamped => {
                format!("({{ int y = {}; y < -20 ? -20 : y > 60 ? 60 : y; }})", t(0))
            }
            NodeKind::Cell => format!("((({}) & 7) * 8 + (({}) & 7))", t(0), t(1)),
            NodeKind::Divided(by) => format!("(({}) / {by})", t(0)),
            NodeKind::RecordIndex => format!("((int){}.k & 31)", t(0)),
            NodeKind::Signed => format!("(signed char)({})", t(0)),
            NodeKind::Own(grid) => if grid { "gid()" } else { "tid()" }.to_owned(),
            NodeKind::Small => "(int)small".to_owned(),
            NodeKind::Minus => format!("-({})", t(0)),
            NodeKind::Plus(value) => format!("({} + {value})", t(0)),
            NodeKind::Parameter(n) => {
                ["a", "b", "((int*)h)", "s.p", "s.q", "fp", "fq"][n].to_owned()
            }
            NodeKind::PointerVariable(p) => format!("p{p}"),
            NodeKind::TableEntry => format!("pointers[{} & 7]", t(0)),
            NodeKind::RecordPointer => format!("{}.p", t(0)),
            NodeKind::ChoosePointer => format!("(({}) ? {} : {})", t(0), t(1), t(2)),
            NodeKind::Advance => format!("({} + ({} & 15))", t(0), t(1)),
            NodeKind::ThereAndBack(hidden) => {
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
            NodeKind::Slot => format!("slots[{} & 3]", t(0)),
            NodeKind::TableRecord => format!("table[{} & 7]", t(0)),
            NodeKind::ParameterRecord => format!("rs.r[{} & 3]", t(0)),
            NodeKind::FunctionRecord => "fr".to_owned(),
            NodeKind::ChooseRecord => format!("(({}) ? {} : {})", t(0), t(1), t(2)),
            other => unreachable!("{other:?} is no expression"),
        }
    }
}

fn atomic(kind: NodeKind, text: &[String]) -> String {
    let (NodeKind::Atomic(op) | NodeKind::AtomicResult(op)) = kind else {
        unreachable!("{kind:?} is not atomic")
    };
    let at = format!("&{}[{}]", text[0], text[1]);
    match ATOMICS.get(op) {
        Some(name) => format!("__atomic_fetch_{name}({at}, {}, 0)", text[2]),
        None => format!("__atomic_exchange_n({at}, {}, 0)", text[2]),
    }
}

fn binary(op: usize, ty: ScalarType, a: &str, b: &str) -> String {
    let name = ty.name();
    match OPERATIONS[op] {
        sign @ ("<<" | ">>") if ty != ScalarType::F32 => {
            format!("(int)(({name})({a}) {sign} (({b}) & 7))")
        }
        // Never by zero.
        sign @ ("/" | "%") if ty != ScalarType::F32 => {
            format!("(int)((u32)({a}) {sign} (({b}) & 7 | 1))")
        }
        "&" | "|" | "^" | "<<" | ">>" | "%" if ty == ScalarType::F32 => {
            format!("(int)({a} ^ {b})")
        }
        sign => format!("(int)(({name})({a}) {sign} ({name})({b}))"),
    }
}
