//! The type state of expiry: what a question yields when nobody answers in time must be what an answer yields.

use hermes_core::data::Data;
use std::marker::PhantomData;

/// What becomes of a question that nobody answered in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnExpiry<T> {
    /// It fails, as *expired*: `retry` asks again.
    Fail,
    /// It has this value, and its record says that it expired.
    Value(T),
}

/// A question that waits for ever.
#[derive(Debug)]
pub struct NoExpiry(());

/// A question that expires; if it then has a value, it is a `V`.
#[derive(Debug)]
pub struct Expiring<V>(PhantomData<fn(V)>);

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoExpiry {}
    impl<V> Sealed for super::Expiring<V> {}
}

/// The states of a question: with or without an expiry.
pub trait ExpiryState: sealed::Sealed {}
impl ExpiryState for NoExpiry {}
impl<V> ExpiryState for Expiring<V> {}

/// Implemented for the type of an answer, and a question in this state: what it has on expiry is of the same type.
#[diagnostic::on_unimplemented(
    message = "this question yields a `{Self}`, and on expiry something else",
    label = "not what `.expires_in(..)` gives",
    note = "give `OnExpiry::Value(..)` a value of the type of the answer"
)]
pub trait AnswersAs<X: ExpiryState>: Data {}

#[diagnostic::do_not_recommend]
impl<T: Data> AnswersAs<NoExpiry> for T {}
#[diagnostic::do_not_recommend]
impl<T: Data> AnswersAs<Expiring<T>> for T {}
