//! The author's closures with their types erased. They take stored values and give stored values: decoding and
//! encoding happen inside, so nothing else ever holds an author's type.

use super::{Around, Grown};
use hermes_core::{failure::Failure, timestamp::Timestamp, value::Val};
use std::{future::Future, pin::Pin, sync::Arc};

/// A boxed future, as runners and async steps give it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// Computes a value from the inputs, in order.
pub type ComputeFn = Arc<dyn Fn(&[Val]) -> Result<Val, Failure> + Send + Sync>;
/// The same, asynchronously.
pub type AsyncFn = Arc<dyn Fn(Vec<Val>) -> BoxFuture<'static, Result<Val, Failure>> + Send + Sync>;
/// The keys of the items that an item needs.
pub type NeedsFn = Arc<dyn Fn(&Val) -> Result<Vec<String>, Failure> + Send + Sync>;
/// Builds a part of a plan from a value, inside what is around it.
pub type GrowFn = Arc<dyn Fn(&Val, Around) -> Result<Grown, Failure> + Send + Sync>;
/// Renders a prompt from the inputs, in order.
pub type PromptFn = Arc<dyn Fn(&[Val]) -> Result<String, Failure> + Send + Sync>;
/// Builds the arguments of a command from the inputs, in order.
pub type ArgvFn = Arc<dyn Fn(&[Val]) -> Result<Vec<String>, Failure> + Send + Sync>;
/// Makes the name of whom a question is for from its inputs, in order.
pub type AssignFn = Arc<dyn Fn(&[Val]) -> Result<String, Failure> + Send + Sync>;
/// Reads the moment that a wait ends at.
pub type MomentFn = Arc<dyn Fn(&Val) -> Result<Timestamp, Failure> + Send + Sync>;
/// Says what is wrong with a value, where something is.
pub type CheckFn = Arc<dyn Fn(&Val) -> Result<Option<String>, Failure> + Send + Sync>;
/// Which elements of a list stay: their positions, in order, and what they are afterwards.
pub type KeepFn = Arc<dyn Fn(&[Val]) -> Result<Vec<(u32, Val)>, Failure> + Send + Sync>;
/// Makes an item's key from the item.
pub type KeyFn = Arc<dyn Fn(&Val) -> Result<String, Failure> + Send + Sync>;
/// What an arm of a branch makes of the value, if it takes it.
pub type PickFn = Arc<dyn Fn(&Val) -> Result<Option<Val>, Failure> + Send + Sync>;
