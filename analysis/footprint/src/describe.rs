//! Addresses in words: `4*gid.x` for people.

use strobe_code_object::{ArgKind, Kernel};

use crate::expr::{Binary, Id, Node};
use crate::plan::Plan;

/// Sums with more terms than that are no longer read by anybody.
const MAX_TERMS: usize = 4;
const MAX_DEPTH: usize = 24;

/// A sum of products of a number and a name; the empty name is the constant.
type Sum = Vec<(i64, String)>;

/// What is added to the pointer at `slot` of the kernarg segment, if that is a short sum.
pub(crate) fn offset(plan: &Plan, kernel: &Kernel, address: Id, slot: u32) -> Option<String> {
    let describe = Describe { plan, kernel, slot };
    let mut sum = describe.sum(address, MAX_DEPTH)?;
    let base = sum
        .iter()
        .position(|(factor, name)| *factor == 1 && name == BASE)?;
    sum.remove(base);
    join_ids(&mut sum);
    sum.retain(|(factor, _)| *factor != 0);
    if sum.len() > MAX_TERMS || sum.iter().any(|(_, name)| name == BASE) {
        return None;
    }
    // The constant last.
    sum.sort_by_key(|(_, name)| name.is_empty());
    let mut text = String::new();
    for (factor, name) in &sum {
        let sign = match (text.is_empty(), *factor < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => "+",
            (false, true) => "-",
        };
        let size = factor.unsigned_abs();
        let product = match (size, name.as_str()) {
            (_, "") => size.to_string(),
            (1, name) => name.to_owned(),
            (_, name) => format!("{size}*{name}"),
        };
        text.push_str(sign);
        text.push_str(&product);
    }
    Some(if text.is_empty() {
        "0".to_owned()
    } else {
        text
    })
}

/// What an argument is called: by its name in the metadata, else by its index.
pub(crate) fn argument(kernel: &Kernel, index: usize) -> String {
    let is_name = |name: &&String| {
        let mut bytes = name.bytes();
        !name.is_empty() && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    };
    let arg = kernel.args.get(index);
    let named = arg.and_then(|arg| arg.name.as_ref()).filter(is_name);
    match arg.map(|arg| arg.kind) {
        Some(ArgKind::HiddenBlockCount(dimension)) => format!("blocks.{}", axis(dimension)),
        Some(ArgKind::HiddenGroupSize(dimension)) => format!("block.{}", axis(dimension)),
        _ => named.cloned().unwrap_or_else(|| format!("arg{index}")),
    }
}

/// Stands for the pointer.
const BASE: &str = "\0";

struct Describe<'a> {
    plan: &'a Plan,
    kernel: &'a Kernel,
    slot: u32,
}

