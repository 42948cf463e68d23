//! The root context: one for each mount and VM. It reads the policy and makes a context for each stream.

use core::cell::OnceCell;
use std::rc::Rc;

use tidegate_core::policy::{Policy, json_of_struct};

use crate::admin::{self, Admin};
use crate::callbacks::Stream;
use crate::gate::{self, Gate};
use crate::host::{self, Level};
use crate::origin::{self, Origin};
use crate::packed;

/// How often a gate is called without a request, in milliseconds.
const TICK_MILLIS: u32 = 1000;

/// A mount of the module.
pub(crate) struct Root {
    /// None before there is a policy.
    role: OnceCell<Role>,
}

/// What a mount does.
enum Role {
    Gate(Rc<Gate>),
    Origin(Origin),
    Admin(Rc<Admin>),
}

impl Root {
    pub(crate) fn new() -> Self {
        Self {
            role: OnceCell::new(),
        }
    }

    /// Reads the mount's role and policy.
    ///
    /// # Errors
    /// Every reason why this mount cannot be served, a line each.
    fn configure() -> Result<Role, Vec<String>> {
        let role = host::property(b"plugin_root_id").unwrap_or_default();
        match role.as_slice() {
            b"gate" | b"origin" | b"admin" => {}
            other => {
                return Err(vec![format!(
                    "root_id `{}` is not a role; write `gate`, `origin` or `admin`",
                    String::from_utf8_lossy(other)
                )]);
            }
        }
        let document = host::plugin_configuration()
            .map_err(|_| vec!["the configuration of the plugin cannot be read".to_owned()])?;
        // Envoy hands over a `StringValue` as its text, and a `Struct` as the bytes of the message.
        let document = json_of_struct(&document).unwrap_or(document);
        let policy = match packed::packed() {
            Some(packed) => packed.policy(&document),
            None => Policy::parse(&document),
        };
        let policy = policy
            .map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        if role == b"origin" {
            return Ok(Role::Origin(Origin::new(&policy)));
        }
        if role == b"admin" {
            let admin = Admin::new(policy).map_err(|error| vec![error])?;
            return Ok(Role::Admin(Rc::new(admin)));
        }
        let gate = Gate::new(policy).map_err(|error| vec![error])?;
        host::log(
            Level::Info,
            &format!("tidegate: {} is in force", gate.shown()),
        );
        if host::set_tick(TICK_MILLIS).is_err()
            && (gate.policy.records() || gate.policy.notify.is_some())
        {
            return Err(vec![
                "the host keeps no time for this mount, so records would never end and nobody be told of refusals".to_owned(),
            ]);
        }
        Ok(Role::Gate(Rc::new(gate)))
    }

    /// Reads the policy; `false` where it cannot be served, with the reasons in the log.
    pub(crate) fn on_configure(&self) -> bool {
        match Self::configure() {
            Ok(role) => {
                // A mount is configured once: the host makes another for another policy.
                self.role.set(role).is_ok()
            }
            Err(reasons) => {
                for reason in reasons {
                    host::log(Level::Error, &format!("tidegate: {reason}"));
                }
                false
            }
        }
    }

    /// A context for a stream; `None` of a mount without a policy, through which no request goes.
    pub(crate) fn stream(&self, number: u32) -> Option<Box<dyn Stream>> {
        Some(match self.role.get()? {
            Role::Gate(gate) => Box::new(gate::Stream::new(Rc::clone(gate), number)),
            Role::Origin(origin) => Box::new(origin::Stream::new(*origin)),
            Role::Admin(admin) => Box::new(admin::Stream::new(Rc::clone(admin))),
        })
    }

    /// The gate, if that is the mount's role: the others have work with streams alone.
    fn gate(&self) -> Option<&Gate> {
        match self.role.get() {
            Some(Role::Gate(gate)) => Some(gate),
            _ => None,
        }
    }

    pub(crate) fn on_tick(&self) {
        if let Some(gate) = self.gate() {
            gate.tick();
        }
    }

    pub(crate) fn on_queue_ready(&self) {
        if let Some(gate) = self.gate() {
            gate.make_calls();
        }
    }

    pub(crate) fn on_call_response(&self, call: u32, lines: usize, length: usize) {
        if let Some(gate) = self.gate()
            && !gate.notified(call)
        {
            gate.called(call, lines, length);
        }
    }

    /// The host deletes the mount.
    pub(crate) fn end(&self) {
        if let Some(gate) = self.gate() {
            gate.end();
        }
    }
}
