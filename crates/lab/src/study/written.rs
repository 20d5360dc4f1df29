//! The form of a study's file, and how changes from the command line are put over it.
//!
//! Must not know: whether the levels make sense.

mod complaint;

use std::collections::BTreeMap;

use datapump::units::parse_duration;
use serde::Deserialize;
use toml::Spanned;

use complaint::complaint;

use super::distance::NONE;
use super::{
    COMMAND, Changes, Check, Exception, Factor, JobTemplate, Level, Order, Probe, SOAKER, StopRule, Study,
    StudyError, StudyFigure, StudyResult, StudyStep, Template, results,
};

/// 10 repeats, one discarded warm-up.
const REPEATS: u32 = 10;
const WARMUP: u32 = 1;
const SEED: u64 = 1;

/// Spans tell the order in which the file names the factors.
type Factors = BTreeMap<String, Spanned<Vec<Level>>>;

/// A study's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStudy {
    name: String,
    title: String,
    #[serde(default)]
    purpose: String,
    run_takes: Option<String>,
    repeats: Option<u32>,
    stop: Option<StopRule>,
    warmup: Option<u32>,
    seed: Option<u64>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    probes: Vec<Probe>,
    #[serde(default)]
    prepare: Vec<StudyStep>,
    #[serde(default)]
    check: Vec<Check>,
    #[serde(default)]
    baselines: Vec<BTreeMap<String, Level>>,
    #[serde(default)]
    results: Vec<StudyResult>,
    #[serde(default, rename = "figure")]
    figures: Vec<StudyFigure>,
    #[serde(default)]
    factors: Factors,
    job: Option<JobTemplate>,
    command: Option<Commands>,
    #[serde(default)]
    chosen: Vec<BTreeMap<String, Vec<Level>>>,
    #[serde(default, rename = "exception")]
    exceptions: Vec<Exception>,
    #[serde(default)]
    quick: OtherForm,
    #[serde(default)]
    full: OtherForm,
}

/// The table `[command]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Commands {
    levels: BTreeMap<String, Spanned<String>>,
}

/// The tables `[quick]` and `[full]`: what replaces the rest with `--quick` and with `--full`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherForm {
    repeats: Option<u32>,
    warmup: Option<u32>,
    #[serde(default)]
    factors: BTreeMap<String, Vec<Level>>,
}

/// Reads the text and puts the changes over it.
pub fn read(file: &str, text: &str, changes: &Changes) -> Result<Study, StudyError> {
    let error = |key: &str, message: String| StudyError { file: file.into(), key: key.into(), message };
    let written: WrittenStudy = toml::from_str(text).map_err(|wrong| error("", complaint(&wrong, text)))?;
    let mut factors = in_order(written.factors);
    let template = match (written.job, written.command) {
        (Some(job), None) => Template::Job(Box::new(job)),
        (None, Some(commands)) => {
            add_command_factor(&mut factors, &commands);
            let lines = commands.levels.into_iter().map(|(name, line)| (name, line.into_inner()));
            Template::Command(lines.collect())
        }
        (Some(_), Some(_)) => {
            return Err(error("job", "a study has either [job] or [command]; keep one".into()));
        }
        (None, None) => {
            let hint = "nothing is run; write a table [job] or [command.levels]";
            return Err(error("job", hint.into()));
        }
    };
    let soaker = Some(Probe::Soaker).filter(|probe| changes.soaker && !written.probes.contains(probe));
    let probes: Vec<Probe> = written.probes.into_iter().chain(soaker).collect();
    add_soaker_factor(&mut factors, &probes);
    if written.stop.is_some() && written.repeats.is_some() {
        return Err(error("stop", "a study has either repeats or stop; keep one".into()));
    }
    let run_takes = written.run_takes.as_deref().map(parse_duration).transpose();
    let mut study = Study {
        file: file.into(),
        name: written.name,
        title: written.title,
        purpose: written.purpose,
        run_takes: run_takes.map_err(|wrong| error("run_takes", wrong))?,
        factors,
        template,
        probes,
        prepare: written.prepare,
        check: written.check,
        repeats: written.stop.map(|rule| rule.at_most).or(written.repeats).unwrap_or(REPEATS),
        stop: written.stop,
        warmup: written.warmup.unwrap_or(WARMUP),
        seed: changes.seed.or(written.seed).unwrap_or(SEED),
        order: written.order,
        baselines: written.baselines,
        results: results::in_full(written.results),
        figures: written.figures,
        requires: written.requires,
        chosen: written.chosen,
        exceptions: written.exceptions,
    };
    if changes.full {
        study.chosen.clear();
        take_form(&mut study, written.full, "full")?;
    }
    if changes.quick {
        // It is not to measure.
        study.prepare.retain(|step| *step != StudyStep::WaitQuiet {});
        take_form(&mut study, written.quick, "quick")?;
    }
    change(&mut study, changes)?;
    Ok(study)
}

