"""Frames in and out: distinct numbers down, answers joined back."""

from carrier_enrich.frames.kinds import column_labels
from carrier_enrich.frames.names import DEFAULT_COLUMNS, STATUS_COLUMN, check_request
from carrier_enrich.frames.walk import (
    INVALID,
    MISSING,
    Crosswalk,
    PhoneColumn,
    crosswalk,
    join_back,
    status_counts,
)

__all__ = [
    "DEFAULT_COLUMNS",
    "INVALID",
    "MISSING",
    "STATUS_COLUMN",
    "Crosswalk",
    "PhoneColumn",
    "check_request",
    "column_labels",
    "crosswalk",
    "join_back",
    "status_counts",
]