impl Describe<'_> {
    fn sum(&self, id: Id, depth: usize) -> Option<Sum> {
        let depth = depth.checked_sub(1)?;
        let arena = &self.plan.arena;
        let name = |name: String| Some(vec![(1, name)]);
        match arena.node(id) {
            Node::Const(value) => Some(vec![(i64::from(value as i32), String::new())]),
            Node::Const64(value) => Some(vec![(value as i64, String::new())]),
            Node::Kernarg64(offset) if offset == self.slot => name(BASE.to_owned()),
            Node::Kernarg(offset) | Node::Kernarg64(offset) => name(self.argument(offset)?),
            Node::Item(dimension) => name(format!("tid.{}", axis(dimension))),
            Node::Group(dimension) => name(format!("wg.{}", axis(dimension))),
            Node::Add64(a, b) | Node::Binary(Binary::Add, a, b) => self.added(a, b, 1, depth),
            Node::Binary(Binary::Or, a, b) if self.disjoint(a, b) => self.added(a, b, 1, depth),
            Node::Sub64(a, b) | Node::Binary(Binary::Sub, a, b) => self.added(a, b, -1, depth),
            Node::Shl64(a, by) | Node::Binary(Binary::Shl, a, by) => {
                let by = arena.as_const(by).filter(|by| *by < 32)?;
                self.scaled(a, 1 << by, depth)
            }
            Node::Zero64(a) | Node::Sign64(a) => self.sum(a, depth),
            Node::Binary(Binary::Mul, a, b) | Node::MulU(a, b) | Node::MulS(a, b) => {
                match (arena.as_const(a), arena.as_const(b)) {
                    (Some(factor), _) => self.scaled(b, i64::from(factor as i32), depth),
                    (_, Some(factor)) => self.scaled(a, i64::from(factor as i32), depth),
                    _ => self.product(a, b, depth),
                }
            }
            // The size of this work-group, and the last one may be smaller: the intended size.
            Node::Binary(Binary::MinU, a, b) => {
                self.block(a).or_else(|| self.block(b)).and_then(name)
            }
            Node::Binary(Binary::And | Binary::Shr, ..) => self.block(id).and_then(name),
            Node::Phi(phi) => self.counter(phi, depth),
            Node::Phi64(low, high) => self.counter(self.plan.merges.later(low, high), depth),
            Node::Lane(a, ..) => self.sum(a, depth),
            _ => None,
        }
    }

    fn added(&self, a: Id, b: Id, sign: i64, depth: usize) -> Option<Sum> {
        let mut sum = self.sum(a, depth)?;
        for (factor, name) in self.sum(b, depth)? {
            let factor = factor.checked_mul(sign)?;
            match sum.iter_mut().find(|(_, known)| *known == name) {
                Some((known, _)) => *known = known.checked_add(factor)?,
                None => sum.push((factor, name)),
            }
        }
        (sum.len() <= 2 * MAX_TERMS).then_some(sum)
    }

    fn scaled(&self, id: Id, by: i64, depth: usize) -> Option<Sum> {
        let sum = self.sum(id, depth)?;
        sum.into_iter()
            .map(|(factor, name)| Some((factor.checked_mul(by)?, name)))
            .collect()
    }

    /// A product of two names.
    fn product(&self, a: Id, b: Id, depth: usize) -> Option<Sum> {
        let (mut a, mut b) = (self.sum(a, depth)?, self.sum(b, depth)?);
        join_ids(&mut a);
        join_ids(&mut b);
        let ([(x, left)], [(y, right)]) = (&a[..], &b[..]) else {
            return None;
        };
        let (left, right) = if left < right {
            (right, left)
        } else {
            (left, right)
        };
        Some(vec![(x.checked_mul(*y)?, format!("{left}*{right}"))])
    }

    /// The size of a work-group: a half of a dword of the packet.
    fn block(&self, id: Id) -> Option<String> {
        let arena = &self.plan.arena;
        let (inner, by) = match arena.node(id) {
            Node::Binary(op @ (Binary::And | Binary::Shr), a, b) => (a, (op, arena.as_const(b)?)),
            _ => return None,
        };
        let dimension = match (arena.node(inner), by) {
            (Node::Packet(4), (Binary::And, 0xffff)) => 0,
            (Node::Packet(4), (Binary::Shr, 16)) => 1,
            (Node::Packet(8), (Binary::And, 0xffff)) => 2,
            _ => return None,
        };
        Some(format!("block.{}", axis(dimension)))
    }

    /// A loop's phi is named for the loop; what it starts with is said if it is simple.
    fn counter(&self, phi: u32, depth: usize) -> Option<Sum> {
        let inputs = self.plan.merges.inputs(phi);
        let phi = &self.plan.merges.phis[phi as usize];
        let point = &self.plan.merges.points[phi.point as usize];
        let (true, [first, ..]) = (point.is_loop(), inputs) else {
            return None;
        };
        let mut sum = self.sum(*first, depth)?;
        sum.push((1, format!("i{}", phi.point)));
        Some(sum)
    }

    fn disjoint(&self, a: Id, b: Id) -> bool {
        let arena = &self.plan.arena;
        // Bits shifted in are zero; an id below the shift's weight fills them.
        [(a, b), (b, a)].iter().any(|&(a, b)| {
            matches!(arena.node(a), Node::Binary(Binary::Shl, ..))
                && matches!(arena.node(b), Node::Item(_) | Node::Const(_))
        })
    }

    fn argument(&self, offset: u32) -> Option<String> {
        let (index, arg) = self.kernel.arg_at(offset)?;
        let name = argument(self.kernel, index);
        Some(match offset - arg.offset {
            0 => name,
            within => format!("{name}.{within}"),
        })
    }
}

fn axis(dimension: u8) -> char {
    char::from(b"xyz"[usize::from(dimension % 3)])
}

/// Work-group times size plus work-item is the global id.
fn join_ids(sum: &mut Sum) {
    for axis in ['x', 'y', 'z'] {
        let find = |name: String, sum: &Sum| sum.iter().position(|(_, known)| *known == name);
        let group = find(format!("wg.{axis}*block.{axis}"), sum);
        let item = find(format!("tid.{axis}"), sum);
        if let (Some(group), Some(item)) = (group, item)
            && sum[group].0 == sum[item].0
        {
            sum[group].1 = format!("gid.{axis}");
            sum.remove(item);
        }
    }
}
