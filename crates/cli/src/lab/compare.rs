//! `pump lab compare`: what two files of rows say of each other.
//!
//! Must not know: how rows are compared.

use datapump::Status;
use datapump_lab::{Comparison, NothingInCommon};

use super::refuse;
use crate::args::LabCompareArguments;
use crate::json;
use crate::output::{Output, empty_report};

/// Gives the exit status.
pub fn compare(arguments: &LabCompareArguments, output: &Output) -> i32 {
    match datapump_lab::compare(&arguments.a, &arguments.b, arguments.metric) {
        // That nothing could be judged is not done what was asked.
        Ok(comparison) if comparison.is_empty() => {
            output.line("pump: nothing could be judged: that takes three runs of a cell in each file");
            print(&comparison, Status::Failed, output)
        }
        Ok(comparison) => print(&comparison, Status::Done, output),
        Err(error) if error.is::<NothingInCommon>() => refuse(&error, Status::Usage, output),
        Err(error) => refuse(&error, Status::Failed, output),
    }
}

fn print(comparison: &Comparison, status: Status, output: &Output) -> i32 {
    if output.json {
        comparison.warnings.iter().for_each(|words| output.line(&format!("pump: warning: {words}")));
        output.result(&json::comparison(comparison));
        output.result(&json::report(&empty_report(status as i32, None)));
    } else {
        output.bytes(comparison.to_string().as_bytes());
    }
    status as i32
}
