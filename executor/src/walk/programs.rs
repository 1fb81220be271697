//! The plan being walked, and the parts of it that were built on the way: one range of node ids each, none used twice.

use super::{
    emit::Then,
    frame::FrameId,
    state::{ROOT, Walk},
};
use crate::{constants, program::Program, schemas::unseen};
use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    fold::RunState,
    ids::StepNo,
    journal::{Event, KeptSchema, KeptValue, Named},
    path::{Mark, StepPath},
};
use hermes_plan::{
    ReadyTemplates,
    graph::{Around, BodyId, Graph, Kind, Location, Node, NodeId},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A program, and the number of each of its nodes in the run's step table.
struct Loaded {
    program: Arc<Program>,
    numbers: Vec<StepNo>,
}

impl Loaded {
    fn number(&self, node: NodeId) -> StepNo {
        self.numbers[node.0.wrapping_sub(self.program.graph.first_node().0) as usize]
    }
}

/// All programs of a walk.
pub(super) struct Programs {
    plan: Loaded,
    /// By first node.
    parts: BTreeMap<u32, Loaded>,
    /// First nodes by first body.
    bodies: BTreeMap<u32, u32>,
    next: (u32, u32),
    numbering: Numbering,
}

/// How plan steps come to their numbers.
#[derive(Default)]
struct Numbering {
    /// The number of the next step that the journal does not know.
    next: u32,
    /// Steps that got their numbers in this walk.
    fresh: BTreeMap<StepPath, StepNo>,
    /// Those of them whose record is not asked for yet, in order.
    unnamed: Vec<(String, String)>,
    /// Ids of schemas that the journal has, or will have once what is asked for is written.
    schemas: BTreeSet<Digest>,
    /// Those of them whose record is not asked for yet.
    unkept: Vec<KeptSchema>,
    /// Constants that the journal does not have, and whose record is not asked for yet.
    constants: Vec<KeptValue>,
}

impl Numbering {
    fn number(&mut self, node: &Node, state: &RunState) -> StepNo {
        if node.pattern.is_empty() {
            return StepNo(0);
        }
        if let Some(number) = state.number(&node.pattern).or_else(|| self.fresh.get(&node.pattern).copied()) {
            return number;
        }
        let number = StepNo(self.next);
        self.next += 1;
        self.fresh.insert(node.pattern.clone(), number);
        self.unnamed.push((node.pattern.to_string(), node.kind.word().to_owned()));
        number
    }

    fn load(&mut self, program: Arc<Program>, state: &RunState) -> Loaded {
        self.unkept.extend(unseen(&program.graph, &mut self.schemas));
        let numbers = program.graph.nodes().map(|node| self.number(node, state)).collect();
        Loaded { program, numbers }
    }
}

impl Programs {
    pub(super) fn new(program: Arc<Program>, state: &RunState) -> Self {
        let next = u32::try_from(state.steps.len()).unwrap_or(u32::MAX);
        let mut numbering =
            Numbering { next, schemas: state.schemas.keys().copied().collect(), ..Numbering::default() };
        let graph = &program.graph;
        let mut known = state.constants.keys().copied().collect();
        numbering.constants = constants::unseen(graph, &mut known);
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let next = (count(graph.len()), count(graph.bodies().len()));
        let plan = numbering.load(program, state);
        Self { plan, parts: BTreeMap::new(), bodies: BTreeMap::new(), next, numbering }
    }

    fn of(&self, node: NodeId) -> &Loaded {
        if self.plan.program.graph.contains(node) {
            return &self.plan;
        }
        self.parts.range(..=node.0).next_back().map_or(&self.plan, |(_, part)| part)
    }

    fn of_body(&self, body: BodyId) -> &Loaded {
        if self.plan.program.graph.contains_body(body) {
            return &self.plan;
        }
        let first = self.bodies.range(..=body.0).next_back().map(|(_, first)| first);
        first.and_then(|first| self.parts.get(first)).unwrap_or(&self.plan)
    }

    /// The number of a plan step.
    pub(super) fn number(&self, node: NodeId) -> StepNo {
        self.of(node).number(node)
    }

    /// The pattern of a step that got its number in this walk.
    pub(super) fn fresh(&self, step: StepNo) -> Option<&StepPath> {
        self.numbering.fresh.iter().find(|(_, number)| **number == step).map(|(pattern, _)| pattern)
    }

    /// The node of the plan itself with this number.
    pub(super) fn planned(&self, step: StepNo) -> Option<NodeId> {
        let index = self.plan.numbers.iter().position(|number| *number == step)?;
        self.plan.program.graph.nodes().nth(index).filter(|node| !node.pattern.is_empty()).map(|node| node.id)
    }

    /// The node with this number, of the plan or of what was built on the way.
    pub(super) fn node_of(&self, step: StepNo) -> Option<&Node> {
        let parts = std::iter::once(&self.plan).chain(self.parts.values());
        let of = |part: &'_ Loaded| part.numbers.iter().position(|number| *number == step);
        parts
            .filter_map(|part| part.program.graph.nodes().nth(of(part)?))
            .find(|node| !node.pattern.is_empty())
    }

    /// The node of the plan itself below which a step with this pattern was built at run time.
    pub(super) fn grown_from(&self, pattern: &StepPath) -> Option<NodeId> {
        grown_from(&self.plan.program.graph, pattern)
    }
}

/// The node of `graph` below which a step with this pattern is built at run time.
pub(super) fn grown_from(graph: &Graph, pattern: &StepPath) -> Option<NodeId> {
    let grows = |node: &&Node| matches!(node.kind, Kind::Then(_) | Kind::Again { .. });
    let above = |node: &&Node| {
        let (prefix, segments) = (node.pattern.segments(), pattern.segments());
        let Some(((last, before), (at, around))) =
            prefix.split_last().zip(segments.get(..prefix.len()).and_then(<[_]>::split_last))
        else {
            return false;
        };
        let level = last.mark == Mark::Plain && last.name == at.name;
        segments.len() > prefix.len() && before == around && level
    };
    graph.nodes().filter(grows).find(above).map(|node| node.id)
}

impl Walk {
    /// The program that a node belongs to.
    pub(crate) fn program_of(&self, node: NodeId) -> Arc<Program> {
        Arc::clone(&self.programs.of(node).program)
    }

    pub(super) fn tables(&self, node: NodeId) -> &Program {
        &self.programs.of(node).program
    }

    pub(super) fn tables_of(&self, body: BodyId) -> &Program {
        &self.programs.of_body(body).program
    }

    pub(super) fn program_of_body(&self, body: BodyId) -> Arc<Program> {
        Arc::clone(&self.programs.of_body(body).program)
    }

    /// The plan itself.
    pub(crate) fn plan(&self) -> &Arc<Program> {
        &self.programs.plan.program
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        self.tables(id).graph.node(id)
    }

    pub(super) fn number(&self, node: NodeId) -> StepNo {
        self.programs.number(node)
    }

    /// What is around a part that is to be built below `owner`, as `frame` sees it. Its ids are nobody else's.
    pub(super) fn around(&mut self, frame: FrameId, owner: NodeId) -> Around {
        let mut graphs: Vec<Arc<Graph>> = Vec::new();
        let mut id = frame;
        loop {
            let frame = self.frame(id);
            let graph = &self.tables_of(frame.body).graph;
            if graphs.last().is_none_or(|last| !Arc::ptr_eq(last, graph)) {
                graphs.push(Arc::clone(graph));
            }
            let Some((group, _)) = frame.parent else { break };
            id = group.frame;
        }
        graphs.reverse();
        let (node, body) = self.programs.next;
        Around { graphs, owner, first_node: NodeId(node), first_body: BodyId(body) }
    }

    /// The template files of a part that was built.
    pub(super) fn templates_of(&self, graph: &Graph, place: Location) -> Result<ReadyTemplates, Failure> {
        let outer = |id| Some(self.node(id).schema.clone());
        self.lookup.templates(graph, &outer).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Failure::new(FailureClass::InvalidPlan, errors.join("; ")).located(place)
        })
    }

    /// Takes in a part that was built. Gives the body that all of it is in.
    pub(super) fn take_part(&mut self, graph: Arc<Graph>, templates: ReadyTemplates) -> BodyId {
        let (root, first) = (graph.root(), graph.first_node());
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        self.programs.next.0 = first.0.saturating_add(count(graph.len()));
        self.programs.next.1 = root.0.saturating_add(count(graph.bodies().len()));
        let program = Arc::new(Program::new(graph, templates));
        let loaded = self.programs.numbering.load(program, &self.state);
        self.programs.parts.insert(first.0, loaded);
        self.programs.bodies.insert(root.0, first.0);
        root
    }

    /// Forgets a part, once its frame has ended.
    pub(super) fn forget_part(&mut self, body: BodyId) {
        if let Some(first) = self.programs.bodies.remove(&body.0) {
            self.programs.parts.remove(&first);
        }
    }

    /// Asks for the record of steps, schemas and constants that the journal does not know yet.
    pub(super) fn name_steps(&mut self) {
        let steps = std::mem::take(&mut self.programs.numbering.unnamed);
        let schemas = std::mem::take(&mut self.programs.numbering.unkept);
        let constants = std::mem::take(&mut self.programs.numbering.constants);
        if steps.is_empty() && schemas.is_empty() && constants.is_empty() {
            return;
        }
        let count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
        let first = StepNo(self.programs.numbering.next - count);
        let event = Event::Named(Named { first, steps, schemas, constants });
        self.emit(ROOT, 0, Digest::ZERO, Digest::ZERO, &event, Then::Nothing);
    }
}
