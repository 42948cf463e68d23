//! From a document's text to a policy, or to all of its mistakes.

use deserr::ValuePointerRef;

use super::Policy;
use super::compile::compile;
use super::document::Document;
use super::faults::Faults;
use super::json::{self, Json};
use super::mistake::Mistake;
use super::not_enforced::not_enforced;
use super::read::read;

/// What a document means, whether or not this version enforces all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The policy, without the parts that are not enforced yet.
    pub policy: Policy,
    /// One entry for each part that is not enforced yet; [`Policy::parse`] refuses a document with any.
    pub not_enforced: Vec<Mistake>,
}

/// A document as far as it could be read.
struct Examined {
    json: Option<Json>,
    policy: Option<Policy>,
    faults: Faults,
    not_enforced: Faults,
}

impl Policy {
    /// The policy of a document that is to be enforced: JSON text of at most
    /// [`MAX_DOCUMENT_BYTES`](super::MAX_DOCUMENT_BYTES).
    ///
    /// # Errors
    /// Every mistake of the document in one pass, in the order in which it reads (at most 256), and an entry for each
    /// part that this version understands and does not enforce. The list is never empty.
    ///
    /// # Examples
    /// ```
    /// use tidegate_core::policy::Policy;
    ///
    /// let policy = Policy::parse(br#"{"policy": "shop", "version": "1", "limits": {
    ///     "address": {"per": ["address"], "rate": "60/min"}}, "always": ["address"]}"#).unwrap();
    /// assert_eq!(policy.limits[0].quota.burst(), 60);
    ///
    /// let mistakes = Policy::parse(br#"{"policy": "shop", "version": "1", "limits": {
    ///     "address": {"per": ["address"], "rate": "60/minute"}}}"#).unwrap_err();
    /// assert_eq!(
    ///     mistakes[0].to_string(),
    ///     "`$.limits.address.rate`: `60/minute` is not a rate; \
    ///      write a number and a unit, like `60/min` (units: s, min, h, day)"
    /// );
    /// ```
    pub fn parse(text: &[u8]) -> Result<Self, Vec<Mistake>> {
        let Examined {
            json,
            policy,
            mut faults,
            not_enforced,
        } = examine(text);
        faults.append(not_enforced);
        match policy {
            Some(policy) if faults.is_empty() => Ok(policy),
            _ => Err(faults.into_mistakes(json.as_ref())),
        }
    }

    /// Like [`Policy::parse`], for tools that look at documents: parts that are not enforced yet are listed
    /// and refuse nothing.
    ///
    /// # Errors
    /// Every mistake of the document. The list is never empty.
    pub fn check(text: &[u8]) -> Result<Checked, Vec<Mistake>> {
        let Examined {
            json,
            policy,
            faults,
            not_enforced,
        } = examine(text);
        match policy {
            Some(policy) if faults.is_empty() => Ok(Checked {
                policy,
                not_enforced: not_enforced.into_mistakes(json.as_ref()),
            }),
            _ => Err(faults.into_mistakes(json.as_ref())),
        }
    }
}

fn examine(text: &[u8]) -> Examined {
    let mut faults = Faults::default();
    let mut examined = Examined {
        json: read(text, &mut faults),
        policy: None,
        faults,
        not_enforced: Faults::default(),
    };
    let Some(json) = &mut examined.json else {
        return examined;
    };
    json::audit(json, ValuePointerRef::Origin, &mut examined.faults);
    if let Some(document) = document(json, &mut examined.faults) {
        not_enforced(&document, &mut examined.not_enforced);
        examined.policy = compile(document, &mut examined.faults);
    }
    examined
}

/// Reads the document. What has the wrong shape is reported and taken out, so that the rest can be read.
fn document(json: &mut Json, faults: &mut Faults) -> Option<Document> {
    let first: Result<Document, Faults> = deserr::deserialize(json.clone());
    let wrong = match first {
        Ok(document) => return Some(document),
        Err(wrong) => wrong,
    };
    wrong.prune(json);
    faults.append(wrong);
    if faults.full() {
        return None;
    }
    let rest: Result<Document, Faults> = deserr::deserialize(json.clone());
    rest.ok()
}
