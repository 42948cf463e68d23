//! What a policy says about cached copies.

use super::Dimension;

/// Who shares a cached copy of a route's responses, and how a cache is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Who shares a copy.
    pub scope: Scope,
    /// How a cache is told.
    pub by: CacheBy,
    /// Whether a response must carry the seal of its caller to be let out.
    pub sealed: bool,
    /// The response header in which the origin says whose copy it is.
    pub owner: Option<OwnerRule>,
}

/// Who shares a cached copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everybody, by the policy's own word.
    Public,
    /// The callers who have all of these in common: at least one dimension, none twice.
    Shared(Vec<Dimension>),
}

/// How a cache is told the scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheBy {
    /// By a parameter of the path, which the origin never sees: for Envoy's own caches, whose key is the path.
    #[default]
    Path,
    /// By the header `x-tidegate-scope`: for caches whose key can hold a header.
    Header,
}

/// A response header in which the origin names the owner of what it sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRule {
    /// The name, in lower case.
    pub header: String,
    /// What it names: [`Dimension::Tenant`] where the scope holds it, else [`Dimension::Account`].
    pub names: Dimension,
}

impl Cache {
    /// The dimensions that tell copies apart; none where the copy is everybody's.
    pub fn dimensions(&self) -> &[Dimension] {
        match &self.scope {
            Scope::Public => &[],
            Scope::Shared(dimensions) => dimensions,
        }
    }
}
