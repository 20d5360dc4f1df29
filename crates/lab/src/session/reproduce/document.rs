//! A founding document as data: its parts, each with the study that redoes it, its figures and its published tables.
//!
//! Must not know: how a study is run, how a page is made.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::study::results::figures;
use crate::study::results::published;
use crate::study::{Changes, FigureFit, Level, Study, StudyFigure, builtin};

/// A document that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltInDocument {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! documents {
    ($($name:literal),*) => {
        /// All of them, by their years.
        pub const DOCUMENTS: &[BuiltInDocument] = &[$(BuiltInDocument {
            name: $name,
            text: include_str!(concat!("../../../documents/", $name, ".toml")),
        }),*];
    };
}

documents!("access", "datapump", "readers", "seqio", "end-systems");

/// A document.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Its name.
    pub name: String,
    /// The title of its page.
    pub title: String,
    /// Authors, title, year.
    pub source: String,
    /// Its question.
    pub question: String,
    /// Parts of which a sentence is the answer, the first three that have one; all parts where none is named.
    #[serde(default)]
    pub answers: Vec<String>,
    /// Its parts, in its order.
    #[serde(rename = "part")]
    pub parts: Vec<DocumentPart>,
}

/// A table, a figure or a section of a document, redone.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentPart {
    /// Its name, of which files are made.
    pub name: String,
    /// Where it is in the document.
    pub place: String,
    /// Its title.
    pub title: String,
    /// How to read it, and where the model fails.
    #[serde(default)]
    pub text: String,
    /// The study whose runs redo it.
    #[serde(default)]
    pub study: Option<String>,
    /// The other part whose rows it shows, instead of runs of its own.
    #[serde(default)]
    pub rows_of: Option<String>,
    /// Levels that replace those of factors.
    #[serde(default)]
    pub set: BTreeMap<String, Vec<Level>>,
    /// Levels that replace those in the small form.
    #[serde(default)]
    pub quick: BTreeMap<String, Vec<Level>>,
    /// Each cell once more with the soaker, for its CPU time.
    #[serde(default)]
    pub soaker: bool,
    /// Rounds, in place of the study's own.
    #[serde(default)]
    pub repeats: Option<u32>,
    /// Needs of the runs besides the study's programs.
    #[serde(default)]
    pub needs: Vec<PartNeed>,
    /// Its figures.
    #[serde(default, rename = "figure")]
    pub figures: Vec<StudyFigure>,
    /// The forecast of its parts, written down before its runs.
    #[serde(default, rename = "forecast")]
    pub forecasts: Vec<PartForecast>,
    /// Published tables that are shown whole.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Why no machine can show it, or this program does not.
    #[serde(default)]
    pub absent: Option<String>,
}

/// A sum of the costs that were fitted in figures of parts before.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartForecast {
    /// The figure of CPU time for a byte by request size in which it is drawn.
    pub figure: String,
    /// Figures with a fit of costs, of one line each.
    pub plus: Vec<String>,
    /// Those that are taken away: each end that was measured has a pump in it.
    #[serde(default)]
    pub minus: Vec<String>,
}

/// Something that runs need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartNeed {
    /// Network namespaces, loop devices.
    Root,
}

impl PartNeed {
    /// In a sentence.
    pub fn name(self) -> &'static str {
        match self {
            PartNeed::Root => "root",
        }
    }

    /// Whether it is there.
    pub fn is_met(self) -> bool {
        match self {
            PartNeed::Root => rustix::process::geteuid().is_root(),
        }
    }
}

/// The document of this name.
///
/// Errors: there is none; the names of those that there are.
pub fn find(name: &str) -> anyhow::Result<Document> {
    let Some(found) = DOCUMENTS.iter().find(|document| document.name == name) else {
        let names: Vec<&str> = DOCUMENTS.iter().map(|document| document.name).collect();
        bail!("there is no document '{}'; there are {}", datapump::shown(name.as_bytes()), names.join(", "));
    };
    Document::parse(found.name, found.text)
}

impl Document {
    /// Reads one and checks it.
    pub fn parse(file: &str, text: &str) -> anyhow::Result<Document> {
        let document: Document = toml::from_str(text).with_context(|| format!("document {file}"))?;
        for part in &document.parts {
            document.check(part).with_context(|| format!("document {file}: part {}", part.name))?;
        }
        let figures: Vec<&str> =
            document.parts.iter().flat_map(|part| &part.figures).map(|figure| figure.name.as_str()).collect();
        if let Some((_, name)) = figures.iter().enumerate().find(|(at, name)| figures[..*at].contains(name)) {
            bail!("document {file}: two figures are called {name}, and each has a file of its name");
        }
        Ok(document)
    }

