//! Who is refused most, as the role `admin` tells it: [`ask`]s for it, makes a [`table`] of it, and shows it on a [`screen`].

pub(crate) mod ask;
pub(crate) mod screen;
pub(crate) mod table;
