//! Checks a study before its first run, so that a wrong level is found at once and not after an hour.
//!
//! Must not know: the machine the study will run on.

use std::collections::BTreeMap;

use datapump::units::parse_bytes;

use super::{
    BINARY, COMMAND, Cell, Check, Exception, FACTORS, Level, Probe, SOAKER, SOAKER_LEVELS, Study, StudyError,
    StudyStep, Template, fill, results, stop,
};

/// A study of more runs than this is a mistake: at one second a run it would take a day.
const RUNS_MAX: u64 = 86_400;

/// Names in braces that the rig and the runner give.
const GIVEN: [&str; 6] = ["source", "target", "host", "port", "relay_port", "pump"];

/// Checks everything that can be checked without running.
pub fn check(study: &Study) -> Result<(), StudyError> {
    check_name(study)?;
    check_combinations(study)?;
    study.factors.iter().try_for_each(|factor| check_factor(study, factor))?;
    study.baselines.iter().try_for_each(|baseline| check_baseline(study, baseline))?;
    study.exceptions.iter().try_for_each(|exception| check_exception(study, exception))?;
    study
        .chosen
        .iter()
        .flat_map(|some| some.keys())
        .try_for_each(|name| has_factor(study, "chosen", name))?;
    check_checks(study, &study.check)?;
    check_probes(study)?;
    results::check(study)?;
    results::figures::check(study)?;
    stop::check(study)?;
    let cells = study.cells();
    check_size(study, &cells)?;
    cells.iter().try_for_each(|cell| check_cell(study, cell))
}

fn check_name(study: &Study) -> Result<(), StudyError> {
    let in_file_names =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if study.name.chars().all(in_file_names) && !study.name.is_empty() {
        Ok(())
    } else {
        Err(study.error(
            "name",
            format!("'{}' names a file too; write small letters, digits and '-', as in my-study", study.name),
        ))
    }
}

/// Combinations are counted before they are made: some factors of a few levels have more than memory holds.
fn check_combinations(study: &Study) -> Result<(), StudyError> {
    let levels = study.factors.iter().map(|factor| factor.levels.len() as u64);
    let combinations = levels.fold(1, u64::saturating_mul);
    if combinations <= RUNS_MAX {
        return Ok(());
    }
    let message =
        format!("{combinations} combinations of levels are more than {RUNS_MAX}; write fewer levels");
    Err(study.error("factors", message))
}

fn check_factor(study: &Study, factor: &super::Factor) -> Result<(), StudyError> {
    let key = format!("factors.{}", factor.name);
    if !FACTORS.contains(&factor.name.as_str()) {
        return Err(study.error(key, format!("no factor has this name; write one of {}", FACTORS.join(", "))));
    }
    if factor.levels.is_empty() {
        return Err(study.error(key, "the list is empty; write at least one level, as in [\"64KiB\"]"));
    }
    let twice = factor.levels.iter().enumerate().find(|(at, level)| factor.levels[..*at].contains(level));
    if let Some((_, level)) = twice {
        return Err(study.error(key, format!("'{level}' stands there twice; write each level once")));
    }
    match (factor.name.as_str(), &study.template) {
        (BINARY, _) => {
            Err(study
                .error(key, "which programs are compared is said by `pump lab compare --a FILE --b FILE`"))
        }
        (COMMAND, Template::Command(_)) => {
            factor.levels.iter().try_for_each(|level| check_command(study, level))
        }
        (COMMAND, Template::Job(_)) => {
            Err(study.error(key, "a [job] has no commands; write [command.levels]"))
        }
        (SOAKER, _) => factor.levels.iter().try_for_each(|level| check_soaker(study, &key, level)),
        _ => Ok(()),
    }
}

fn check_soaker(study: &Study, key: &str, level: &Level) -> Result<(), StudyError> {
    if SOAKER_LEVELS.contains(&level.to_string().as_str()) {
        Ok(())
    } else {
        Err(study.error(key, format!("'{level}' is none of {}", SOAKER_LEVELS.join(", "))))
    }
}

