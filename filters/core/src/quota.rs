//! How much a bucket holds and how fast it refills, in units that cannot be mixed up.

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Nanoseconds in a millisecond.
pub const NANOS_PER_MILLI: u64 = 1_000_000;

/// The largest Integer of a structured field (RFC 9651, section 3.3.1); larger numbers cannot be sent.
pub const MAX_INTEGER: u64 = 999_999_999_999_999;

/// The fastest rate: 1,000,000 units per second. A unit then takes 1,000 ns, so that rounding an
/// interval up to a whole nanosecond makes a limit at most 0.1 % stricter than it was written.
pub const MAX_UNITS_PER_SEC: u64 = 1_000_000;

/// The longest time that a bucket may take to refill: 366 days, in nanoseconds. It keeps every sum of
/// a time and a wait far inside 64 bits.
pub const MAX_REFILL_NANOS: u64 = 366 * 86_400 * NANOS_PER_SEC;

/// The period of a [`Rate`]; the number is its length in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Period {
    /// One second, written `s`.
    Second = NANOS_PER_SEC,
    /// 60 seconds, written `min`.
    Minute = 60 * NANOS_PER_SEC,
    /// 3,600 seconds, written `h`.
    Hour = 3_600 * NANOS_PER_SEC,
    /// 86,400 seconds, written `day`.
    Day = 86_400 * NANOS_PER_SEC,
}

impl Period {
    /// The length in nanoseconds.
    pub const fn nanos(self) -> u64 {
        self as u64
    }

    /// The unit as a policy writes it.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Minute => "min",
            Self::Hour => "h",
            Self::Day => "day",
        }
    }
}

/// `units` per `period`, as written in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    units: u64,
    period: Period,
}

/// Why a rate, or a rate with a burst, cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaError {
    /// The rate is zero: nothing would ever be admitted, and zero is never "unlimited".
    ZeroRate,
    /// More than [`MAX_UNITS_PER_SEC`].
    RateTooFast,
    /// The burst is zero: the first request would never be admitted.
    ZeroBurst,
    /// The burst is above [`MAX_INTEGER`].
    BurstTooLarge,
    /// The bucket would take longer than [`MAX_REFILL_NANOS`] to refill.
    RefillTooLong,
}

impl Rate {
    /// `units` per `period`.
    ///
    /// # Errors
    /// [`QuotaError::ZeroRate`] and [`QuotaError::RateTooFast`].
    pub fn new(units: u64, period: Period) -> Result<Self, QuotaError> {
        if units == 0 {
            return Err(QuotaError::ZeroRate);
        }
        let most = MAX_UNITS_PER_SEC.saturating_mul(period.nanos() / NANOS_PER_SEC);
        if units > most {
            return Err(QuotaError::RateTooFast);
        }
        Ok(Self { units, period })
    }

    /// How many units come back in one period.
    pub const fn units(self) -> u64 {
        self.units
    }

    /// The period.
    pub const fn period(self) -> Period {
        self.period
    }

    /// The time in which `units` come back, in nanoseconds, rounded up: a limit is never looser than written.
    pub fn nanos_for(self, units: u64) -> u64 {
        let nanos = u128::from(units).saturating_mul(u128::from(self.period.nanos()));
        u64::try_from(nanos.div_ceil(u128::from(self.units.max(1)))).unwrap_or(u64::MAX)
    }

    /// One minute's worth of units, at least 1: the burst of a limit that names none.
    pub fn minutes_worth(self) -> u64 {
        let units = u128::from(self.units).saturating_mul(u128::from(Period::Minute.nanos()));
        let worth = units
            .checked_div(u128::from(self.period.nanos()))
            .unwrap_or(1);
        u64::try_from(worth).unwrap_or(MAX_INTEGER).max(1)
    }
}

impl core::fmt::Display for Rate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.units, self.period.unit())
    }
}

/// A rate and a burst: what one bucket is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    rate: Rate,
    burst: u64,
    interval: u64,
    capacity: u64,
}

impl Quota {
    /// A bucket of `burst` units that refills at `rate`.
    ///
    /// # Errors
    /// [`QuotaError::ZeroBurst`], [`QuotaError::BurstTooLarge`] and [`QuotaError::RefillTooLong`].
    pub fn new(rate: Rate, burst: u64) -> Result<Self, QuotaError> {
        if burst == 0 {
            return Err(QuotaError::ZeroBurst);
        }
        if burst > MAX_INTEGER {
            return Err(QuotaError::BurstTooLarge);
        }
        let interval = rate.nanos_for(1);
        let capacity = interval.saturating_mul(burst);
        if capacity > MAX_REFILL_NANOS {
            return Err(QuotaError::RefillTooLong);
        }
        Ok(Self {
            rate,
            burst,
            interval,
            capacity,
        })
    }

    /// The rate.
    pub const fn rate(self) -> Rate {
        self.rate
    }

    /// How many units a full bucket holds: 1 to [`MAX_INTEGER`].
    pub const fn burst(self) -> u64 {
        self.burst
    }

    /// The time in which one unit comes back, in nanoseconds: at least 1,000.
    pub const fn interval(self) -> u64 {
        self.interval
    }

    /// The time in which an empty bucket refills, in nanoseconds: `burst` intervals,
    /// at most [`MAX_REFILL_NANOS`].
    pub const fn capacity(self) -> u64 {
        self.capacity
    }
}
