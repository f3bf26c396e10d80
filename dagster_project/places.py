"""Where this project finds exports and keeps what must outlive a run.

Environment: ``DAGSTER_HOME`` for state; ``CRM_EXPORT`` for the export of a run that names none;
``CRM_EXPORTS`` for the folder with exports by day in ``daily``, and others in ``new``.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from carrier_enrich.dagster import CarrierEnrichResource
from carrier_enrich.errors import BadInput

#: Invented contacts, and how many of them each day's export has: some leave, some come.
_CONTACTS, _DAILY, _MOVED = 3_000, 800, 20


def home() -> Path:
    """The folder of the sandbox, its ledger, invented exports and the stages' tables."""
    given = os.environ.get("DAGSTER_HOME")
    return Path(given) if given else Path(__file__).resolve().parents[1] / ".dagster"


def exports() -> Path:
    """The folder into which the CRM puts its exports."""
    given = os.environ.get("CRM_EXPORTS")
    return Path(given) if given else home() / "exports"


def new_exports() -> Path:
    """The folder of exports that come at any time."""
    return exports() / "new"


def export_on_demand() -> Path:
    """The export of a run that names none."""
    given = os.environ.get("CRM_EXPORT")
    return Path(given) if given else _invented("crm_export", 0, 6_000)


def export_of(day: str) -> Path:
    """The export of a day, ``YYYY-MM-DD``: ``daily/crm_export_YYYY-MM-DD`` as Parquet or CSV."""
    name = f"crm_export_{day}"
    for suffix in (".parquet", ".csv"):
        path = exports() / "daily" / f"{name}{suffix}"
        if path.exists():
            return path
    moved = date.fromisoformat(day).toordinal() * _MOVED % (_CONTACTS - _DAILY)
    return _invented(name, moved, _DAILY)


def _invented(name: str, start: int, rows: int) -> Path:
    """An invented export where the sandbox answers; the paid service is not asked about it."""
    if not CarrierEnrichResource().is_sandbox:
        raise BadInput(
            f"there is no export {name}: give its path in the Launchpad, or set CRM_EXPORT "
            "(a file) or CRM_EXPORTS (a folder)"
        )
    from carrier_enrich.files import write_table
    from carrier_enrich.sandbox.crm_export import crm_export

    path = home() / "samples" / f"{name}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(crm_export(max(_CONTACTS, rows)).slice(start, rows), path)
    return path
