//! Plans that can be edited: agents that need one another, and a fan-out over the input; and the edits an author makes.

use proptest::prelude::*;

/// One agent. Its number is what it is; its name is what it is called.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Agent {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// The name it had, where the plan says so.
    pub(crate) was: Option<String>,
    pub(crate) prompt: u8,
    pub(crate) version: Option<u32>,
    /// Whether its output is text, or JSON that happens to be one.
    pub(crate) text: bool,
    pub(crate) tool: bool,
    /// The agents before it whose outputs it takes, by number.
    pub(crate) needs: Vec<u32>,
    /// Whether it takes the run's input.
    pub(crate) input: bool,
    /// Whether it takes what the fan-out yields.
    pub(crate) fan: bool,
    /// Whether the plan has it run again or kept when it changes.
    pub(crate) on_change: Option<bool>,
}

/// A plan, and the input it is started with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) agents: Vec<Agent>,
    /// The prompt of the fan-out's agent.
    pub(crate) each: u8,
    /// The name of the fan-out, and the one it had.
    pub(crate) fan: (String, Option<String>),
    /// The input: the items, which are their own keys.
    pub(crate) items: Vec<String>,
}

/// What an author does to a plan, or a person to its input. Numbers pick what it is done to.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Prompt(usize),
    Version(usize),
    Form(usize),
    Tool(usize),
    OnChange(usize, bool),
    Rename(usize),
    Insert { at: usize, feeds: usize },
    Remove(usize),
    Need(usize, usize),
    EachPrompt,
    RenameFan,
    AddItem(usize),
    RemoveItem(usize),
    Reorder,
}

pub(crate) fn specs() -> impl Strategy<Value = Spec> {
    let agent = (any::<[bool; 4]>(), proptest::collection::vec(0_usize..8, 0..3));
    (proptest::collection::vec(agent, 1..5), 0_usize..4).prop_map(|(agents, items)| {
        let mut spec = Spec {
            agents: Vec::new(),
            each: 0,
            fan: ("each".to_owned(), None),
            items: (0..items).map(|item| format!("i{item}")).collect(),
        };
        for ([text, tool, input, fan], needs) in agents {
            let mut agent = spec.fresh();
            let before = spec.agents.len();
            agent.needs =
                needs.into_iter().filter(|need| *need < before).map(|need| spec.agents[need].id).collect();
            agent.needs.sort_unstable();
            agent.needs.dedup();
            (agent.text, agent.tool, agent.input, agent.fan) = (text, tool, input, fan);
            spec.agents.push(agent);
        }
        spec
    })
}

pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = 0_usize..8;
    let edit = prop_oneof![
        3 => at.clone().prop_map(Edit::Prompt),
        2 => at.clone().prop_map(Edit::Version),
        1 => at.clone().prop_map(Edit::Form),
        1 => at.clone().prop_map(Edit::Tool),
        1 => (at.clone(), any::<bool>()).prop_map(|(at, rerun)| Edit::OnChange(at, rerun)),
        2 => at.clone().prop_map(Edit::Rename),
        2 => (at.clone(), at.clone()).prop_map(|(at, feeds)| Edit::Insert { at, feeds }),
        1 => at.clone().prop_map(Edit::Remove),
        1 => (at.clone(), at.clone()).prop_map(|(at, need)| Edit::Need(at, need)),
        1 => Just(Edit::EachPrompt),
        1 => Just(Edit::RenameFan),
        1 => at.clone().prop_map(Edit::AddItem),
        1 => at.prop_map(Edit::RemoveItem),
        1 => Just(Edit::Reorder),
    ];
    proptest::collection::vec(edit, 0..4)
}

impl Spec {
    /// An agent that is none of those there are, or were.
    fn fresh(&self) -> Agent {
        let id = self
            .agents
            .iter()
            .map(|agent| agent.id + 1)
            .max()
            .unwrap_or(0)
            .max(100 * u32::from(!self.agents.is_empty()));
        Agent {
            id,
            name: format!("s{id}"),
            was: None,
            prompt: 0,
            version: None,
            text: true,
            tool: false,
            needs: Vec::new(),
            input: false,
            fan: false,
            on_change: None,
        }
    }

    pub(crate) fn edit(&mut self, edit: &Edit) {
        let count = self.agents.len();
        let agent = |at: usize| at % count;
        match edit {
            Edit::Prompt(at) => self.agents[agent(*at)].prompt += 1,
            Edit::Version(at) => {
                let version = &mut self.agents[agent(*at)].version;
                *version = Some(version.unwrap_or(0) + 1);
            }
            Edit::Form(at) => self.agents[agent(*at)].text ^= true,
            Edit::Tool(at) => self.agents[agent(*at)].tool ^= true,
            Edit::OnChange(at, rerun) => self.agents[agent(*at)].on_change = Some(*rerun),
            Edit::Rename(at) => {
                let agent = &mut self.agents[agent(*at)];
                // What was renamed twice since the run names only the last name: that would be another step.
                if agent.was.is_none() {
                    agent.was = Some(std::mem::replace(&mut agent.name, format!("renamed{}", agent.id)));
                }
            }
            Edit::Insert { at, feeds } => {
                let new = self.fresh();
                let (id, at) = (new.id, at % (count + 1));
                self.agents.insert(at, new);
                let feeds = feeds % (count + 1);
                if feeds > at {
                    self.agents[feeds].needs.push(id);
                }
            }
            Edit::Remove(at) => {
                if count == 1 {
                    return;
                }
                let gone = self.agents.remove(agent(*at)).id;
                for agent in &mut self.agents {
                    agent.needs.retain(|need| *need != gone);
                }
            }
            Edit::Need(at, need) => {
                let (at, need) = (agent(*at), agent(*need));
                let id = self.agents[need].id;
                let needs = &mut self.agents[at].needs;
                match needs.iter().position(|need| *need == id) {
                    Some(place) => drop(needs.remove(place)),
                    None if need < at => needs.push(id),
                    None => {}
                }
            }
            Edit::EachPrompt => self.each += 1,
            Edit::RenameFan => {
                if self.fan.1.is_none() {
                    self.fan = ("every".to_owned(), Some("each".to_owned()));
                }
            }
            Edit::AddItem(at) => {
                let item = format!("n{at}");
                if !self.items.contains(&item) {
                    self.items.insert(at % (self.items.len() + 1), item);
                }
            }
            Edit::RemoveItem(at) => {
                if !self.items.is_empty() {
                    self.items.remove(at % self.items.len());
                }
            }
            Edit::Reorder => self.items.reverse(),
        }
    }
}

/// What an agent answers: few answers, so that what runs again often comes to the same.
pub(crate) fn says(request: &str) -> String {
    format!("w{}", blake3::hash(request.as_bytes()).as_bytes()[0] % 3)
}

/// What is decided about a conflict of this step: to run it again, or to keep it.
pub(crate) fn reruns(seed: u64, step: &str) -> bool {
    blake3::hash(format!("{seed} {step}").as_bytes()).as_bytes()[0].is_multiple_of(2)
}
