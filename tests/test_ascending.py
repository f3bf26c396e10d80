"""Sets of numbers as ascending arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from carrier_enrich.ascending import are_in, common, distinct, without

NUMBERS = st.lists(st.integers(1, 60))


@given(NUMBERS, NUMBERS)
def test_they_are_what_sets_are(some, others):
    """Membership, what is common, and what is left, as Python's sets have them."""
    one, other = (distinct(np.array(values, np.int64)) for values in (some, others))
    assert one.tolist() == sorted(set(some))
    assert common(one, other).tolist() == sorted(set(some) & set(others))
    assert without(one, other).tolist() == sorted(set(some) - set(others))
    values = np.array(some, np.int64)
    assert are_in(values, other).tolist() == [value in set(others) for value in some]
