//! Plan 4: Ticket triage: a classifier's answer is a typed value, each kind goes its own way, and what is dangerous is escalated to
//! a person who has an hour.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Mail {
    id: u32,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Ticket {
    Bug { component: String, severity: u8 },
    Question { topic: String },
    Incident { service: String },
    Spam,
}

/// A bug, as its arm needs it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Bug {
    component: String,
    severity: u8,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Response {
    RollBack,
    RestartIt,
    LeaveIt,
}

impl Ticket {
    fn bug(&self) -> Option<Bug> {
        match self {
            Self::Bug { component, severity } => {
                Some(Bug { component: component.clone(), severity: *severity })
            }
            _ => None,
        }
    }

    fn question(&self) -> Option<String> {
        if let Self::Question { topic } = self { Some(topic.clone()) } else { None }
    }

    fn incident(&self) -> Option<String> {
        if let Self::Incident { service } = self { Some(service.clone()) } else { None }
    }
}

fn escalate(mail: Step<Mail>, service: Step<String>) -> Step<String> {
    let response = ask("what_to_do")
        .title("An incident: what shall be done?")
        .input("service", service)
        .input("mail", mail)
        .assign_with(|service, _| format!("on-call {service}"))
        .expires_in(Duration::from_secs(60 * 60), OnExpiry::Value(Response::RollBack))
        .returns::<Response>();
    branch("response", response)
        .when("leave", |response| *response == Response::LeaveIt, |_| value("left as it is".to_owned()))
        .otherwise(|response| {
            agent("act")
                .input("service", service)
                .input("response", response)
                .prompt_with(|service, response| format!("{response:?} {service}, and say what you did."))
                .isolation(Isolation::None)
                .text()
        })
}

fn triage(mail: Step<Mail>) -> Step<String> {
    let ticket =
        agent("classify").input("mail", mail).prompt("What kind of ticket is it?").returns::<Ticket>();
    branch("kind", ticket)
        .case("bug", Ticket::bug, |bug| {
            agent("file_bug")
                .input("bug", bug)
                .input("mail", mail)
                .prompt_with(|bug, mail| {
                    format!("File #{} under {}, P{}.", mail.id, bug.component, bug.severity)
                })
                .text()
        })
        .case("question", Ticket::question, |topic| {
            agent("answer")
                .input("topic", topic)
                .input("mail", mail)
                .prompt("Answer from the handbook.")
                .text()
        })
        .case("incident", Ticket::incident, |service| escalate(mail, service))
        .otherwise(|_| value("dropped".to_owned()))
}

fn triage_all(mails: Step<Vec<Mail>>) -> Step<Vec<String>> {
    parallel_each("mails", mails, triage).key_by(|mail| mail.id).limit(3).all()
}

mod run {
    use super::{Mail, Ticket, triage_all};
    use crate::{
        drawing::assert_drawing,
        drive::{Drive, id, input},
    };
    use hermes_plan::assert_layout;
    use hermes_workflows::{executor::Clock, prelude::*};
    use serde_json::{Value, json};

    fn mails() -> Vec<Mail> {
        let texts =
            ["It crashes.", "How do I log in?", "Nothing works!", "Buy now.", "The shop is slow, no hurry."];
        (1..).zip(texts).map(|(id, text)| Mail { id, text: text.to_owned() }).collect()
    }

    fn script() -> Scripted {
        let ticket = |ticket: Ticket| json!(ticket);
        let service = |service: &str| Ticket::Incident { service: service.to_owned() };
        Scripted::new()
            .on("mails[1]/classify", ticket(Ticket::Bug { component: "core".to_owned(), severity: 1 }))
            .on("mails[2]/classify", ticket(Ticket::Question { topic: "login".to_owned() }))
            .on("mails[3]/classify", ticket(service("database")))
            .on("mails[4]/classify", ticket(Ticket::Spam))
            .on("mails[5]/classify", ticket(service("shop")))
            .text("mails[*]/kind:bug/file_bug", "filed")
            .on("mails[*]/kind:question/answer", |call: &AgentCall| {
                Ok(AgentReply::text(format!("about {}", input::<String>(call, "topic"))))
            })
            .on("mails[*]/kind:incident/response:else/act", |call: &AgentCall| {
                Ok(AgentReply::text(call.text.lines().next().unwrap_or_default()))
            })
    }

    fn person(path: &str) -> Value {
        match path {
            "mails[3]/kind:incident/what_to_do" => json!("RestartIt"),
            "mails[5]/kind:incident/what_to_do" => json!("LeaveIt"),
            other => panic!("nobody expected to be asked {other}"),
        }
    }

    fn plan() -> Plan<Vec<Mail>, Vec<String>> {
        Plan::new("tickets", triage_all).unwrap()
    }

    #[test]
    fn its_layout() {
        assert_layout!(plan(), "plan-tickets");
    }

    #[tokio::test]
    async fn killed_anywhere_each_ticket_goes_its_way_and_each_incident_is_asked_about_once() {
        let ended = Drive::new(plan(), mails(), script).person(person).survives(6).await;
        let acted = "RestartIt database, and say what you did.";
        assert_eq!(ended.value, ["filed", "about login", acted, "dropped", "left as it is"]);
        assert_eq!((ended.asked.len(), ended.script.calls().len()), (2, 5 + 3));
        assert_drawing("plan-tickets-run", &ended.layout);
    }

    #[tokio::test]
    async fn the_classifier_fails_once() {
        let drive = Drive::new(plan(), mails(), script).person(person);
        drive.recovers("mails[3]/classify", 3).await;
    }

    #[tokio::test]
    async fn the_service_on_call_is_asked_and_what_nobody_answers_within_the_hour_is_rolled_back() {
        let (clock, hand) = Clock::by_hand(Timestamp::from_millis(0));
        let executor =
            Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(script()).clock(clock).build();
        let run = executor.start(&plan(), mails()).id("r").await.unwrap();
        let Outcome::Waiting(needs) = run.outcome().await.unwrap() else { panic!("it asks") };
        let assignees = needs.list.iter().map(|need| match &need.kind {
            NeedKind::Review { assignee, .. } => assignee.clone().unwrap(),
            other => panic!("{other:?}"),
        });
        assert_eq!(assignees.collect::<Vec<_>>(), ["on-call database", "on-call shop"]);
        executor.answer(&id(), &needs.list[1], &json!("LeaveIt")).await.unwrap();
        hand.set(needs.until.unwrap());
        let outcome = executor.resume(&plan(), "r").await.unwrap().outcome().await.unwrap();
        let Outcome::Completed(done) = outcome else { panic!("{outcome:?}") };
        assert_eq!(done.value[2..], ["RollBack database, and say what you did.", "dropped", "left as it is"]);
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(Drive::new(plan(), mails(), script).never_rehearsed(|plan| plan).await, [""; 0]);
    }
}
