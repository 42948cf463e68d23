//! Who was refused: noted in memory for each request, told to the other workers and to operators once a second.

use tidegate_core::engine::Decision;
use tidegate_core::ledger::{Example, Line, drive};
use tidegate_core::ruling::Ruling;

use crate::gate::Gate;
use crate::host::{self, Level, Map};

/// The header in which a trace is passed on (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

/// The example that a request gives whose headers can be read, or of which the id alone is known.
pub(crate) fn example(id: Option<&[u8]>) -> Example {
    let parent = host::header(Map::Request, TRACEPARENT);
    Example::of(parent.as_deref(), id)
}

impl Gate {
    /// Notes whom a decision refuses, if anybody.
    pub(crate) fn note_refused(
        &self,
        decision: &Decision<'_>,
        ruling: Ruling<'_>,
        id: Option<&[u8]>,
    ) {
        let recent = &mut *self.recent.borrow_mut();
        recent.note(decision, ruling, self.asked.get(), || example(id));
    }

    /// Tells the other workers what this one has seen.
    pub(crate) fn tell_refused(&self, now: u64) {
        let recent = &mut *self.recent.borrow_mut();
        if recent.is_empty() {
            return;
        }
        let (store, _) = &mut *self.state.borrow_mut();
        let told = drive::tell(store, &self.policy, recent, now);
        self.log_refused(&told.lines);
        self.metrics.count_untracked(told.lost);
        if told.failed > 0 {
            self.metrics.count_store_error();
        }
    }

    pub(crate) fn log_refused(&self, lines: &[Line]) {
        for line in lines {
            host::log(Level::Warn, &line.json(&self.policy));
        }
    }
}