fn check_command(study: &Study, level: &Level) -> Result<(), StudyError> {
    let Template::Command(lines) = &study.template else { return Ok(()) };
    if lines.contains_key(&level.to_string()) {
        return Ok(());
    }
    let names: Vec<&str> = lines.keys().map(String::as_str).collect();
    let message = format!("[command.levels] has no '{level}'; it has {}", names.join(", "));
    Err(study.error("factors.command", message))
}

fn check_baseline(study: &Study, baseline: &BTreeMap<String, Level>) -> Result<(), StudyError> {
    if baseline.is_empty() {
        return Err(study.error("baselines", "an empty baseline; write for example { command = \"cp\" }"));
    }
    baseline.keys().try_for_each(|name| has_factor(study, "baselines", name))?;
    baseline.get(COMMAND).map_or(Ok(()), |level| check_command(study, level))
}

fn check_exception(study: &Study, exception: &Exception) -> Result<(), StudyError> {
    exception.cells.keys().try_for_each(|name| has_factor(study, "exception.where", name))?;
    exception.check.as_deref().map_or(Ok(()), |checks| check_checks(study, checks))
}

fn has_factor(study: &Study, key: &str, name: &str) -> Result<(), StudyError> {
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    if names.contains(&name) {
        Ok(())
    } else {
        Err(study
            .error(key, format!("'{name}' is no factor of this study; its factors are {}", names.join(", "))))
    }
}

fn check_checks(study: &Study, checks: &[Check]) -> Result<(), StudyError> {
    let has = |gives: fn(&StudyStep) -> bool| study.prepare.iter().any(gives);
    let names = has(|step| *step == StudyStep::NewTarget {});
    let hint = match checks {
        [] => return Ok(()),
        _ if !has(StudyStep::gives_source) || !names => {
            "it compares {target} with {source}; write the steps make_source and new_target in prepare"
        }
        _ if checks.contains(&Check::SameTree) && !has(StudyStep::gives_tree) => {
            "same_tree compares trees; write the step make_tree, or the check same_content"
        }
        _ => return Ok(()),
    };
    Err(study.error("check", hint))
}

fn check_probes(study: &Study) -> Result<(), StudyError> {
    match study.template {
        Template::Command(_) if study.probes.contains(&Probe::Latency) => {
            Err(study.error("probes", "'latency' is of a [job]: a command cannot be asked; take it out"))
        }
        Template::Job(_) if study.probes.contains(&Probe::Tcp) => {
            Err(study.error("probes", "'tcp' is of a [command]: a job has no connections; take it out"))
        }
        _ => Ok(()),
    }
}

fn check_size(study: &Study, cells: &[Cell]) -> Result<(), StudyError> {
    let runs: u64 = cells.iter().map(|cell| u64::from(cell.repeats)).sum();
    match runs {
        0 => {
            Err(study.error("repeats", "nothing would be run; write 1 or more repeats, and skip fewer cells"))
        }
        1..=RUNS_MAX => Ok(()),
        _ => Err(study.error(
            "factors",
            format!("{runs} runs are more than {RUNS_MAX}; write fewer levels or fewer repeats"),
        )),
    }
}

