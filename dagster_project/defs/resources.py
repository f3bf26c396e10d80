"""The account: of the environment, else the sandbox of this machine."""

import dagster as dg

from carrier_enrich.dagster import CarrierEnrichResource
from dagster_project import places


@dg.definitions
def resources() -> dg.Definitions:
    """The resource of all assets and sensors."""
    home = str(places.home())
    return dg.Definitions(
        resources={
            "carrier": CarrierEnrichResource.from_environment(sandbox_folder=home, folder=home)
        }
    )
