//! A canary: a policy enforced for a share of callers that grows in steps, as long as no bound is broken.

mod bounds;
mod figures;
mod files;
mod hold;
mod looks;
mod outside;
mod promote;
mod stop;
mod walk;

pub(crate) use bounds::{Bounds, Broken};
pub(crate) use figures::Figures;
pub(crate) use walk::{Ended, Event, Left, Plan, Told, Walk};

use std::str::FromStr;

/// The steps: shares in percent, each larger than the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steps(Vec<u8>);

impl Steps {
    /// The shares.
    pub(crate) fn shares(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "it is not a list of shares; write whole percents from 1 to 100 that grow, like `5,25,100`"
                .to_owned()
        };
        let mut shares: Vec<u8> = Vec::new();
        for share in text.split(',') {
            let share: u8 = share.trim().parse().map_err(|_| wrong())?;
            if !(1..=100).contains(&share) || shares.last().is_some_and(|last| *last >= share) {
                return Err(wrong());
            }
            shares.push(share);
        }
        Ok(Self(shares))
    }
}

#[cfg(test)]
mod tests {
    use super::Steps;

    #[test]
    fn shares_grow() {
        assert_eq!("5, 25,100".parse::<Steps>().unwrap().shares(), [5, 25, 100]);
        for text in ["", "0", "101", "25,5", "5,5", "5,", "5%", "-1"] {
            assert!(text.parse::<Steps>().is_err(), "{text}");
        }
    }
}
