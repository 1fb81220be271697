//! The graph of a schema and its digest. Knows nothing of JSON Schema: nodes, what they hold, and cycles.

use crate::digest::{Digest, DigestWriter};
use std::collections::BTreeSet;

/// What a node holds under one keyword.
pub(super) enum Held<'s> {
    /// A value.
    Value(Digest),
    /// One node.
    One(usize),
    /// Nodes by position.
    Ordered(Vec<usize>),
    /// Nodes whose order means nothing.
    Unordered(Vec<usize>),
    /// Nodes by name.
    Named(Vec<(&'s str, usize)>),
    /// One node that stands for a whole choice, whatever the choice was called.
    Merged(usize),
}

impl Held<'_> {
    fn children(&self) -> Vec<usize> {
        match self {
            Held::Value(_) => vec![],
            Held::One(child) | Held::Merged(child) => vec![*child],
            Held::Ordered(list) | Held::Unordered(list) => list.clone(),
            Held::Named(fields) => fields.iter().map(|(_, child)| *child).collect(),
        }
    }
}

/// One node: its keywords.
#[derive(Default)]
pub(super) struct Node<'s> {
    pub(super) parts: Vec<(&'s str, Held<'s>)>,
}

/// All nodes of a schema.
#[derive(Default)]
pub(super) struct Graph<'s> {
    pub(super) nodes: Vec<Node<'s>>,
}

impl<'s> Graph<'s> {
    /// Adds a node and numbers it.
    pub(super) fn add(&mut self, node: Node<'s>) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The digest of what is seen from `top`: every node of the graph is reachable from it.
    pub(super) fn digest(&self, top: usize) -> Digest {
        let mut names = vec![Digest::ZERO; self.nodes.len()];
        let endless = self.settle(&mut names);
        let mut rounds = 0;
        let mut classes = 0;
        if !endless.is_empty() {
            loop {
                let next: Vec<Digest> = endless.iter().map(|node| self.name(*node, &names)).collect();
                for (node, name) in endless.iter().zip(&next) {
                    names[*node] = *name;
                }
                rounds += 1;
                let apart = next.into_iter().collect::<BTreeSet<_>>().len();
                // A round never joins what was apart, so as many classes as before are the same classes.
                if apart == classes {
                    break;
                }
                classes = apart;
            }
        }
        // The classes themselves are part of it: two graphs may look alike from the top for as many rounds as each needs
        // to come apart, but not also have the same classes.
        let seen: BTreeSet<Digest> = endless.iter().map(|node| names[*node]).collect();
        let mut writer = DigestWriter::new("hermes schema graph v1");
        writer.digest(&names[top]).u64(rounds).list(seen.len());
        for class in &seen {
            writer.digest(class);
        }
        writer.finish()
    }

    /// Names all nodes that reach no cycle, from the leaves up; the others are returned.
    fn settle(&self, names: &mut [Digest]) -> Vec<usize> {
        let mut users: Vec<Vec<usize>> = vec![vec![]; self.nodes.len()];
        let mut waits: Vec<usize> = vec![0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for child in node.parts.iter().flat_map(|(_, held)| held.children()) {
                users[child].push(index);
                waits[index] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..waits.len()).filter(|index| waits[*index] == 0).collect();
        while let Some(index) = ready.pop() {
            names[index] = self.name(index, names);
            for user in &users[index] {
                waits[*user] -= 1;
                if waits[*user] == 0 {
                    ready.push(*user);
                }
            }
        }
        (0..waits.len()).filter(|index| waits[*index] > 0).collect()
    }

    /// A node's name from its children's.
    fn name(&self, index: usize, names: &[Digest]) -> Digest {
        let parts = &self.nodes[index].parts;
        // Alone, a merged choice is the node itself.
        if let [(_, Held::Merged(child))] = parts.as_slice() {
            return names[*child];
        }
        let mut held: Vec<(&str, Digest)> = parts
            .iter()
            .map(|(keyword, held)| match held {
                // Says the same as a reference to it.
                Held::Merged(_) => ("$ref", part(held, names)),
                held => (*keyword, part(held, names)),
            })
            .collect();
        held.sort_unstable();
        let mut writer = DigestWriter::new("hermes schema node v1");
        writer.list(held.len());
        for (keyword, digest) in &held {
            writer.text(keyword).digest(digest);
        }
        writer.finish()
    }
}

fn part(held: &Held<'_>, names: &[Digest]) -> Digest {
    let mut writer = DigestWriter::new("hermes schema held v1");
    match held {
        Held::Value(digest) => writer.u64(0).digest(digest),
        Held::One(child) | Held::Merged(child) => writer.u64(1).digest(&names[*child]),
        Held::Ordered(list) => {
            writer.u64(2).list(list.len());
            list.iter().fold(&mut writer, |writer, child| writer.digest(&names[*child]))
        }
        Held::Unordered(list) => {
            let mut list: Vec<Digest> = list.iter().map(|child| names[*child]).collect();
            list.sort_unstable();
            writer.u64(3).list(list.len());
            list.iter().fold(&mut writer, |writer, child| writer.digest(child))
        }
        Held::Named(fields) => {
            let mut fields = fields.clone();
            fields.sort_unstable();
            writer.u64(4).list(fields.len());
            fields.iter().fold(&mut writer, |writer, (name, child)| writer.text(name).digest(&names[*child]))
        }
    };
    writer.finish()
}
