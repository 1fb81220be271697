//! Values made from a schema, each choice taken from a seed: enum variants, both truth values, numbers around their bounds,
//! lists of none, one and several, short and long texts.

use hermes_core::digest::DigestWriter;
use serde_json::{Map, Number, Value};

/// Beyond this depth the smallest form is taken.
const DEEPEST: usize = 8;

/// Beyond this depth nothing is made: there is no end to it.
const ABYSS: usize = 128;

/// Short texts, so that a drawing of keys made from them can be read.
const WORDS: [&str; 12] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "maple", "ocean",
    "ridge",
];

/// How many forms of texts there are.
pub(super) const FORMS: usize = 6;

/// Choices, repeatable from their seed.
pub(super) struct Dice {
    state: u64,
    /// The form of all texts, where it is not chosen anew for each.
    form: Option<usize>,
    /// How long the lists are that are the value or stand at its top.
    length: Option<usize>,
}

impl Dice {
    /// Those of one value: of this seed, at this path, at this try.
    pub(super) fn new(seed: u64, path: &str, again: u64) -> Self {
        let mut writer = DigestWriter::new("hermes rehearsal");
        let digest = writer.u64(seed).text(path).u64(again).finish().to_string();
        let bits = digest.bytes().take(16).fold(0_u64, |bits, byte| bits.rotate_left(4) ^ u64::from(byte));
        Self { state: bits, form: None, length: None }
    }

    /// The same, with texts of this form only, and lists of this length at the top.
    pub(super) fn fixed(self, form: Option<usize>, length: Option<usize>) -> Self {
        Self { form, length, ..self }
    }

    pub(super) fn next(&mut self) -> u64 {
        // splitmix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`, which is at least 1.
    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % (count.max(1) as u64)).unwrap_or_default()
    }

    /// One of several; `None` of none.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let index = self.below(of.len());
        of.get(index)
    }
}

/// A value of `schema`, most likely: keywords that no rule here knows are left to whoever checks it.
pub(super) fn sample(schema: &Value, dice: &mut Dice) -> Value {
    Sampler { root: schema, dice }.of(schema, 0)
}

/// A text that is not blank: as an agent answers, or as a person writes. Single words and numbers are few, so that texts
/// that have to agree (keys and what refers to them) now and then do.
pub(super) fn text(dice: &mut Dice) -> String {
    let word = dice.one(&WORDS).copied().unwrap_or_default();
    let number = dice.below(1000);
    match dice.form.unwrap_or_else(|| dice.below(FORMS)) {
        0 => WORDS[number % 3].to_owned(),
        1 => (number % 20).to_string(),
        2 => format!("{word} {number}"),
        3 => format!("{word}-{number}"),
        4 => format!("A rehearsed text about {word}, number {number}."),
        _ => format!("A long rehearsed text about {word}, number {number}.{}", " It goes on.".repeat(40)),
    }
}

struct Sampler<'a, 'd> {
    root: &'a Value,
    dice: &'d mut Dice,
}

