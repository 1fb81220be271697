//! The type state of inputs: a tuple that grows by one type with each `.input(..)`, up to 8.

use super::arity::for_each_arity;
use crate::{build::decode, graph::Location};
use hermes_core::{data::Data, failure::Failure, value::Val};
use std::sync::Arc;

/// The types of a step's inputs, in order, as a tuple of up to 8.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a tuple of up to 8 input types")]
pub trait Inputs: sealed::Sealed + 'static {
    /// These inputs and one more. With 8 there is no room, which [`Room`] says.
    type With<T>;
    /// One shared value for each input.
    #[doc(hidden)]
    type Values: Send;
    #[doc(hidden)]
    fn decode(inputs: &[Val], at: Location) -> Result<Self::Values, Failure>;
}

/// Inputs that leave room for one more.
#[diagnostic::on_unimplemented(
    message = "a step takes at most 8 inputs",
    label = "this would be the ninth",
    note = "join some of them into one: `.input(\"both\", join((a, b)))`"
)]
pub trait Room: Inputs {}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for () {}
impl Inputs for () {
    type With<New> = (New,);
    type Values = ();
    fn decode(_: &[Val], _: Location) -> Result<(), Failure> {
        Ok(())
    }
}

macro_rules! inputs {
    () => {};
    ($($T:ident $v:ident $i:literal),*) => {
        impl<$($T: Data),*> sealed::Sealed for ($($T,)*) {}
        impl<$($T: Data),*> Inputs for ($($T,)*) {
            type With<New> = with!(New $($T)*);
            type Values = ($(Arc<$T>,)*);
            fn decode(inputs: &[Val], at: Location) -> Result<Self::Values, Failure> {
                Ok(($(decode::<$T>(inputs, $i, at)?,)*))
            }
        }
    };
}

macro_rules! with {
    ($New:ident $A:ident $B:ident $C:ident $D:ident $E:ident $F:ident $G:ident $H:ident) => {
        ($A, $B, $C, $D, $E, $F, $G, $H)
    };
    ($New:ident $($T:ident)*) => { ($($T,)* $New,) };
}
for_each_arity!(inputs);

macro_rules! room {
    ($A:ident $a:ident 0, $B:ident $b:ident 1, $C:ident $c:ident 2, $D:ident $d:ident 3, $E:ident $e:ident 4,
     $F:ident $f:ident 5, $G:ident $g:ident 6, $H:ident $h:ident 7) => {};
    ($($T:ident $v:ident $i:literal),*) => {
        impl<$($T: Data),*> Room for ($($T,)*) {}
    };
}
for_each_arity!(room);
