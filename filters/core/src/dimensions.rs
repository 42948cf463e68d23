//! What a request is told apart by: the key of each dimension, made once and used by every limit.

use crate::identity::{Identity, Part};
use crate::key::{Key, Parts, Secret};
use crate::policy::{Dimension, Route};
use crate::request::Request;

/// The methods that are told apart; all others count as one, because a caller can make up any number.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

/// How many dimensions are kept: all but `header:NAME`.
const KEPT: usize = 7;

/// The dimensions of one request.
pub(crate) struct Dimensions<'a> {
    secret: Secret,
    identity: &'a Identity<'a>,
    request: &'a Request<'a>,
    route: Option<&'a Route>,
    /// What was found so far, by [`tag`].
    known: [Option<Option<Key>>; KEPT],
    parts: Parts,
}

/// The tag of a dimension in keys.
const fn tag(dimension: &Dimension) -> u8 {
    match dimension {
        Dimension::Tenant => 0,
        Dimension::Account => 1,
        Dimension::Plan => 2,
        Dimension::Address => 3,
        Dimension::Route => 4,
        Dimension::Method => 5,
        Dimension::Host => 6,
        Dimension::Header(_) => 7,
    }
}

/// Where a dimension stands in an order of all.
fn order(dimension: &Dimension) -> (u8, &str) {
    let name = match dimension {
        Dimension::Header(name) => name,
        _ => "",
    };
    (tag(dimension), name)
}

impl<'a> Dimensions<'a> {
    pub(crate) fn new(
        secret: Secret,
        identity: &'a Identity<'a>,
        request: &'a Request<'a>,
        route: Option<&'a Route>,
    ) -> Self {
        Self {
            secret,
            identity,
            request,
            route,
            known: [None; KEPT],
            parts: Parts::new(),
        }
    }

    /// Who is calling.
    pub(crate) const fn identity(&self) -> &'a Identity<'a> {
        self.identity
    }

    /// The key of the caller's bucket in a limit by `per`, in which `otherwise` stands in for what is absent;
    /// `None` where that is absent too, and nothing tells the caller from others.
    pub(crate) fn key(&mut self, per: &[Dimension], otherwise: &Dimension) -> Option<Key> {
        if let [only] = per
            && let Some(key) = self.find(only)
        {
            return Some(key);
        }
        // Few limits go by more than these, and those that do pay for it.
        let (mut few, mut many) = ([(0, Key::ZERO); KEPT], Vec::new());
        let keys = match few.get_mut(..per.len()) {
            Some(few) => few,
            None => {
                many.resize(per.len(), (0, Key::ZERO));
                many.as_mut_slice()
            }
        };
        for (dimension, place) in per.iter().zip(keys.iter_mut()) {
            // What stands in brings its own tag: it is never taken for what it stands in for.
            *place = match self.find(dimension) {
                Some(key) => (tag(dimension), key),
                None => (tag(otherwise), self.find(otherwise)?),
            };
        }
        self.parts.clear();
        for (tag, key) in keys {
            self.parts.push_key(*tag, *key);
        }
        Some(self.secret.key(&self.parts))
    }

    /// Writes the values of dimensions into `parts`, each behind its tag; `false` if one is absent.
    pub(crate) fn write_all(&mut self, dimensions: &[Dimension], parts: &mut Parts) -> bool {
        dimensions.iter().all(|dimension| {
            self.parts.clear();
            let present = self.write(dimension);
            parts.push(tag(dimension), self.parts.as_bytes());
            present
        })
    }

    /// As [`Dimensions::write_all`], in an order of its own: whoever names the same dimensions writes the same.
    pub(crate) fn write_set(&mut self, dimensions: &[Dimension], parts: &mut Parts) -> bool {
        let mut dimensions = dimensions.to_vec();
        dimensions.sort_unstable_by(|one, other| order(one).cmp(&order(other)));
        self.write_all(&dimensions, parts)
    }

    /// The key of a dimension; `None` if it is absent.
    fn find(&mut self, dimension: &Dimension) -> Option<Key> {
        let place = usize::from(tag(dimension));
        if let Some(Some(known)) = self.known.get(place) {
            return *known;
        }
        self.parts.clear();
        let key = self.write(dimension).then(|| self.secret.key(&self.parts));
        if let Some(known) = self.known.get_mut(place) {
            *known = Some(key);
        }
        key
    }

    /// Writes the value of a dimension into the parts; `false` if it is absent.
    fn write(&mut self, dimension: &Dimension) -> bool {
        let parts = &mut self.parts;
        let tag = tag(dimension);
        let mut part = |part: Option<&Part<'_>>| part.inspect(|part| part.push_to(parts)).is_some();
        match dimension {
            Dimension::Tenant => part(self.identity.tenant.as_ref()),
            Dimension::Account => part(self.identity.account.as_ref()),
            Dimension::Plan => part(self.identity.plan.as_ref()),
            Dimension::Address => {
                let address = self.identity.address();
                address.inspect(|address| address.push_to(parts)).is_some()
            }
            Dimension::Route => {
                // That no route matched is a fact like another; no route's name is empty.
                let name = self.route.map_or(&[][..], |route| route.name.as_bytes());
                parts.push(tag, name);
                true
            }
            Dimension::Method => {
                let known = METHODS.iter().map(|method| method.as_bytes());
                let method = { known }.find(|method| *method == self.request.method);
                parts.push(tag, method.unwrap_or_default());
                true
            }
            Dimension::Host => {
                let host = self.request.host();
                parts.push(tag, &host);
                !host.is_empty()
            }
            Dimension::Header(name) => {
                parts.push(tag, name.as_bytes());
                let lines = self.request.lines(name).map(<[u8]>::trim_ascii);
                let mut present = false;
                for line in lines.filter(|line| !line.is_empty()) {
                    parts.push(tag, line);
                    present = true;
                }
                present
            }
        }
    }
}
