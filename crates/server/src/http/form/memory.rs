//! The memory of a form while it arrives.

use std::sync::Arc;

use app::{Client, FairPermit, FairSemaphore, Holder};

/// A unit of the budgets of requests, in bytes.
pub(crate) const UNIT: usize = 1024;

/// Forms up to this size, in bytes, are not counted: the connection limit bounds their sum.
pub(crate) const SMALL_FORM: usize = 4 * 1024;

/// What a form reserves at a time, in units.
const FORM_STEP: usize = 16;

/// The memory of a form, released when dropped.
pub(crate) struct FormMemory {
    source: Option<Source>,
    permit: Option<FairPermit>,
    used: usize,
    reserved: usize,
}

struct Source {
    budget: Arc<FairSemaphore>,
    holder: Arc<Holder>,
    client: Client,
}

impl FormMemory {
    /// Of a form that arrives on a connection, whose holder loses it with the memory.
    pub(crate) fn of(budget: Arc<FairSemaphore>, holder: Arc<Holder>, client: Client) -> Self {
        Self { source: Some(Source { budget, holder, client }), ..Self::uncounted() }
    }

    /// Of a form that arrives from no connection.
    pub(crate) fn uncounted() -> Self {
        Self { source: None, permit: None, used: 0, reserved: SMALL_FORM }
    }

    /// Counts bytes that the form keeps from now on; `false` if there is no memory for them.
    #[must_use]
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        self.used += bytes;
        let Some(Source { budget, holder, client }) = &self.source else { return true };
        if self.used <= self.reserved {
            return true;
        }
        let units = (self.used - self.reserved).div_ceil(FORM_STEP * UNIT) * FORM_STEP;
        let is_granted = match &mut self.permit {
            Some(permit) => permit.try_grow(units),
            None => {
                self.permit = budget.try_acquire_for(holder, *client, units);
                self.permit.is_some()
            }
        };
        self.reserved += units * UNIT;
        is_granted
    }

    #[cfg(test)]
    pub(crate) fn is_counted(&self) -> bool {
        self.permit.is_some()
    }
}
