// SPDX-License-Identifier: Apache-2.0
//! [`Finding`]: one line of the doctor.

use serde::Serialize;

/// How good it is; the worst of all is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Fit = 0,
    Remark = 1,
    Unfit = 2,
}

impl State {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Remark => "remark",
            Self::Unfit => "UNFIT",
        }
    }
}

/// What was found, why it matters, and what mends it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    /// What was looked at: stable, for machines to select by.
    pub(super) name: &'static str,
    pub(super) state: State,
    /// The machine's own words or figures.
    pub(super) found: String,
    pub(super) why: String,
    /// A command, where one helps.
    pub(super) mend: Option<String>,
}

impl Finding {
    pub(super) fn fit(name: &'static str, found: impl Into<String>, why: &str) -> Self {
        Self {
            name,
            state: State::Fit,
            found: found.into(),
            why: why.to_owned(),
            mend: None,
        }
    }

    pub(super) fn remark(name: &'static str, found: impl Into<String>, why: &str) -> Self {
        Self {
            state: State::Remark,
            ..Self::fit(name, found, why)
        }
    }

    pub(super) fn unfit(name: &'static str, found: impl Into<String>, why: &str) -> Self {
        Self {
            state: State::Unfit,
            ..Self::fit(name, found, why)
        }
    }

    pub(super) fn mend(self, command: impl Into<String>) -> Self {
        Self {
            mend: Some(command.into()),
            ..self
        }
    }
}
