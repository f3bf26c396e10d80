"""The resource: how to reach the service, what may be spent, and where files go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import dagster as dg
from pydantic import Field

from carrier_enrich.settings import PREFIX, Settings


class CarrierEnrichResource(dg.ConfigurableResource):  # type: ignore[type-arg]  # is its own value
    """How the assets reach the carrier lookup service.

    What is not given comes from the environment (``CARRIER_ENRICH_...``). Where neither names a
    base URL or a key, a sandbox is started on this machine: made-up answers, play money.

    Give the key as ``dg.EnvVar("CARRIER_ENRICH_API_KEY")`` or leave it to the environment: a key
    written out here would stand in Dagster's pages for all to read.
    """

    base_url: str | None = Field(
        default=None, description="Base address of the service, https://..."
    )
    api_key: str | None = Field(
        default=None, description="The API key; only as an EnvVar, never written out.", repr=False
    )
    ledger: str | None = Field(
        default=None,
        description="Database URL of the ledger: sqlite:///path, or postgresql://... where several "
        "machines share one account.",
        repr=False,
    )
    folder: str | None = Field(
        default=None,
        description="Where the stages keep their files; every process must see it. Empty: the "
        "storage folder of the Dagster instance.",
    )
    max_cost_usd: float | None = Field(default=None, description="A run spends no more than this.")
    price_single_usd: float | None = Field(default=None, description="Price of a single check.")
    price_multi_usd: float | None = Field(
        default=None, description="Price per number of a multi check."
    )
    price_carrier_batch_usd: float | None = Field(
        default=None, description="Price per number of the bulk product carrier_batch."
    )
    price_global_carrier_batch_usd: float | None = Field(
        default=None, description="Price per number of the bulk product global_carrier_batch."
    )
    poll_seconds: float | None = Field(
        default=None,
        description="Seconds between two polls of a bulk task; under 30 on loopback only.",
    )
    deadline_seconds: float | None = Field(
        default=None, description="Seconds that one step may take."
    )
    max_age_days: float | None = Field(
        default=None, description="Answers older than this are bought anew."
    )
    sandbox_folder: str | None = Field(
        default=None,
        description="Where the sandbox keeps its address and its money. Empty: $DAGSTER_HOME, else "
        ".dagster in the current folder.",
    )

    @classmethod
    def from_environment(cls, **fields: Any) -> Self:
        """The resource of the environment, with the key named, not held, where there is one."""
        key = f"{PREFIX}API_KEY"
        if os.environ.get(key):
            fields.setdefault("api_key", dg.EnvVar(key))
        return cls(**fields)

    def settings(self) -> Settings:
        """The settings for this process; starts the sandbox where no service is named.

        Raises:
            BadSettings: a value that can't be used, or half of an address.
            ServiceUnavailable: the sandbox does not start.
        """
        given: dict[str, Any] = {
            name: str(value) if name.endswith("_usd") else value
            for name, value in self._given().items()
        }
        if self.is_sandbox:
            return _sandbox_settings(self._sandbox_folder(), given)
        return Settings.of(**given).required()

    def settings_if_used(self) -> Settings | None:
        """The settings, or None where nothing was bought yet; starts a sandbox only if needed."""
        if self.is_sandbox:
            folder = self._sandbox_folder()
            if not (folder / "ledger.db").exists() and not os.environ.get(f"{PREFIX}LEDGER"):
                return None
        return self.settings()

    @property
    def is_sandbox(self) -> bool:
        """Whether nothing names a service, so that the sandbox answers."""
        environ = os.environ
        named = self.base_url or environ.get(f"{PREFIX}BASE_URL")
        return not (named or self.api_key or environ.get(f"{PREFIX}API_KEY"))

    def files_folder(self, instance: dg.DagsterInstance) -> Path:
        """Where the stages' files go."""
        return Path(self.folder or Path(instance.storage_directory()) / "carrier_enrich")

    def _given(self) -> dict[str, Any]:
        elsewhere = ("folder", "sandbox_folder")
        names = (name for name in type(self).model_fields if name not in elsewhere)
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def _sandbox_folder(self) -> Path:
        return Path(self.sandbox_folder or os.environ.get("DAGSTER_HOME") or ".dagster")


def _sandbox_settings(folder: Path, given: dict[str, Any]) -> Settings:
    from carrier_enrich.dagster.local_sandbox import API_KEY, CONFIG, local_sandbox

    settings: dict[str, Any] = {
        "ledger": os.environ.get(f"{PREFIX}LEDGER") or str(folder.resolve() / "ledger.db"),
        "poll_seconds": CONFIG.poll_seconds,
        "price_single": CONFIG.price_single_micros,
        "price_multi": CONFIG.price_multi_micros,
        "price_global_carrier_batch": CONFIG.price_global_carrier_batch_micros,
    }
    return Settings.of(**settings | given, base_url=local_sandbox(folder), api_key=API_KEY)
