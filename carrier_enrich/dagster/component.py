"""The enrichment as a component: the same assets from a few lines of YAML."""

# No `from __future__ import annotations`: Dagster reads the annotations of components as types.

import os

import dagster as dg
from dagster.components import scaffold_component
from pydantic import BaseModel, Field

from carrier_enrich.dagster.assets import build_enrichment_assets
from carrier_enrich.dagster.automation import (
    build_bulk_task_poller,
    build_jobs,
    build_settle_job,
)
from carrier_enrich.dagster.resource import CarrierEnrichResource
from carrier_enrich.frames import DEFAULT_COLUMNS
from carrier_enrich.settings import PREFIX


class EnrichmentParams(BaseModel):
    """What `dg scaffold defs` asks for."""

    source: str = Field(default="contacts", description="Asset with the phone numbers.")
    phone: str = Field(default="phone", description="Its phone column.")


class EnrichmentScaffolder(dg.Scaffolder[EnrichmentParams]):
    """Writes a `defs.yaml` that is complete."""

    @classmethod
    def get_scaffold_params(cls) -> type[EnrichmentParams]:
        """What is asked for."""
        return EnrichmentParams

    def scaffold(self, request: dg.ScaffoldRequest[EnrichmentParams]) -> None:
        """Write the file."""
        given = request.params
        scaffold_component(request, {"source": given.source, "phone": [given.phone]})


@dg.scaffold_with(EnrichmentScaffolder)
class CarrierEnrichmentComponent(dg.Component, dg.Model, dg.Resolvable):
    """Carrier, number type and region beside every phone number of another asset.

    The API key stands in an environment variable, which is named here; it never stands here
    itself. Without that variable and a base URL a sandbox answers: made-up answers, play money.
    """

    source: str = Field(
        description="Asset with the phone numbers: it yields a DataFrame, an Arrow table, or the "
        "path of a Parquet or CSV file.",
        examples=["contacts", "crm/contacts"],
    )
    phone: list[str] = Field(description="Its phone columns.", examples=[["mobile", "office"]])
    name: str = Field(default="crm_enriched", description="Name of the enriched asset.")
    key_prefix: list[str] = Field(default=[], description="Stands before the names of all assets.")
    group_name: str = Field(default="carrier", description="Group of the assets.")
    owners: list[str] = Field(
        default=[], description="Owners of the assets.", examples=[["team:crm", "ann@example.com"]]
    )
    io_manager_key: str | None = Field(
        default=None, description="IO manager of the enriched asset; empty: the project's own."
    )
    country: str | None = Field(
        default=None,
        description="ISO 3166-1 alpha-2 code that completes numbers without a country code.",
    )
    country_column: str | None = Field(
        default=None, description="Column with each row's country, as code or English name."
    )
    columns: list[str] = Field(default=list(DEFAULT_COLUMNS), description="Columns to add.")
    prefix: str = Field(default="", description="Stands before the names of the added columns.")
    max_cost_usd: float | None = Field(default=None, description="Cap of each run in USD.")
    min_match_rate: float = Field(
        default=0.5, description="Share of found numbers below which match_rate warns."
    )
    base_url: str | None = Field(
        default=None,
        description=f"Base address of the service; empty: {PREFIX}BASE_URL.",
    )
    api_key_env: str = Field(
        default=f"{PREFIX}API_KEY",
        description="Name of the environment variable that holds the API key.",
    )
    ledger: str | None = Field(
        default=None, description=f"Database URL of the ledger; empty: {PREFIX}LEDGER."
    )
    job: str | None = Field(
        default=None,
        description="Name of a job over the assets, which gets a detached sibling and a poller.",
    )

    def build_defs(
        self,
        context: dg.ComponentLoadContext | None,  # noqa: ARG002 - Dagster gives it; nothing here needs it
    ) -> dg.Definitions:
        """The assets, their resource and, where asked for, the jobs with their poller."""
        key = "_".join(["carrier", *self.key_prefix, self.name])
        assets = build_enrichment_assets(
            dg.AssetKey.from_user_string(self.source),
            self.phone,
            name=self.name,
            key_prefix=self.key_prefix,
            country=self.country,
            country_column=self.country_column,
            columns=self.columns,
            prefix=self.prefix,
            max_cost_usd=None if self.max_cost_usd is None else str(self.max_cost_usd),
            min_match_rate=self.min_match_rate,
            group_name=self.group_name,
            owners=self.owners,
            io_manager_key=self.io_manager_key,
            resource_key=key,
        )
        made = dg.Definitions(assets=assets, resources={key: self._resource()})
        if self.job is None:
            return made
        jobs = build_jobs(self.job, assets, f"{self.name}: carrier data beside phone numbers.")
        settle = build_settle_job(name=f"{self.job}_settle", resource_key=key)
        poller = build_bulk_task_poller(
            [jobs], settle, name=f"{self.job}_bulk_task_poller", resource_key=key
        )
        return dg.Definitions.merge(made, dg.Definitions(jobs=[*jobs, settle], sensors=[poller]))

    def _resource(self) -> CarrierEnrichResource:
        # The key is named in what Dagster shows, and read where it is used.
        key = dg.EnvVar(self.api_key_env) if os.environ.get(self.api_key_env) else None
        return CarrierEnrichResource(base_url=self.base_url, api_key=key, ledger=self.ledger)
