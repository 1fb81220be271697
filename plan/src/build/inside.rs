//! Being inside a body or a scope: entered for the time of one author closure, left also when it panics.

use super::{
    ambient,
    begun::{Group, schema_in},
    draft::{Handle, Use},
    names::Space,
};
use crate::graph::{BodyId, Bounds, Location, NodeId, Placeholder, PlanId, Role};
use hermes_core::{data::Data, path::Mark};

/// An open body.
pub(crate) struct Inside {
    plan: PlanId,
    depth: usize,
    body: BodyId,
    space: Space,
    at: Location,
}

impl Inside {
    /// Opens a body of `group`, in a namespace of its own.
    #[track_caller]
    pub(crate) fn open(group: &Group, role: Role, mark: Mark) -> Self {
        Self::open_in(group, role, mark, None)
    }

    /// Opens a body of `group`, in the namespace of an earlier one if there was one.
    #[track_caller]
    pub(crate) fn open_in(group: &Group, role: Role, mark: Mark, space: Option<Space>) -> Self {
        let (plan, at) = (group.begun().plan(), Location::caller());
        let (depth, body, space) = ambient::current(
            || format!("a body of `{}`", group.begun().name()),
            |draft| {
                let depth = draft.depth();
                let space = space.unwrap_or_else(|| draft.space());
                (depth, draft.enter_body(group.node(), role, mark, space, at), space)
            },
        );
        Self { plan, depth, body, space, at }
    }

    /// The namespace of the body.
    pub(crate) fn space(&self) -> Space {
        self.space
    }

    /// Adds a placeholder to the body.
    pub(crate) fn param<T: Data>(&self, placeholder: Placeholder) -> Handle {
        param::<T>(self.plan, placeholder, self.at)
    }

    /// Closes the body; `result` is its output.
    pub(crate) fn close(self, result: Handle) -> BodyId {
        let result = Use { name: String::new(), handle: result, at: self.at };
        ambient::in_plan(self.plan, |draft| draft.result(self.body, &result));
        self.body
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        ambient::in_plan(self.plan, |draft| draft.leave_to(self.depth));
    }
}

/// Adds a placeholder to the innermost body of a plan.
pub(crate) fn param<T: Data>(plan: PlanId, placeholder: Placeholder, at: Location) -> Handle {
    let schema = schema_in::<T>(plan, at);
    let node = ambient::in_plan(plan, |draft| draft.placeholder(placeholder, schema, at));
    // Only ever called while the plan is being built.
    Handle { plan, node: node.unwrap_or(NodeId(0)), made: at }
}

/// An open `scope(..)`.
pub(crate) struct Scoped {
    plan: PlanId,
    mark: (usize, usize),
}

impl Scoped {
    /// Bounds what is made in it.
    pub(crate) fn bound(&self, bounds: Bounds) {
        ambient::in_plan(self.plan, |draft| draft.bound(bounds));
    }

    /// Enters a scope of the innermost plan.
    #[track_caller]
    pub(crate) fn enter(name: &str) -> Self {
        let at = Location::caller();
        ambient::current(
            || format!("`scope({name:?}, ..)`"),
            |draft| Self { plan: draft.id(), mark: draft.enter_scope(name, at) },
        )
    }
}

impl Drop for Scoped {
    fn drop(&mut self) {
        ambient::in_plan(self.plan, |draft| draft.leave_scope(self.mark));
    }
}
