//! Dispatch: the only place that starts effects. Agent calls go to their runner, commands become processes, local steps go
//! to the blocking pool or the async runtime; how they end comes back as a message.

use super::{
    blocking::{Blocking, Claim, within},
    call::{Bounds, agent, bounded},
    command::{Started, command},
    driver::{Driver, Message},
    turns::{Attempt, Standard},
};
use crate::{
    compose::with_inputs,
    runner::{AgentCall, Expect},
    snapshot,
    walk::{At, CallEnd, Sent, guarded},
    workspace::Workspace,
};
use hermes_core::failure::{Failure, FailureClass};
use hermes_plan::graph::{Agent, Call, Command, Files, Kind, LocalStep, Node, Prompt};
use std::{sync::Arc, time::Instant};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

impl Driver {
    /// Begins the call of `at`, whose record is durable where it needs one.
    pub(super) fn begin(&mut self, at: At) {
        let program = self.walk.program_of(at.node);
        let node = program.graph.node(at.node);
        if self.stood_in(at, node) {
            return;
        }
        match &node.kind {
            Kind::Agent(agent) => self.begin_agent(at, node, agent),
            Kind::Step(step) => self.begin_step(at, step),
            Kind::Command(command) => self.begin_command(at, node, command),
            Kind::Files(files) => self.begin_files(at, node, files),
            _ => {}
        }
    }

    /// Whether a stand-in has taken the call over: then nothing is started for it.
    fn stood_in(&mut self, at: At, node: &Node) -> bool {
        let Some(stand_in) = &self.services.stand_in else { return false };
        let Some(end) = stand_in.instead(&self.walk.path(at), node) else { return false };
        // The driver holds the other end.
        let _ = self.messages.send(Message::Finished(at, end));
        true
    }

    /// Ends a call for which nothing was started, in the way in which all end: its places are given back.
    fn not_begun(&self, at: At, failure: Failure) {
        let end = CallEnd::Failed { failure, may_have_acted: false };
        let _ = self.messages.send(Message::Finished(at, end));
    }

    fn begin_agent(&mut self, at: At, node: &Node, options: &Agent) {
        let path = self.walk.path(at).to_string();
        let budget = self.walk.reserved_bound(at);
        let Some(state) = self.walk.call_mut(at) else { return };
        let prompt = match std::mem::take(&mut state.sent) {
            Sent::Prompt(prompt) => prompt,
            Sent::Nothing | Sent::Command(_) => String::new(),
        };
        let mut inputs = Vec::with_capacity(state.inputs.len());
        for (input, value) in node.inputs.iter().zip(&state.inputs) {
            match value.text() {
                Ok(text) => inputs.push((input.name.clone(), text)),
                Err(error) => {
                    let failure = Failure::new(FailureClass::Undecodable, error.to_string());
                    return self.not_begun(at, failure);
                }
            }
        }
        let text = match &options.prompt {
            Prompt::Text(_) => {
                with_inputs(&prompt, inputs.iter().map(|(name, text)| (name.as_str(), &**text)))
            }
            Prompt::Built { .. } | Prompt::Template { .. } => prompt,
        };
        let call = AgentCall {
            run: self.id.to_string(),
            path,
            text,
            inputs,
            expect: if options.text { Expect::Text } else { Expect::Json(node.schema.clone()) },
            tools: options.tools.clone(),
            skills: options.skills.clone(),
            files: options.files.iter().map(|file| self.services.base_dir.join(file)).collect(),
            model: state.model.take(),
            variant: options.variant.clone(),
            isolation: options.isolation,
            workspace: Workspace::new(
                self.services.workspaces(),
                self.run.0,
                &state.cookie,
                options.isolation,
            ),
            fingerprint: state.fingerprint,
            idempotency_key: state.key,
            cookie: state.cookie.clone(),
            attempt: state.attempt,
            previous: Vec::new(),
            session: None,
            deadline: options.timeout.map(|limit| Instant::now() + limit),
            timeout: options.timeout,
            budget,
        };
        let Some(runner) = self.services.runner(options.runner.as_deref()) else {
            let failure = Failure::new(FailureClass::NotBegun, "the executor has no such runner");
            return self.not_begun(at, failure);
        };
        let cancel = self.token(at);
        let decode = Arc::clone(&options.check);
        let standard = Standard { decode, checks: options.checks.clone(), place: node.at };
        let messages = self.messages.clone();
        let turns = messages.clone();
        let keep = Box::new(move |refused| {
            let (go_on, kept) = oneshot::channel();
            // If the driver is gone, so is the sender, and no other turn begins.
            let _ = turns.send(Message::Refused(at, refused, go_on));
            kept
        });
        let stall = options.stall;
        let attempt = Attempt { runner, call, cancel, stall, standard, repair: options.repair, keep };
        tokio::spawn(async move {
            let end = agent(attempt).await;
            // The driver is gone only when its run is: then nobody waits.
            let _ = messages.send(Message::Finished(at, end));
        });
    }

