"""Raw cells of any type as the text to normalise."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrier_enrich.phones import Reason, normalise, text_of


def outcome(text: str | None, country: str | None) -> int | Reason:
    """The number, or the reason why there is none."""
    done = normalise([text], country)
    return int(done.numbers[0]) or tuple(Reason)[done.reasons[0]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (float("nan"), None),
        (np.float32("nan"), None),
        (np.datetime64("NaT"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (Decimal("NaN"), None),
        (pa.scalar(None), None),
        ("+1 415", "+1 415"),
        (b"+1 415", "+1 415"),
        (np.str_("+1 415"), "+1 415"),
        (pa.scalar("+1 415"), "+1 415"),
        (14155550123, "14155550123"),
        (np.int64(14155550123), "14155550123"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (14155550123.0, "14155550123"),
        (np.float64(14155550123.0), "14155550123"),
        (np.float32(4155550), "4155550"),
        (pa.scalar(14155550123.0), "14155550123"),
        (Decimal(14155550123), "14155550123"),
        (Decimal("14155550123.00"), "14155550123"),
    ],
)
def test_cells_become_text(value, text):
    """A cell of any type becomes the text that it stands for, or None where it is missing."""
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (True, Reason.NOT_A_NUMBER),
        (np.bool_(True), Reason.NOT_A_NUMBER),
        (dt.date(2024, 1, 31), Reason.NOT_A_NUMBER),
        (np.datetime64("2024-01-31"), Reason.NOT_A_NUMBER),
        ([14155550123], Reason.NOT_A_NUMBER),
        (float("inf"), Reason.NOT_A_NUMBER),
        (14155550123.5, Reason.PRECISION_LOST),
        (1e20, Reason.PRECISION_LOST),
        (2.0**53, Reason.PRECISION_LOST),
        (np.float32(14155550123), Reason.PRECISION_LOST),
        (np.float16(4096), Reason.PRECISION_LOST),
        (Decimal("1.41556E+10"), Reason.PRECISION_LOST),
        pytest.param(10**5000, Reason.TOO_LONG, id="huge"),
    ],
)
def test_cells_that_hold_no_number(value, reason):
    """A cell whose type can't hold a number, or no longer holds all of it, is never sent."""
    text = text_of(value)
    assert text is not None
    assert outcome(text, "US") is reason


@settings(deadline=None)
@given(st.integers(10**6, 10**15 - 1), st.sampled_from([None, "US", "DE", "GB"]))
def test_integers_floats_and_text_agree(number, country):
    """One number is the same number as an integer, a float, a decimal, and text of each."""
    cells = [number, np.int64(number), float(number), Decimal(number), f"{number}", f"{number}.0"]
    assert len({outcome(text_of(cell), country) for cell in cells}) == 1
