//! Evaluates a query on a document.

use super::document::{Document, Kind};
use super::xpath::{Axis, Expr, Function, Operator, Query, Start, Step};
use crate::wrong_value::report;
use squall_accounting::GrowingCharge;
use squall_statement_context::StatementContext;
use squall_types::collation::{compare, eq, find};
use squall_types::convert::number::value_to_f64;
use squall_types::convert::{parse_f64, write_double};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::HashSet;

/// Nodes between two looks at the kill flag.
const NODES_PER_CHECK: usize = 1024;

/// A node among others.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Its place in the document's list.
    pub node: usize,
    /// Its position among the nodes that were found with it, from 0.
    place: usize,
    /// How many those are, of the node that a predicate is asked of; else 0.
    size: usize,
}

/// What an expression gives.
#[derive(Clone, Debug)]
pub enum Found {
    /// Nodes.
    Nodes(Vec<Item>),
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// NULL, which a division by zero gives.
    Null,
}

/// A query of a document.
pub struct Evaluation<'a> {
    document: &'a Document<'a>,
    collation: CollationId,
    context: &'a StatementContext,
    visited: Cell<usize>,
    /// Memory of nodes that were found.
    charge: RefCell<GrowingCharge>,
}

impl<'a> Evaluation<'a> {
    /// Texts are compared by a collation.
    pub fn new(document: &'a Document<'a>, collation: CollationId, context: &'a StatementContext) -> Evaluation<'a> {
        let charge = RefCell::new(GrowingCharge::new(&context.memory));
        Evaluation { document, collation, context, visited: Cell::new(0), charge }
    }

    /// What a query finds.
    pub fn find(&self, query: &Query) -> SqlResult<Found> {
        let root = [Item { node: 0, place: 0, size: 0 }];
        self.eval(&query.0, &root)
    }

    /// The texts right below nodes, in their order, with blanks between them; what else was found as text.
    pub fn text(&self, found: &Found) -> SqlResult<Option<String>> {
        Ok(Some(match found {
            Found::Nodes(items) => {
                let texts = self.texts(items)?;
                let mut joined = String::with_capacity(texts.iter().map(|text| text.len() + 1).sum());
                for (at, text) in texts.into_iter().enumerate() {
                    if at > 0 {
                        joined.push(' ');
                    }
                    joined.push_str(text);
                }
                joined
            }
            Found::Text(text) => text.clone(),
            Found::Number(number) => {
                let mut text = Vec::new();
                write_double(*number, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            }
            Found::Null => return Ok(None),
        }))
    }

    fn texts(&self, items: &[Item]) -> SqlResult<Vec<&'a str>> {
        let mut nodes = Vec::new();
        for item in items {
            self.visit()?;
            let children = self.document.children(item.node);
            nodes.extend(children.filter(|child| self.document.nodes[*child].kind == Kind::Text));
        }
        if items.len() > 1 {
            nodes.sort_unstable();
            nodes.dedup();
        }
        Ok(nodes.into_iter().map(|node| self.document.name(node)).collect())
    }

    fn visit(&self) -> SqlResult<()> {
        let visited = self.visited.get() + 1;
        self.visited.set(visited);
        if visited.is_multiple_of(NODES_PER_CHECK) { self.context.kill.check() } else { Ok(()) }
    }

    fn eval(&self, expr: &Expr, context: &[Item]) -> SqlResult<Found> {
        Ok(match expr {
            Expr::Path(start, steps) => {
                let mut items = match start {
                    Start::Root => vec![Item { node: 0, place: 0, size: 0 }],
                    Start::Context => context.to_vec(),
                    Start::Group(inner) => match self.eval(inner, context)? {
                        Found::Nodes(items) => items,
                        _ => Vec::new(),
                    },
                };
                for step in steps {
                    items = self.step(step, items)?;
                }
                Found::Nodes(items)
            }
            Expr::Union(parts) => {
                let mut nodes = Vec::new();
                for part in parts {
                    if let Found::Nodes(items) = self.eval(part, context)? {
                        nodes.extend(items.into_iter().map(|item| item.node));
                    }
                }
                nodes.sort_unstable();
                nodes.dedup();
                Found::Nodes(in_order(nodes))
            }
            Expr::Chain(first, rest) => {
                let mut left = self.eval(first, context)?;
                for (operator, right) in rest {
                    left = self.operate(left, *operator, right, context)?;
                }
                left
            }
            Expr::Negated(inner) => match self.number(&self.eval(inner, context)?)? {
                Some(number) => Found::Number(-number),
                None => Found::Null,
            },
            Expr::Text(text) => Found::Text(text.clone()),
            Expr::Number(number) => Found::Number(*number),
            Expr::Variable(name) => self.variable(name),
            Expr::Call(function, args) => self.call(*function, args, context)?,
        })
    }

    fn step(&self, step: &Step, items: Vec<Item>) -> SqlResult<Vec<Item>> {
        let mut found = self.along(step, items)?;
        for predicate in &step.predicates {
            let size = found.len();
            let mut kept = Vec::new();
            for item in found {
                self.visit()?;
                let value = self.eval(predicate, &[Item { size, ..item }])?;
                let is_met = if predicate.is_condition() {
                    self.truth(&value)?
                } else {
                    // A number is a place.
                    self.number(&value)?.is_some_and(|number| number.trunc() == (item.place + 1) as f64)
                };
                if is_met {
                    kept.push(Item { place: kept.len(), size: 0, ..item });
                }
            }
            found = kept;
        }
        Ok(found)
    }

    fn along(&self, step: &Step, items: Vec<Item>) -> SqlResult<Vec<Item>> {
        let nodes = &self.document.nodes;
        let matches = |node: usize, kind: Kind| {
            nodes[node].kind == kind && step.name.as_deref().is_none_or(|name| name == self.document.name(node))
        };
        let mut found = Vec::new();
        match step.axis {
            Axis::Stay => return Ok(items),
            Axis::Child | Axis::Attribute => {
                let kind = if step.axis == Axis::Child { Kind::Element } else { Kind::Attribute };
                for item in items {
                    let mut place = 0;
                    for child in self.document.children(item.node) {
                        self.visit()?;
                        if matches(child, kind) {
                            found.push(Item { node: child, place, size: 0 });
                            place += 1;
                        }
                    }
                }
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                let itself = usize::from(step.axis == Axis::Descendant);
                let mut seen = (items.len() > 1).then(HashSet::new);
                for item in items {
                    let mut place = 0;
                    for node in item.node + itself..nodes[item.node].next {
                        self.visit()?;
                        let is_root = node == 0 && step.name.is_none();
                        if (is_root || matches(node, Kind::Element))
                            && seen.as_mut().is_none_or(|seen| seen.insert(node))
                        {
                            found.push(Item { node, place, size: 0 });
                            place += 1;
                        }
                    }
                }
            }
            Axis::Parent => {
                let mut parents: Vec<usize> = items.iter().map(|item| nodes[item.node].parent).collect();
                parents.sort_unstable();
                parents.dedup();
                parents.retain(|node| step.name.is_none() || matches(*node, Kind::Element));
                found = in_order(parents);
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let mut marked = HashSet::new();
                for item in items {
                    let mut node = item.node;
                    if step.axis == Axis::Ancestor {
                        node = nodes[node].parent;
                    }
                    // Those above a node that was met before have been met.
                    while node != 0 && marked.insert(node) {
                        self.visit()?;
                        node = nodes[node].parent;
                    }
                }
                let mut ancestors: Vec<usize> =
                    marked.into_iter().filter(|node| matches(*node, Kind::Element)).collect();
                ancestors.sort_unstable();
                found = in_order(ancestors);
                // The nearest is the first.
                let count = found.len();
                found.iter_mut().for_each(|item| item.place = count - 1 - item.place);
            }
            Axis::Itself => {
                let own = items.into_iter().filter(|item| matches(item.node, nodes[item.node].kind));
                found = own.enumerate().map(|(place, item)| Item { place, size: 0, ..item }).collect();
            }
        }
        self.charge.borrow_mut().grow(found.len() * size_of::<Item>())?;
        Ok(found)
    }

    fn operate(&self, left: Found, operator: Operator, right: &Expr, context: &[Item]) -> SqlResult<Found> {
        match operator {
            Operator::Or if self.truth(&left)? => return Ok(truth_of(true)),
            Operator::And if !self.truth(&left)? => return Ok(truth_of(false)),
            _ => {}
        }
        let right = self.eval(right, context)?;
        let is_met: fn(Ordering) -> bool = match operator {
            Operator::Or | Operator::And => return Ok(truth_of(self.truth(&right)?)),
            Operator::Equal => |ordering| ordering.is_eq(),
            Operator::NotEqual => |ordering| ordering.is_ne(),
            Operator::Less => |ordering| ordering.is_lt(),
            Operator::LessOrEqual => |ordering| ordering.is_le(),
            Operator::Greater => |ordering| ordering.is_gt(),
            Operator::GreaterOrEqual => |ordering| ordering.is_ge(),
            _ => return self.calculate(&left, operator, &right),
        };
        // Any text of nodes may be the one.
        let any = |items: &[Item], compared: &dyn Fn(Found) -> SqlResult<Option<Ordering>>| {
            for text in self.texts(items)? {
                self.visit()?;
                if compared(Found::Text(text.to_string()))?.is_some_and(is_met) {
                    return Ok(truth_of(true));
                }
            }
            Ok(truth_of(false))
        };
        match (&left, &right) {
            (Found::Nodes(items), scalar) => any(items, &|text| self.compare(&text, scalar)),
            (scalar, Found::Nodes(items)) => any(items, &|text| self.compare(scalar, &text)),
            (left, right) => Ok(self.compare(left, right)?.map_or(Found::Null, |ordering| truth_of(is_met(ordering)))),
        }
    }

    fn compare(&self, left: &Found, right: &Found) -> SqlResult<Option<Ordering>> {
        if let (Found::Text(left), Found::Text(right)) = (left, right) {
            let is_equal = eq(self.collation, left, right);
            return Ok(Some(if is_equal { Ordering::Equal } else { compare(self.collation, left, right) }));
        }
        let (Some(left), Some(right)) = (self.number(left)?, self.number(right)?) else { return Ok(None) };
        Ok(left.partial_cmp(&right))
    }

    fn calculate(&self, left: &Found, operator: Operator, right: &Found) -> SqlResult<Found> {
        let (Some(left), Some(right)) = (self.number(left)?, self.number(right)?) else { return Ok(Found::Null) };
        let number = match operator {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            _ if right == 0.0 => {
                report(SqlError::new(ErrorCode::DivisionByZero, &[]), self.context)?;
                return Ok(Found::Null);
            }
            Operator::Divide => (left / right).trunc(),
            _ => left % right,
        };
        if !number.is_finite() {
            return Err(SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&"DOUBLE", &"XPATH"]));
        }
        Ok(Found::Number(number))
    }

    fn truth(&self, found: &Found) -> SqlResult<bool> {
        Ok(match found {
            Found::Nodes(items) => !items.is_empty(),
            other => self.number(other)?.is_some_and(|number| number != 0.0),
        })
    }

    fn number(&self, found: &Found) -> SqlResult<Option<f64>> {
        match found {
            Found::Number(number) => return Ok(Some(*number)),
            Found::Null => return Ok(None),
            Found::Nodes(_) | Found::Text(_) => {}
        }
        let text = self.text(found)?.unwrap_or_default();
        let parsed = parse_f64(&text);
        if parsed.truncated {
            report(SqlError::new(ErrorCode::TruncatedWrongValue, &[&"DOUBLE", &text]), self.context)?;
        }
        Ok(Some(parsed.value))
    }

    fn variable(&self, name: &str) -> Found {
        match self.context.user_variables.value(name) {
            None | Some(Value::Null) => Found::Null,
            Some(Value::String(text)) => Found::Text(text),
            Some(Value::Bytes(bytes)) => Found::Text(String::from_utf8_lossy(&bytes).into_owned()),
            Some(value) => value_to_f64(&value).map_or(Found::Null, |(number, _)| Found::Number(number)),
        }
    }

    fn call(&self, function: Function, args: &[Expr], context: &[Item]) -> SqlResult<Found> {
        let arg = |at: usize| match args.get(at) {
            Some(expr) => self.eval(expr, context),
            None => Ok(Found::Nodes(context.to_vec())),
        };
        let text = |at: usize| Ok::<_, SqlError>(self.text(&arg(at)?)?.unwrap_or_default());
        let rounded = |round: fn(f64) -> f64| {
            Ok::<_, SqlError>(self.number(&arg(0)?)?.map_or(Found::Null, |number| Found::Number(round(number))))
        };
        let first = context.first();
        Ok(match function {
            Function::True => truth_of(true),
            Function::False => truth_of(false),
            Function::Not => truth_of(!self.truth(&arg(0)?)?),
            Function::Boolean => truth_of(self.truth(&arg(0)?)?),
            Function::Number => rounded(|number| number)?,
            Function::Ceiling => rounded(f64::ceil)?,
            Function::Floor => rounded(f64::floor)?,
            Function::Round => rounded(f64::round)?,
            Function::Position => Found::Number(first.map_or(0, |item| item.place + 1) as f64),
            Function::Last => Found::Number(first.map_or(0, |item| item.size) as f64),
            Function::Count => Found::Number(match arg(0)? {
                // For the node itself, the predicate counts the nodes that were found with it.
                Found::Nodes(items) => match items.as_slice() {
                    [only] if only.size > 0 => only.size,
                    items => items.len(),
                },
                _ => 0,
            } as f64),
            Function::Sum => {
                let mut sum = 0.0;
                if let Found::Nodes(items) = arg(0)? {
                    for text in self.texts(&items)? {
                        sum += self.number(&Found::Text(text.to_string()))?.unwrap_or(0.0);
                    }
                }
                Found::Number(sum)
            }
            Function::Concat => {
                let mut joined = String::new();
                for at in 0..args.len() {
                    joined.push_str(&text(at)?);
                }
                Found::Text(joined)
            }
            Function::Contains => {
                let (whole, part) = (text(0)?, text(1)?);
                truth_of(part.is_empty() || find(self.collation, &whole, &part, 0).is_some())
            }
            Function::StringLength => Found::Number(text(0)?.chars().count() as f64),
            Function::Substring => {
                let whole = text(0)?;
                let start = self.number(&arg(1)?)?.unwrap_or(0.0);
                let length = match args.len() {
                    3 => self.number(&arg(2)?)?.unwrap_or(0.0),
                    _ => f64::MAX,
                };
                Found::Text(substring(&whole, start, length))
            }
        })
    }
}

/// A part of a text as SUBSTRING gives it.
fn substring(whole: &str, start: f64, length: f64) -> String {
    let count = whole.chars().count();
    let (start, length) = (start.round() as i64, length.round().max(0.0) as usize);
    let skipped = match start {
        0 => return String::new(),
        start if start > 0 => usize::try_from(start - 1).unwrap_or(usize::MAX),
        start => match count.checked_sub(usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX)) {
            Some(skipped) => skipped,
            None => return String::new(),
        },
    };
    whole.chars().skip(skipped).take(length).collect()
}

fn truth_of(truth: bool) -> Found {
    Found::Number(f64::from(u8::from(truth)))
}

/// Nodes in the order of the document.
fn in_order(nodes: Vec<usize>) -> Vec<Item> {
    nodes.into_iter().enumerate().map(|(place, node)| Item { node, place, size: 0 }).collect()
}