    fn begin_command(&mut self, at: At, node: &Node, options: &Command) {
        let path = self.walk.path(at).to_string();
        let Some(state) = self.walk.call_mut(at) else { return };
        let Sent::Command(invocation) = std::mem::take(&mut state.sent) else {
            let failure = Failure::new(FailureClass::NotBegun, "there is nothing to start");
            return self.not_begun(at, failure);
        };
        let started = Started {
            path,
            invocation: *invocation,
            options: options.clone(),
            directory: self.services.base_dir.join(&options.directory),
            schema: node.schema.clone(),
            key: state.key,
            cookie: state.cookie.clone(),
            place: node.at,
        };
        let cancel = self.token(at);
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let end = command(started, cancel).await;
            let _ = messages.send(Message::Finished(at, end));
        });
    }

    fn begin_step(&mut self, at: At, step: &LocalStep) {
        let Some(state) = self.walk.call_mut(at) else { return };
        let values = std::mem::take(&mut state.inputs);
        let cancel = self.token(at);
        let messages = self.messages.clone();
        let place = step.at;
        let end = |result| match result {
            Ok(value) => CallEnd::Done(value, None),
            Err(failure) => CallEnd::Failed { failure, may_have_acted: true },
        };
        match (&step.call, step.timeout) {
            (Call::Blocking(run), timeout) => {
                let Some(late) = self.late_to(at) else { return };
                let claim = Arc::<Claim>::default();
                let blocking =
                    Blocking { run: Arc::clone(run), values, place, claim: Arc::clone(&claim), late };
                let Some(limit) = timeout else {
                    self.blocking.insert(at, claim);
                    self.pool.add(move || {
                        if let Some(result) = blocking.compute() {
                            let _ = messages.send(Message::Finished(at, end(result)));
                        }
                    });
                    return;
                };
                // It keeps its permit until it returns, also past its timeout.
                claim.keep(self.permits.remove(&at));
                tokio::spawn(async move {
                    let result = within(limit, blocking, &claim, &cancel).await;
                    let _ = messages.send(Message::Finished(at, end(result)));
                });
            }
            (Call::Async(run), timeout) => {
                let run = Arc::clone(run);
                tokio::spawn(async move {
                    let result =
                        match bounded(async move { run(values).await }, Bounds::timeout(timeout), &cancel)
                            .await
                        {
                            Ok(result) => result,
                            Err((cut, _)) => Err(cut.failure()),
                        };
                    let result = result.map_err(|failure| failure.located(place));
                    let _ = messages.send(Message::Finished(at, end(result)));
                });
            }
        }
    }

    fn begin_files(&mut self, at: At, node: &Node, files: &Files) {
        let (files, schema, place) = (files.clone(), node.schema.clone(), node.at);
        let services = Arc::clone(&self.services);
        let messages = self.messages.clone();
        self.pool.add(move || {
            let taken = guarded(place, || snapshot::take(&services.base_dir, &files, &schema));
            let end = match taken {
                Ok((value, blobs)) => CallEnd::Taken(value, blobs),
                Err(failure) => CallEnd::Failed { failure: failure.located(place), may_have_acted: false },
            };
            let _ = messages.send(Message::Finished(at, end));
        });
    }

    fn token(&mut self, at: At) -> CancellationToken {
        let token = CancellationToken::new();
        if self.cancelled.is_some() {
            token.cancel();
        }
        self.tokens.insert(at, token.clone());
        token
    }
}
