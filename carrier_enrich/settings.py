"""Configuration: from arguments, else from the environment, else a default."""

from __future__ import annotations

import hashlib
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from carrier_enrich.errors import BadInput, BadSettings
from carrier_enrich.model import BULK_MIN, Product, micros_of_usd

PREFIX = "CARRIER_ENRICH_"

#: Seconds between two polls of one task, at least (spec, Limits).
POLL_SECONDS_MIN = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How to reach the service, what it costs, and where to remember.

    `Settings.of(...)` fills what is not given from the environment (``CARRIER_ENRICH_`` and the
    name in capitals; prices end in ``_USD``). Prices and caps are micros of USD here, None where
    not known. Times are seconds unless named otherwise. `batch_rows` is how many rows of a file
    are in memory at once, at most.

    Raises:
        BadSettings: a value that can't be used; named, with what to do.
    """

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    ledger: str = field(default="", repr=False)
    poll_seconds: float = POLL_SECONDS_MIN
    max_cost: int | None = None
    price_single: int | None = None
    price_multi: int | None = None
    price_carrier_batch: int | None = None
    price_global_carrier_batch: int | None = 1_000
    bulk_product: Literal["auto", "global_carrier_batch", "carrier_batch"] = "auto"
    bulk_from: int = BULK_MIN
    bulk_at_once: int = 100
    max_age_days: float = 365.0
    deadline_seconds: float = 86_400.0
    key_trust_seconds: float = 86_400.0
    pace: Literal["polite", "fast"] = "polite"
    batch_rows: int = 1 << 18
    allow_plain_http: bool = False

    def __post_init__(self) -> None:
        if self.base_url:
            object.__setattr__(self, "base_url", _checked_base_url(self))
        if self.poll_seconds < POLL_SECONDS_MIN and not self.is_loopback:
            raise BadSettings(
                f"poll_seconds is {self.poll_seconds:g}: the service allows one poll of a task "
                f"per {POLL_SECONDS_MIN:g} s; less is possible only on a loopback base_url"
            )
        if self.bulk_from < BULK_MIN:
            raise BadSettings(
                f"bulk_from is {self.bulk_from}: a bulk task takes at least {BULK_MIN} numbers"
            )
        if self.bulk_product not in ("auto", *Product):
            raise BadSettings(f"bulk_product is {self.bulk_product!r}: auto, {', '.join(Product)}")
        if self.pace not in ("polite", "fast"):
            raise BadSettings(f"pace is {self.pace!r}: polite or fast")
        above_zero = ("poll_seconds", "max_age_days", "deadline_seconds", "bulk_at_once")
        for name in (*above_zero, "batch_rows"):
            if not getattr(self, name) > 0:
                raise BadSettings(f"{name} must be above zero")

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """Settings from arguments, else the environment, else defaults.

        Amounts may be given as ``max_cost_usd="25"`` or, in micros, ``max_cost=25_000_000``.
        """
        environ = os.environ if environ is None else environ
        names = {spec.name: spec for spec in fields(cls)}
        values: dict[str, Any] = {}
        for name, spec in names.items():
            is_money = name == "max_cost" or name.startswith("price_")
            key = f"{PREFIX}{name.upper()}{'_USD' if is_money else ''}"
            text = environ.get(key, "").strip()
            if text:
                values[name] = _parsed(key, text, is_money, spec.default)
        for name, value in given.items():
            if name.endswith("_usd") and name[:-4] in names:
                values[name[:-4]] = None if value is None else micros_of_usd(value)
            elif name in names:
                values[name] = value
            else:
                raise BadSettings(f"there is no setting {name!r}; known: {', '.join(names)}")
        return cls(**values)

    def with_cap(self, max_cost: int | None) -> Settings:
        """The same with another cap (micros), None keeping today's."""
        return self if max_cost is None else replace(self, max_cost=max_cost)

    def required(self) -> Settings:
        """Itself, or BadSettings where the service can't be reached without more."""
        if not self.base_url:
            raise BadSettings(
                "no base URL: set CARRIER_ENRICH_BASE_URL (or try `carrier-enrich sandbox`)"
            )
        if not self.api_key:
            raise BadSettings("no API key: set CARRIER_ENRICH_API_KEY or pass api_key")
        if not self.api_key.isascii() or not self.api_key.isprintable() or " " in self.api_key:
            raise BadSettings("the API key holds characters that no header can carry")
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether the base URL is this machine."""
        return _is_loopback(urlsplit(self.base_url).hostname or "")

    @property
    def service(self) -> str:
        """A name for the service whose answers these are: a digest of the base URL."""
        return hashlib.sha256(self.base_url.encode()).hexdigest()[:32]

    @property
    def account(self) -> str:
        """A name for the account whose limits these are: a digest of base URL and key."""
        return hashlib.sha256(f"{self.base_url}\n{self.api_key}".encode()).hexdigest()[:32]

    @property
    def ledger_url(self) -> str:
        """The ledger's database URL; by default SQLite in the user's data folder."""
        if self.ledger:
            return self.ledger if "://" in self.ledger else f"sqlite:///{self.ledger}"
        from platformdirs import user_data_path

        return f"sqlite:///{user_data_path('carrier-enrich', appauthor=False) / 'ledger.db'}"

    @property
    def spool(self) -> Path:
        """The folder for downloaded result files, private to the user."""
        from platformdirs import user_cache_path

        prefix = "sqlite:///"
        url = self.ledger_url
        if url.startswith(prefix):
            return Path(url.removeprefix(prefix)).with_suffix(".spool")
        return user_cache_path("carrier-enrich", appauthor=False) / "spool"

    def bulk_price(self, product: Product) -> int | None:
        """Micros per number of a bulk product, None where not known."""
        if product is Product.CARRIER_BATCH:
            return self.price_carrier_batch
        return self.price_global_carrier_batch


def _checked_base_url(settings: Settings) -> str:
    parts = urlsplit(settings.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadSettings("base_url must be http(s)://host[:port][/path]")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadSettings("base_url must hold no user, password, query or fragment")
    plain = parts.scheme == "http" and not _is_loopback(parts.hostname)
    if plain and not settings.allow_plain_http:
        raise BadSettings(
            "base_url is plain http to another machine, which shows the API key to the network: "
            "use https, or set allow_plain_http"
        )
    return settings.base_url.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parsed(key: str, text: str, is_money: bool, default: object) -> object:
    try:
        if is_money:
            return micros_of_usd(text)
        if isinstance(default, bool):
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
                text.lower()
            ]
        if isinstance(default, (int, float)):
            return type(default)(text)
    except (KeyError, ValueError, BadInput):
        raise BadSettings(f"{key} can't be read: {text!r}") from None
    return text
