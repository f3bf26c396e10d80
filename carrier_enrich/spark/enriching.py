"""`carrier_enrich.spark.enrich`: a Spark DataFrame in, the same with carrier data out."""

from __future__ import annotations

import logging
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation names it

from carrier_enrich import frames
from carrier_enrich.accounting import receipt_from
from carrier_enrich.enricher import Enricher, Usd, Watch
from carrier_enrich.errors import BadInput
from carrier_enrich.model import micros_of_usd
from carrier_enrich.progress import watched
from carrier_enrich.receipt import Receipt
from carrier_enrich.settings import Settings
from carrier_enrich.spark.asking import Asking, freshness
from carrier_enrich.spark.joining import Asked, answer_table, said_table
from carrier_enrich.spark.spool import Spool

logger = logging.getLogger("carrier_enrich")

_READABLE = (T.StringType, T.NumericType, T.BinaryType, T.BooleanType)


def enrich(
    df: Any,
    phone: str | Sequence[str],
    *,
    country: str | None = None,
    country_column: str | None = None,
    columns: Sequence[str] = frames.DEFAULT_COLUMNS,
    prefix: str = "",
    max_cost_usd: Usd | None = None,
    on_limit: Literal["raise", "partial"] = "raise",
    settings: Settings | None = None,
    progress: Watch | bool | None = None,
    folder: str | None = None,
    on_receipt: Callable[[Receipt], None] | None = None,
) -> Any:
    """A Spark DataFrame with carrier, number type and region beside every phone number.

    What can be bought is bought before this returns. The frame that is returned is as lazy as any:
    it reads its source again whenever Spark runs it, and a number that was not in the source
    before is `not_checked` then, never given another's answer. Persist a source whose rows change
    from one reading to the next. As any join, this one leaves the rows in no particular order.

    Args:
        df: a Spark or Spark Connect DataFrame; every row and column of it comes back as it was.
            The executors need this package.
        phone: the phone column, or several: text, whole or decimal numbers.
        country: ISO 3166-1 alpha-2; completes numbers written without a country code.
        country_column: the same row by row: codes or English names.
        columns: of carrier, underlying_carrier, number_type, country_code, region, city.
        prefix: before each new column's name.
        max_cost_usd: what this call may cost at most, as text: ``"25"``.
        on_limit: ``"partial"`` returns with `not_checked` rows where a limit stops the buying;
            ``"raise"`` raises, with what came kept in the ledger.
        settings: by default from the environment.
        progress: True shows the buying; a callable is called with a `Progress` whenever it changes.
        folder: a URL that Spark writes to and its executors read, such as ``s3a://bucket/tmp``:
            the answers go there as Parquet files (a new folder, yours to delete when done with
            the frame). Without one, Spark's driver holds them in memory, 12 bytes a number.
        on_receipt: called with the `Receipt`, whose cells and rows are those of the first reading.

    Returns:
        The asked columns and `lookup_status` added, named as `carrier_enrich.enrich` names them.
        A name that differs from another only by its case is taken, as it is for Spark.

    Raises:
        BadInput: the data or an argument can't be used; nothing was run or sent.
        OverBudget, OutOfBalance, QuotaUsedUp, DeadlinePassed, PaidWorkOpen, ServiceError: see
            `carrier_enrich.errors`; a second call pays for the rest only.
    """
    if on_limit not in ("raise", "partial"):
        raise BadInput(f"on_limit is {on_limit!r}: 'raise' or 'partial'")
    asked = _asked(df, phone, country, country_column, columns, prefix)
    cap = None if max_cost_usd is None else micros_of_usd(max_cost_usd)
    with (
        Enricher(settings) as enricher,
        watched(progress) as watch,
        tempfile.TemporaryDirectory(prefix="carrier-enrich-") as place,
        Spool(Path(place)) as spool,
    ):
        fresh = freshness(enricher.settings.required(), time.time())
        for keys, cells in asked.distinct_keys(df):
            spool.add(keys, cells)
        asking = Asking(enricher, spool, asked.fields, fresh)
        outcome = asking.buy(cap=cap, partial=on_limit == "partial", watch=watch)
        spark = df.sparkSession
        own_folder = folder and f"{folder.rstrip('/')}/carrier-enrich-{uuid.uuid4().hex}"
        answers = answer_table(spark, asking.answers(), own_folder)
        receipt = receipt_from(
            outcome,
            enricher.settings.with_cap(cap),
            rows=asking.cells.total() // len(asked.phones),
            phone_columns=len(asked.phones),
            cells=asking.cells,
            distinct=asking.distinct,
            answered=asking.answered,
            blank=asking.blank,
        )
    logger.info("%s", receipt.headline)
    if on_receipt is not None:
        on_receipt(receipt)
    return asked.joined(df, answers, said_table(spark, asking.said, asked.fields))


def _asked(  # noqa: PLR0917 - the arguments of `enrich`, in their order
    df: Any,
    phone: str | Sequence[str],
    country: str | None,
    country_column: str | None,
    columns: str | Sequence[str],
    prefix: str,
) -> Asked:
    """What is asked of a DataFrame, after a look at every name and type of it."""
    names = frames.check_request(df.columns, phone, country, country_column, columns, prefix)
    taken = Counter(name.lower() for name in (*df.columns, *names))
    for name in names:
        if taken[name.lower()] > 1:
            raise BadInput(
                f"the new column {name!r} is taken, because Spark does not tell capitals from "
                "small letters: rename it, or give another prefix"
            )
    phones = (phone,) if isinstance(phone, str) else tuple(phone)
    types = {spec.name: spec.dataType for spec in df.schema.fields}
    for name in (*phones, *([] if country_column is None else [country_column])):
        if not isinstance(types[name], _READABLE):
            what = types[name].simpleString()
            raise BadInput(f"column {name!r} holds {what}: phone numbers are text or integers")
    fields = (columns,) if isinstance(columns, str) else tuple(columns)
    return Asked(phones, country, country_column, fields, names)
