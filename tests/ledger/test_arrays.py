"""Numbers by the hundred thousand between numpy and a database."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich.ledger.arrays import pairs_of

E164 = st.integers(1, 10**15 - 1)
IDS = st.integers(1, 2**62)


@given(st.dictionaries(E164, IDS, max_size=40))
def test_packed_pairs_hold_every_number_with_its_own_value(pairs):
    """However far apart keys and values lie: unpacked, each pair is there once, in order."""
    keys = np.array(sorted(pairs), np.int64)
    values = np.array([pairs[key] for key in sorted(pairs)], np.int64)
    found = []
    for part in pairs_of(keys, values):
        assert part.packed.min() >= 0
        found += [
            (part.first + (one >> part.bits), part.low + (one & part.mask))
            for one in part.packed.tolist()
        ]
    assert found == sorted(pairs.items())
