//! The root context: one for each mount and VM. It reads the policy and makes a context for each stream.

use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{Action, ContextType};
use tidegate_core::policy::{Policy, json_of_struct};

use crate::admin::{self, Admin};
use crate::gate::{self, Gate};
use crate::host::{self, Level};
use crate::origin::{self, Origin};
use crate::packed;
use crate::pairs;

/// How often a gate is called without a request, in milliseconds.
const TICK_MILLIS: u32 = 1000;

/// A mount of the module.
pub(crate) struct Root {
    role: Option<Role>,
}

/// What a mount does.
enum Role {
    Gate(Rc<Gate>),
    Origin(Origin),
    Admin(Rc<Admin>),
}

impl Root {
    pub(crate) fn new() -> Self {
        Self { role: None }
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
}

impl Context for Root {
    fn on_http_call_response(&mut self, number: u32, lines: usize, length: usize, _: usize) {
        if let Some(Role::Gate(gate)) = &self.role
            && !gate.notified(number)
        {
            gate.called(number, lines, length);
        }
    }
}

/// Dropped when the host deletes the mount. It says before that the mount is done, but would say so of each stream too.
impl Drop for Root {
    fn drop(&mut self) {
        if let Some(Role::Gate(gate)) = &self.role {
            gate.end();
        }
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, _: usize) -> bool {
        match Self::configure() {
            Ok(role) => {
                self.role = Some(role);
                true
            }
            Err(reasons) => {
                for reason in reasons {
                    host::log(Level::Error, &format!("tidegate: {reason}"));
                }
                false
            }
        }
    }

    fn on_queue_ready(&mut self, _: u32) {
        if let Some(Role::Gate(gate)) = &self.role {
            gate.make_calls();
        }
    }

    fn on_tick(&mut self) {
        if let Some(Role::Gate(gate)) = &self.role {
            gate.tick();
        }
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, number: u32) -> Option<Box<dyn HttpContext>> {
        match &self.role {
            Some(Role::Gate(gate)) => Some(Box::new(gate::Stream::new(Rc::clone(gate), number))),
            Some(Role::Origin(origin)) => Some(Box::new(origin::Stream::new(*origin))),
            Some(Role::Admin(admin)) => Some(Box::new(admin::Stream::new(Rc::clone(admin)))),
            None => Some(Box::new(Unconfigured)),
        }
    }
}

/// A stream of a mount without a policy. The host makes none, since it refused the configuration; should it ever,
/// no request goes through.
struct Unconfigured;

impl Context for Unconfigured {}

impl HttpContext for Unconfigured {
    fn on_http_request_headers(&mut self, _: usize, _: bool) -> Action {
        let _ = host::send_response(503, "tidegate_unconfigured", &pairs::write(&[]), &[], -1);
        Action::Pause
    }
}
