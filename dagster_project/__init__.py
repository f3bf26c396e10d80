"""A Dagster code location over `carrier_enrich.dagster`: wiring only."""