fn in_order(factors: Factors) -> Vec<Factor> {
    let mut found: Vec<(usize, Factor)> = factors
        .into_iter()
        .map(|(name, levels)| (levels.span().start, Factor { name, levels: levels.into_inner() }))
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, factor)| factor).collect()
}

/// All named command lines are run unless the factors say which.
fn add_command_factor(factors: &mut Vec<Factor>, commands: &Commands) {
    if factors.iter().any(|factor| factor.name == COMMAND) {
        return;
    }
    let mut names: Vec<(usize, &String)> =
        commands.levels.iter().map(|(name, line)| (line.span().start, name)).collect();
    names.sort_unstable();
    let levels = names.into_iter().map(|(_, name)| Level::from(name.as_str())).collect();
    factors.insert(0, Factor { name: COMMAND.into(), levels });
}

/// Bandwidth is measured without the soaker and CPU time with it, unless the factors say otherwise.
fn add_soaker_factor(factors: &mut Vec<Factor>, probes: &[Probe]) {
    let stands = factors.iter().any(|factor| factor.name == SOAKER);
    if probes.contains(&Probe::Soaker) && !stands {
        let levels = ["off", "on"].map(Level::from).to_vec();
        factors.push(Factor { name: SOAKER.into(), levels });
    }
}

fn take_form(study: &mut Study, form: OtherForm, named: &str) -> Result<(), StudyError> {
    study.warmup = form.warmup.unwrap_or(study.warmup);
    if let Some(repeats) = form.repeats {
        repeat_all(study, repeats);
    }
    form.factors.into_iter().try_for_each(|(name, levels)| {
        let key = format!("{named}.factors.{name}");
        replace_levels(study, &name, levels, key)
    })
}

fn change(study: &mut Study, changes: &Changes) -> Result<(), StudyError> {
    if let Some(repeats) = changes.repeats {
        repeat_all(study, repeats);
    }
    changes.set.iter().try_for_each(|(name, levels)| {
        let levels: Vec<Level> = levels.iter().map(|level| Level::from(level.as_str())).collect();
        let key = format!("--set {name}");
        let is_this =
            |factor: &&Factor| factor.name == *name && matches!(study.template, Template::Command(_));
        let wrong = |factor: &Factor| levels.iter().find_map(|level| unlike(factor, level));
        match study.factors.iter().find(is_this).and_then(wrong) {
            Some(words) => Err(study.error(key, words)),
            None => replace_levels(study, name, levels, key),
        }
    })
}

/// Factors whose words a command knows; any other word would run as something else.
const KNOWN_WORDS: [&str; 8] =
    ["operation", "caching", "interface", "pattern", "stage", "growth", "offload", "file"];

/// What a path need not have.
const LIMITS_OF_A_PATH: [&str; 2] = ["queue", "drop_at"];

/// Why a level cannot be one of a factor that has these.
fn unlike(factor: &Factor, level: &Level) -> Option<String> {
    let all = |is: fn(&Level) -> bool| factor.levels.iter().all(is);
    let least = factor.levels.iter().filter_map(Level::value).fold(1.0, f64::min);
    let is_number = |level: &Level| matches!(level, Level::Number(_));
    let kind = if LIMITS_OF_A_PATH.contains(&factor.name.as_str()) && level.to_string() == NONE {
        return None;
    } else if all(is_number) && !(is_number(level) && level.value() >= Some(least)) {
        "a number"
    } else if all(Level::is_size) && !(level.is_size() && level.value() >= Some(least)) {
        "a size with its unit"
    } else if KNOWN_WORDS.contains(&factor.name.as_str()) && !factor.levels.contains(level) {
        "one of its words"
    } else {
        return None;
    };
    let names: Vec<String> = factor.levels.iter().map(Level::to_string).collect();
    Some(format!("'{level}' is not {kind}; the study has {}", names.join(", ")))
}

fn repeat_all(study: &mut Study, repeats: u32) {
    study.repeats = repeats;
    study.stop = None;
    study.exceptions.iter_mut().for_each(|exception| exception.repeats = None);
}

fn replace_levels(study: &mut Study, name: &str, levels: Vec<Level>, key: String) -> Result<(), StudyError> {
    if let Some(factor) = study.factors.iter_mut().find(|factor| factor.name == name) {
        factor.levels = levels;
        // Named levels are the user's choice.
        study.chosen.iter_mut().for_each(|some| drop(some.remove(name)));
        return Ok(());
    }
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    let message = format!("the study has no such factor; its factors are {}", names.join(", "));
    Err(study.error(key, message))
}
