"""The columns of the CRM's exports that matter here, and whose they are."""

from typing import TypedDict


class Columns(TypedDict):
    """Arguments of `build_enrichment_assets`."""

    phone: tuple[str, ...]
    country_column: str


COLUMNS = Columns(phone=("mobile", "office_phone"), country_column="country")

#: Whom Dagster shows beside each asset.
OWNERS = ("team:crm",)
