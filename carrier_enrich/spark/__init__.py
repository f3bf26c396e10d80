"""The same enrichment of a Spark DataFrame, for data beyond one machine (extra ``spark``).

Executors read the phone cells, and Spark finds the distinct numbers and joins the answers. Only
the distinct numbers come to the process that calls `enrich`, in slices that pass through a file;
it alone asks the ledger and the service. Nothing here needs a Spark context, so a Spark Connect
session does as well as one in this process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrier_enrich.spark.enriching import enrich
    from carrier_enrich.spark.machine import set_up_local

__all__ = ["enrich", "set_up_local"]

# Loaded when asked for: an executor, which passes here too, needs neither engine nor ledger.
_HOMES = {"enrich": "enriching", "set_up_local": "machine"}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
