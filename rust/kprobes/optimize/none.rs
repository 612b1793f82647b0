// SPDX-License-Identifier: GPL-2.0

//! A kernel in which no jump replaces a breakpoint: there is nothing to do.

use crate::registry::prelude::*;

impl Change<'_> {
    pub(crate) fn make_room<'p>(&mut self, _points: &mut dyn Iterator<Item = PointRef<'p>>) {}

    pub(crate) fn leave<'p>(&mut self, _points: &mut dyn Iterator<Item = PointRef<'p>>) {}

    pub(crate) fn forget(&mut self, _point: PointRef<'_>) {}

    pub(crate) fn consider<'p>(&mut self, _points: &mut dyn Iterator<Item = PointRef<'p>>) {}

    pub(crate) fn reconsider(&mut self, _addresses: &mut dyn Iterator<Item = TextAddr>) {}
}
