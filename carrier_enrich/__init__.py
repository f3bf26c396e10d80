"""Carrier, line type and region beside every phone number, paid for once.

>>> import carrier_enrich as ce
>>> out = ce.enrich(df, phone="phone")  # doctest: +SKIP

The names below load what they need at first use, so importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carrier_enrich.api import enrich, plan
    from carrier_enrich.client import CarrierClient
    from carrier_enrich.enricher import Enricher
    from carrier_enrich.errors import CarrierEnrichError
    from carrier_enrich.model import BulkTask, Lookup, LookupStatus, Product
    from carrier_enrich.planning import Plan
    from carrier_enrich.receipt import Receipt
    from carrier_enrich.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "BulkTask",
    "CarrierClient",
    "CarrierEnrichError",
    "Enricher",
    "Lookup",
    "LookupStatus",
    "Plan",
    "Product",
    "Receipt",
    "Settings",
    "enrich",
    "plan",
]

_HOMES = {
    "BulkTask": "model",
    "CarrierClient": "client",
    "CarrierEnrichError": "errors",
    "Enricher": "enricher",
    "Lookup": "model",
    "LookupStatus": "model",
    "Plan": "planning",
    "Product": "model",
    "Receipt": "receipt",
    "Settings": "settings",
    "enrich": "api",
    "plan": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'carrier_enrich' has no attribute {name!r}")
    return getattr(import_module(f"carrier_enrich.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