/// Fills the templates of a cell with stand-ins for what the rig gives.
fn check_cell(study: &Study, cell: &Cell) -> Result<(), StudyError> {
    let given = given(study);
    let value = |name: &str| {
        if given.contains(&name) {
            Some("stand-in".to_string())
        } else {
            cell.levels.get(name).map(Level::to_string)
        }
    };
    study.prepare.iter().try_for_each(|step| check_step(study, step, &value))?;
    match &study.template {
        Template::Job(job) => {
            // An error of several fields together is an error of none of them.
            let key_of = |key: &str| if key == "job" { key.into() } else { format!("job.{key}") };
            job.filled(&value).map(drop).map_err(|(key, wrong)| study.error(key_of(key), wrong))
        }
        Template::Command(lines) => {
            let name = cell.levels.get(COMMAND).map(Level::to_string).unwrap_or_default();
            let line = lines.get(&name).map(String::as_str).unwrap_or_default();
            let known =
                || cell.levels.keys().map(String::as_str).chain(given.clone()).collect::<Vec<_>>().join(", ");
            fill(line, &value).map(drop).map_err(|unknown| {
                let message = format!("{{{unknown}}} has no value here; known are {}", known());
                study.error(format!("command.levels.{name}"), message)
            })
        }
    }
}

/// The names in braces that are given besides factors.
fn given(study: &Study) -> Vec<&'static str> {
    let prepares = |name: &str| match name {
        "source" => study.prepare.iter().any(StudyStep::gives_source),
        "target" => study.prepare.contains(&StudyStep::NewTarget {}),
        "host" | "port" => study.prepare.contains(&StudyStep::NewHost {}),
        "relay_port" => study.prepare.iter().any(|step| matches!(step, StudyStep::NewRelay(_))),
        _ => matches!(study.template, Template::Command(_)),
    };
    GIVEN.into_iter().filter(|name| prepares(name)).collect()
}

fn check_step(
    study: &Study,
    step: &StudyStep,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<(), StudyError> {
    let before = || study.prepare.iter().take_while(|before| *before != step);
    let lacks = |what: &str| Err(study.error("prepare", format!("there is no {what} first")));
    match step {
        StudyStep::MakeSource { size } => {
            let word = filled(study, "make_source.size", size, "a size such as 1GiB", value)?;
            parse_bytes(&word).map(drop).map_err(|wrong| study.error("prepare.make_source.size", wrong))
        }
        StudyStep::MakeTree(tree) => tree
            .filled(value)
            .map(drop)
            .map_err(|(key, wrong)| study.error(format!("prepare.make_tree.{key}"), wrong)),
        StudyStep::UseTree { path } => {
            filled(study, "use_tree.path", path, "a folder such as /usr", value).map(drop)
        }
        StudyStep::NewRelay(_) | StudyStep::NewPath(_)
            if !before().any(|step| *step == StudyStep::NewHost {}) =>
        {
            lacks("host yet; write the step new_host")
        }
        StudyStep::NewPath(path) => path
            .filled(value)
            .map(drop)
            .map_err(|(key, wrong)| study.error(format!("prepare.new_path.{key}"), wrong)),
        StudyStep::NewRelay(relay) => relay
            .filled(value)
            .map(drop)
            .map_err(|(key, wrong)| study.error(format!("prepare.new_relay.{key}"), wrong)),
        StudyStep::Run { command } => fill(command, value)
            .map(drop)
            .map_err(|name| study.error("prepare.run.command", format!("{{{name}}} has no value here"))),
        StudyStep::ColdSource {} | StudyStep::WarmSource {} if !before().any(StudyStep::gives_source) => {
            lacks("source yet; write the step make_source")
        }
        StudyStep::WarmTarget {} if !before().any(|step| matches!(step, StudyStep::Run { .. })) => {
            lacks("target yet; write a step run that makes it")
        }
        StudyStep::ColdSource {} | StudyStep::WarmSource {} | StudyStep::WarmTarget {} => Ok(()),
        StudyStep::NewTarget {} | StudyStep::NewHost {} | StudyStep::WaitQuiet {} => Ok(()),
    }
}

fn filled(
    study: &Study,
    key: &str,
    level: &Level,
    example: &str,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<String, StudyError> {
    let wrong = |name| format!("{{{name}}} is no factor; write {example}");
    fill(&level.to_string(), value).map_err(|name| study.error(format!("prepare.{key}"), wrong(name)))
}
