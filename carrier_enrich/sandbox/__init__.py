"""The carrier lookup service on loopback: the whole specification, and its failures at will.

An independent reading of the service's specification. It answers from public allocation tables
and made-up carriers, charges play money, and says ``X-Sandbox: true`` on everything, so that
nobody takes it for the paid service.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carrier_enrich.sandbox.allocation import Allocation, allocation_of, is_undetermined
    from carrier_enrich.sandbox.config import SandboxConfig
    from carrier_enrich.sandbox.control import SandboxControl
    from carrier_enrich.sandbox.server import RunningSandbox, running_sandbox, serve

__all__ = [
    "Allocation",
    "RunningSandbox",
    "SandboxConfig",
    "SandboxControl",
    "allocation_of",
    "is_undetermined",
    "running_sandbox",
    "serve",
]

_HOMES = {
    "Allocation": "allocation",
    "RunningSandbox": "server",
    "SandboxConfig": "config",
    "SandboxControl": "control",
    "allocation_of": "allocation",
    "is_undetermined": "allocation",
    "running_sandbox": "server",
    "serve": "server",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
