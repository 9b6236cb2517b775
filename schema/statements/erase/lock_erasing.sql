-- One at a time looks which values are referred to: what another one notes meanwhile would be overlooked.
lock table cairn.erasing in share row exclusive mode