    /// The part of this name.
    pub fn part(&self, name: &str) -> Option<&DocumentPart> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The part whose rows a part shows: itself, unless it says another one.
    pub fn origin<'all>(&'all self, part: &'all DocumentPart) -> &'all DocumentPart {
        part.rows_of.as_ref().and_then(|name| self.part(name)).unwrap_or(part)
    }

    /// The figures of parts before this one.
    fn check_forecast(&self, part: &DocumentPart, forecast: &PartForecast) -> anyhow::Result<()> {
        if !part.figures.iter().any(|figure| figure.name == forecast.figure) {
            bail!("forecast: it has no figure {}", forecast.figure);
        }
        let before = self.parts.iter().take_while(|other| other.name != part.name);
        let fitted: Vec<&StudyFigure> = before
            .flat_map(|part| &part.figures)
            .filter(|figure| figure.fit == Some(FigureFit::Cost))
            .collect();
        let mut named = forecast.plus.iter().chain(&forecast.minus);
        match named.find(|name| !fitted.iter().any(|figure| figure.name == **name)) {
            Some(name) => bail!("forecast: no part before it has a figure {name} with fit = \"cost\""),
            None => Ok(()),
        }
    }

    fn check(&self, part: &DocumentPart) -> anyhow::Result<()> {
        if self.parts.iter().filter(|other| other.name == part.name).count() > 1 {
            bail!("its name is there twice");
        }
        if part.rows_of.as_ref().is_some_and(|name| self.part(name).is_none_or(|other| other.study.is_none()))
        {
            bail!("rows_of names no part with a study");
        }
        if part.study.is_some() && part.rows_of.is_some() {
            bail!("it has a study and rows of another part; keep one");
        }
        part.tables.iter().try_for_each(|name| published::table(name).map(drop))?;
        part.forecasts.iter().try_for_each(|forecast| self.check_forecast(part, forecast))?;
        match self.origin(part).study(false)? {
            Some(study) => Ok(figures::check_all(&study, &part.figures)?),
            None if part.figures.iter().any(|figure| figure.published.is_empty()) => {
                bail!("without a study its figures show published values only")
            }
            None if part.absent.is_none() => bail!("it has no study; say why: absent = \"…\""),
            None => Ok(()),
        }
    }
}

impl DocumentPart {
    /// Its study with its levels, if it has one.
    pub fn study(&self, quick: bool) -> anyhow::Result<Option<Study>> {
        let Some(name) = &self.study else { return Ok(None) };
        let built_in = builtin::find(name).with_context(|| format!("there is no study '{name}'"))?;
        Ok(Some(Study::parse(name, built_in.text, &self.changes(quick))?))
    }

    /// Changes to its study.
    pub fn changes(&self, quick: bool) -> Changes {
        let own = if quick { &self.quick } else { &self.set };
        let words = |levels: &Vec<Level>| levels.iter().map(Level::to_string).collect();
        Changes {
            set: own.iter().map(|(factor, levels)| (factor.clone(), words(levels))).collect(),
            repeats: if quick { None } else { self.repeats },
            quick,
            soaker: self.soaker,
            ..Changes::default()
        }
    }

    /// Needs of its runs that are not met.
    pub fn unmet(&self) -> Vec<&'static str> {
        self.needs.iter().filter(|need| !need.is_met()).map(|need| need.name()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_in_order_also_in_its_small_form() {
        for built_in in DOCUMENTS {
            let document =
                Document::parse(built_in.name, built_in.text).unwrap_or_else(|it| panic!("{it:#}"));
            assert_eq!(document.name, built_in.name, "the file is named like the document");
            for part in &document.parts {
                part.study(true)
                    .unwrap_or_else(|wrong| panic!("{}: {}: {wrong:#}", document.name, part.name));
            }
        }
    }

    #[test]
    fn a_document_says_what_is_wrong_and_where() {
        let of = |part: &str| {
            let head = "name = \"d\"\ntitle = \"t\"\nsource = \"s\"\nquestion = \"q\"\n[[part]]\nname = \"a\"\n\
                        place = \"table 1\"\ntitle = \"t\"\n";
            format!("{:#}", Document::parse("d", &format!("{head}{part}")).expect_err(part))
        };
        for (part, words) in [
            ("study = \"cpus\"", "part a: there is no study 'cpus'"),
            ("", "it has no study; say why"),
            ("rows_of = \"b\"", "rows_of names no part"),
            ("absent = \"x\"\ntables = [\"none.csv\"]", "none.csv"),
            ("study = \"cpu\"\nset = { depths = [1] }", "no such factor"),
            (
                "study = \"cpu\"\n[[part.figure]]\nname = \"f\"\ntitle = \"t\"\nx = \"depth\"\ny = [\"speed\"]",
                "no result 'speed'",
            ),
        ] {
            assert!(of(part).contains(words), "{part}: {}", of(part));
        }
        assert!(format!("{:#}", find("pump").expect_err("none")).contains("there are "));
    }
}
