//! What the gate tells the role `origin` and caches about a request.

/// What to make of a request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// What a cache may do with it.
    pub usage: Use,
    /// The marker stands in the path, to be taken out before the application.
    pub marked: bool,
    /// The marker stands in a header, by which the response varies.
    pub varies: bool,
    /// The caller authenticated with `Authorization` (RFC 9111, section 3.5), whether or not it is still there.
    pub authorized: bool,
    /// The scope names the account: the copy is one caller's own.
    pub own: bool,
}

/// What a cache may do with a request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Keep one copy for each marker.
    Scoped,
    /// Keep one copy for everybody.
    Public,
    /// Neither answer from a copy nor keep one.
    Bypass,
    /// Whatever it would without us: the route is in shadow.
    Off,
}

const USES: [(Use, &str); 4] = [
    (Use::Scoped, "scoped"),
    (Use::Public, "public"),
    (Use::Bypass, "bypass"),
    (Use::Off, "off"),
];

const MARKED: &[u8] = b"path";
const VARIES: &[u8] = b"header";
const AUTHORIZED: &[u8] = b"authorized";
const OWN: &[u8] = b"own";

impl Use {
    /// The word that a header has for it.
    pub fn word(self) -> &'static str {
        USES.into_iter()
            .find(|(usage, _)| *usage == self)
            .map_or("", |(_, word)| word)
    }
}

impl Instruction {
    /// An instruction without flags.
    pub const fn new(usage: Use) -> Self {
        Self {
            usage,
            marked: false,
            varies: false,
            authorized: false,
            own: false,
        }
    }

    /// As a header's value: the use, and flags behind semicolons, such as `scoped;path;own`.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut text = Vec::with_capacity(32);
        text.extend_from_slice(self.usage.word().as_bytes());
        for (set, flag) in [
            (self.marked, MARKED),
            (self.varies, VARIES),
            (self.authorized, AUTHORIZED),
            (self.own, OWN),
        ] {
            if set {
                text.push(b';');
                text.extend_from_slice(flag);
            }
        }
        text
    }

    /// Reads a header's value; `None` if it is not one that [`Instruction::to_bytes`] writes.
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut words = text.split(|byte| *byte == b';');
        let first = words.next()?;
        let (usage, _) = USES
            .into_iter()
            .find(|(_, word)| word.as_bytes() == first)?;
        let mut instruction = Self::new(usage);
        for word in words {
            match word {
                MARKED => instruction.marked = true,
                VARIES => instruction.varies = true,
                AUTHORIZED => instruction.authorized = true,
                OWN => instruction.own = true,
                _ => return None,
            }
        }
        Some(instruction)
    }
}
