"""Frames in and out: distinct numbers down, answers joined back."""

from carrier_enrich.frames.joining import Join, by_status, join_back, status_counts
from carrier_enrich.frames.kinds import column_labels
from carrier_enrich.frames.names import (
    DEFAULT_COLUMNS,
    STATUS_COLUMN,
    check_request,
    phone_positions,
    position,
)
from carrier_enrich.frames.walk import (
    INVALID,
    MISSING,
    Crosswalk,
    Demand,
    PhoneColumn,
    crosswalk,
    digest_of,
)

__all__ = [
    "DEFAULT_COLUMNS",
    "INVALID",
    "MISSING",
    "STATUS_COLUMN",
    "Crosswalk",
    "Demand",
    "Join",
    "PhoneColumn",
    "by_status",
    "check_request",
    "column_labels",
    "crosswalk",
    "digest_of",
    "join_back",
    "phone_positions",
    "position",
    "status_counts",
]
