//! What the filter does, in place of Tidegate's roles.

use core::cell::Cell;

use crate::callbacks::{Action, Stream};
use crate::{calls, host, pairs};

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Nothing,
    Refuse,
    Calls,
    CallsAndRefuse,
}

/// A mount of the filter.
pub(crate) struct Root {
    task: Cell<Task>,
}

impl Root {
    pub(crate) fn new() -> Self {
        Self {
            task: Cell::new(Task::Nothing),
        }
    }

    pub(crate) fn on_configure(&self) -> bool {
        self.task.set(
            match host::plugin_configuration().unwrap_or_default().as_slice() {
                b"" => Task::Nothing,
                b"refuse" => Task::Refuse,
                b"calls" => Task::Calls,
                b"calls and refuse" => Task::CallsAndRefuse,
                _ => return false,
            },
        );
        true
    }

    pub(crate) fn stream(&self, number: u32) -> Option<Box<dyn Stream>> {
        let task = self.task.get();
        Some(Box::new(One { task, number }))
    }

    pub(crate) fn on_tick(&self) {}

    pub(crate) fn on_queue_ready(&self) {}

    pub(crate) fn on_call_response(&self, _call: u32, _lines: usize, _length: usize) {}

    pub(crate) fn end(&self) {}
}

/// One request and its response.
struct One {
    task: Task,
    number: u32,
}

impl Stream for One {
    fn on_request_headers(&mut self, _: bool) -> Action {
        match self.task {
            Task::Nothing => return Action::Continue,
            Task::Calls => {
                calls::on_request(self.number);
                return Action::Continue;
            }
            Task::Refuse => {
                let _ = host::send_response(429, "", &pairs::write(&[]), &[], -1);
            }
            Task::CallsAndRefuse => calls::on_refusal(),
        }
        Action::Pause
    }

    fn on_response_headers(&mut self, _: bool) -> Action {
        if self.task == Task::Calls {
            calls::on_response();
        }
        Action::Continue
    }
}
