"""What one run may set in the Launchpad."""

# No `from __future__ import annotations`: Dagster reads the annotations of configs as types.

import dagster as dg
from pydantic import Field

from carrier_enrich.dagster.stages import Request
from carrier_enrich.model import micros_of_usd


class PlanConfig(dg.Config):
    """What one run may change of an enrichment; everything empty is as the project defines it."""

    phone: list[str] = Field(
        default=[],
        description="Phone columns of the export, as [mobile, office_phone]. Empty: as the project "
        "defines.",
    )
    country: str = Field(
        default="",
        description="ISO 3166-1 alpha-2 code, as US, that completes numbers written without a "
        "country code. Empty: as the project defines.",
    )
    country_column: str = Field(
        default="",
        description="A column with each row's country, as code or English name. Empty: as the "
        "project defines.",
    )
    max_cost_usd: float | None = Field(
        default=None,
        description="Cap of this run in USD: a run that may cost more stops before it sends. "
        "Not given: as the project defines.",
    )

    def request(self, default: Request) -> Request:
        """The request of this run."""
        cap = self.max_cost_usd
        return Request(
            phone=tuple(self.phone) or default.phone,
            country=self.country or default.country,
            country_column=self.country_column or default.country_column,
            columns=default.columns,
            prefix=default.prefix,
            max_cost=default.max_cost if cap is None else micros_of_usd(str(cap)),
        )


class EnrichedConfig(dg.Config):
    """Where one run writes an enriched file."""

    target: str = Field(
        default="",
        description="Path of the enriched file, Parquet or CSV. Empty: beside the run's other "
        "files; where the export is a frame, the IO manager decides.",
    )


class ExportConfig(dg.Config):
    """Which export one run takes."""

    path: str = Field(
        default="", description="Path of a Parquet or CSV file. Empty: as the project defines."
    )