impl<'a> Sampler<'a, '_> {
    fn of(&mut self, schema: &'a Value, depth: usize) -> Value {
        if depth > ABYSS {
            return Value::Null;
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let found = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return found.map_or(Value::Null, |found| self.of(found, depth + 1));
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(value) = self.listed(schema, "enum") {
            return value;
        }
        // An author's own example, half of the time.
        if schema.get("examples").is_some()
            && self.dice.below(2) == 0
            && let Some(value) = self.listed(schema, "examples")
        {
            return value;
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(forms) = schema.get(keyword).and_then(Value::as_array) {
                let form = if depth > DEEPEST {
                    forms.iter().min_by_key(|form| (levels(self.root, form, &mut Vec::new()), weight(form)))
                } else {
                    self.dice.one(forms)
                };
                let value = form.map_or(Value::Null, |form| self.of(form, depth + 1));
                return self.with_fields(schema, value, depth);
            }
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            let mut whole = Value::Null;
            for part in all {
                whole = merged(whole, self.of(part, depth + 1));
            }
            return self.with_fields(schema, whole, depth);
        }
        self.plain(schema, depth)
    }

    fn listed(&mut self, schema: &'a Value, keyword: &str) -> Option<Value> {
        let values = schema.get(keyword)?.as_array()?;
        self.dice.one(values).cloned()
    }

    /// The fields that stand beside the forms of a tagged type.
    fn with_fields(&mut self, schema: &'a Value, value: Value, depth: usize) -> Value {
        if schema.get("properties").is_some() { merged(value, self.object(schema, depth)) } else { value }
    }

    fn plain(&mut self, schema: &'a Value, depth: usize) -> Value {
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(Value::Array(kinds)) if depth > DEEPEST && kinds.iter().any(|kind| kind == "null") => "null",
            Some(Value::Array(kinds)) => self.dice.one(kinds).and_then(Value::as_str).unwrap_or("null"),
            _ if schema.get("properties").is_some() => "object",
            // Anything goes.
            _ => "string",
        };
        match kind {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => Value::String(self.string(schema)),
            "integer" => self.integer(schema),
            "number" => self.number(schema),
            "boolean" => Value::Bool(self.dice.below(2) == 0),
            _ => Value::Null,
        }
    }

    fn object(&mut self, schema: &'a Value, depth: usize) -> Value {
        let required: Vec<_> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().collect();
        let mut object = Map::new();
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let needed = required.iter().any(|needed| *needed == name.as_str());
            if needed || (depth <= DEEPEST && self.dice.below(2) == 0) {
                object.insert(name.clone(), self.of(field, depth + 1));
            }
        }
        if let Some(others @ Value::Object(_)) = schema.get("additionalProperties")
            && depth <= DEEPEST
        {
            for index in 0..self.dice.below(3) {
                object.insert(format!("key_{index}"), self.of(others, depth + 1));
            }
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &'a Value, depth: usize) -> Value {
        if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
            return items.iter().map(|item| self.of(item, depth + 1)).collect();
        }
        let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let least = bound("minItems").unwrap_or(0);
        let most = bound("maxItems").unwrap_or(u64::MAX);
        // Lists within a value are short: what they refer to is rarely there.
        let more = match depth {
            0 | 1 if self.dice.length.is_some() => self.dice.length.unwrap_or_default(),
            0 => self.dice.below(4),
            1..=DEEPEST => self.dice.below(4).saturating_sub(1),
            _ => 0,
        };
        let more = more as u64;
        let count = least.saturating_add(more).min(most).min(64);
        let Some(item) = schema.get("items") else { return Value::Array(Vec::new()) };
        let mut list = Vec::new();
        for _ in 0..count {
            let value = self.of(item, depth + 1);
            if schema.get("uniqueItems") != Some(&Value::Bool(true)) || !list.contains(&value) {
                list.push(value);
            }
        }
        Value::Array(list)
    }

    fn string(&mut self, schema: &Value) -> String {
        let known = match schema.get("format").and_then(Value::as_str) {
            Some("date-time" | "partial-date-time") => Some("2024-05-06T07:08:09Z"),
            Some("date") => Some("2024-05-06"),
            Some("time") => Some("07:08:09Z"),
            Some("duration") => Some("PT1H"),
            Some("uuid") => Some("67e55044-10b1-426f-9247-bb680e5fe0c8"),
            Some("uri" | "iri" | "url") => Some("https://example.org/rehearsed"),
            Some("email") => Some("rehearsed@example.org"),
            Some("ipv4" | "ip") => Some("192.0.2.1"),
            _ => None,
        };
        if let Some(known) = known {
            return known.to_owned();
        }
        let bound = |keyword: &str| {
            schema.get(keyword).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok())
        };
        let (least, most) = (bound("minLength").unwrap_or(0), bound("maxLength").unwrap_or(usize::MAX));
        if least == 0 && self.dice.below(8) == 0 {
            return String::new();
        }
        let mut made = text(self.dice);
        while made.chars().count() < least.min(1 << 16) {
            made.push_str(" more");
        }
        made.chars().take(most).collect()
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let unsigned =
            schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint"));
        let least = bound("minimum").or(bound("exclusiveMinimum").map(|bound| bound + 1.0));
        let least = least.unwrap_or(if unsigned { 0.0 } else { -1.0 });
        let most = bound("maximum").or(bound("exclusiveMaximum").map(|bound| bound - 1.0)).unwrap_or(1000.0);
        let (least, most) = (whole(least), whole(most));
        let step = schema.get("multipleOf").and_then(Value::as_i64).unwrap_or(1).max(1);
        let small = i64::try_from(self.dice.below(12)).unwrap_or_default();
        let wide = i64::try_from(self.dice.below(1000)).unwrap_or_default();
        let made = match self.dice.below(8) {
            0 => least,
            1 => most,
            2 => least.saturating_add(1),
            3 => most.saturating_sub(1),
            4 => wide,
            _ => small,
        };
        let made = made.clamp(least.min(most), most.max(least));
        Value::Number((made - made.rem_euclid(step)).into())
    }

    fn number(&mut self, schema: &Value) -> Value {
        let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let least = bound("minimum").or(bound("exclusiveMinimum"));
        let most = bound("maximum").or(bound("exclusiveMaximum"));
        let share = u32::try_from(self.dice.below(1001)).map_or(0.0, f64::from) / 1000.0;
        let made = match (self.dice.below(4), least, most) {
            (0, Some(least), _) => least,
            (1, _, Some(most)) => most,
            (_, Some(least), Some(most)) => least + (most - least) * share,
            (2, _, _) => share * 100.0,
            _ => share,
        };
        let made =
            made.clamp(least.unwrap_or(f64::MIN), most.unwrap_or(f64::MAX).max(least.unwrap_or(f64::MIN)));
        Number::from_f64(made).map_or(Value::Null, Value::Number)
    }
}

