//! The rendered prompt of an agent call, made anew from its inputs whenever the call is looked at.

use super::{frame::At, guard::guarded, state::Walk};
use hermes_core::{
    failure::{Failure, FailureClass},
    request::TemplateUse,
    value::Val,
};
use hermes_plan::graph::Prompt;

impl Walk {
    /// The prompt, and the template it came from.
    pub(super) fn prompt(
        &self,
        at: At,
        prompt: &Prompt,
        values: &[Val],
    ) -> Result<(String, Option<TemplateUse>), Failure> {
        let (text, template, place) = match prompt {
            Prompt::Text(text) => return Ok((text.clone(), None)),
            Prompt::Built { build, at: place } => (guarded(*place, || build(values)), None, place),
            Prompt::Template { id, ready, at: place } => {
                let Some(template) = ready.as_ref().or_else(|| self.tables(at.node).templates.get(id)) else {
                    let message = format!("{id} was not read");
                    return Err(Failure::new(FailureClass::TemplateFailed, message).located(place));
                };
                let names = self.node(at.node).inputs.iter().map(|input| input.name.as_str());
                let rendered = guarded(*place, || template.render(names.zip(values)));
                (rendered, Some(template.used().clone()), place)
            }
        };
        let text = text.map_err(|failure| failure.located(place))?;
        if text.trim().is_empty() {
            let from = template.map(|template| template.id).unwrap_or_default();
            return Err(Failure::new(FailureClass::BlankPrompt, from).located(place));
        }
        Ok((text, template))
    }
}
