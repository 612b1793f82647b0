// SPDX-License-Identifier: GPL-2.0

//! A kernel in which no jump replaces a breakpoint: these functions do nothing else.

use crate::registry::prelude::*;

impl Change<'_> {
    pub(crate) fn remove_jumps_over<'p>(&mut self, _: &mut dyn Iterator<Item = PointRef<'p>>) {}

    pub(crate) fn remove_jumps<'p>(&mut self, _: &mut dyn Iterator<Item = PointRef<'p>>) {}

    pub(crate) fn remove_jumps_and_disarm<'p>(
        &mut self,
        _: &mut dyn Iterator<Item = PointRef<'p>>,
        disarm: impl FnOnce(&mut Self),
    ) {
        disarm(self);
    }

    pub(crate) fn forget_jump(&mut self, _: PointRef<'_>) {}

    pub(crate) fn try_to_optimize<'p>(&mut self, _: &mut dyn Iterator<Item = PointRef<'p>>) {}

    pub(crate) fn try_to_optimize_all(&mut self) {}

    pub(crate) fn reconsider(&mut self, _: &mut dyn Iterator<Item = TextAddr>) {}
}