/// The whole number nearest to a bound.
#[expect(clippy::cast_possible_truncation, reason = "a bound beyond the whole numbers is cut to their end")]
fn whole(bound: f64) -> i64 {
    bound.clamp(-9e15, 9e15) as i64
}

/// How many levels the flattest value of a form has: of several, the flattest ends a recursion. One that does not end counts
/// as endless.
fn levels<'a>(root: &'a Value, form: &'a Value, above: &mut Vec<&'a str>) -> usize {
    const ENDLESS: usize = usize::MAX;
    let deepest = |parts: &mut dyn Iterator<Item = &'a Value>, above: &mut Vec<&'a str>| {
        parts.map(|part| levels(root, part, above)).max().unwrap_or(0)
    };
    if let Some(reference) = form.get("$ref").and_then(Value::as_str) {
        let Some(found) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) else {
            return 0;
        };
        if above.contains(&reference) {
            return ENDLESS;
        }
        above.push(reference);
        let levels = levels(root, found, above);
        above.pop();
        return levels.saturating_add(1);
    }
    if form.get("const").is_some() || form.get("enum").is_some() {
        return 0;
    }
    let required = form.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut needed = required.filter_map(|name| form.get("properties")?.get(name.as_str()?));
    let fields = deepest(&mut needed, above);
    let list = |keyword| form.get(keyword).and_then(Value::as_array);
    let items = form.get("items").filter(|_| form.get("minItems").and_then(Value::as_u64).unwrap_or(0) > 0);
    let mut all = list("allOf").into_iter().chain(list("prefixItems")).flatten().chain(items);
    let parts = deepest(&mut all, above);
    let forms = list("oneOf").or_else(|| list("anyOf")).into_iter().flatten();
    let forms = forms.map(|form| levels(root, form, above)).min().unwrap_or(0);
    fields.max(parts).max(forms).saturating_add(1)
}

/// How much there is in a form, roughly: of several that are as flat, the lightest is taken.
fn weight(form: &Value) -> usize {
    if form.get("const").is_some() || form.get("enum").is_some() || form["type"] == "null" {
        return 0;
    }
    form.to_string().len()
}

fn merged(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (name, value) in other {
                one.entry(name).or_insert(value);
            }
            Value::Object(one)
        }
        (Value::Null, other) => other,
        (one, _) => one,
    }
}

#[cfg(test)]
mod tests;
