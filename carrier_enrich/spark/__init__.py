"""The same enrichment of a Spark DataFrame, for data beyond one machine (extra ``spark``).

Executors read the phone cells, and Spark finds the distinct numbers and joins the answers. Only
the distinct numbers come to the process that calls `enrich`, in slices that pass through a file;
it alone asks the ledger and the service. Nothing here needs a Spark context, so a Spark Connect
session does as well as one in this process.
"""

from carrier_enrich.spark.enriching import enrich
from carrier_enrich.spark.machine import set_up_local

__all__ = ["enrich", "set_up_local"]
