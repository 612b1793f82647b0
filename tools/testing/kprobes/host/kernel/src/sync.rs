// SPDX-License-Identifier: GPL-2.0

//! Values that are set once, and RCU.

use std::sync::OnceLock;

pub struct SetOnce<T>(OnceLock<T>);

impl<T> SetOnce<T> {
    #[expect(clippy::new_without_default, reason = "as in the kernel crate")]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Sets it; tells whether it was not set before.
    pub fn populate(&self, value: T) -> bool {
        self.0.set(value).is_ok()
    }

    pub fn as_ref(&self) -> Option<&T> {
        self.0.get()
    }
}

pub mod rcu {
    use crate::{
        alloc,
        events::{self, Event},
    };

    pub struct Guard(());

    pub fn read_lock() -> Guard {
        Guard(())
    }

    /// A grace period: what was handed over before it began is freed.
    pub fn synchronize_rcu() {
        let waiting = alloc::handed_over();
        events::during(Event::GracePeriod, || alloc::free_all(waiting));
    }
}
