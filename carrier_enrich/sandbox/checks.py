"""Single and multi checks (spec, Endpoints)."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from carrier_enrich.sandbox.allocation import Allocation, allocation_of, is_undetermined
from carrier_enrich.sandbox.config import SandboxConfig
from carrier_enrich.sandbox.limits import NUMBERS_PER_MULTI_CHECK, Slots
from carrier_enrich.sandbox.refusals import (
    BAD_JSON,
    BAD_NUMBER,
    BAD_REQUEST,
    NO_BALANCE,
    TIMED_OUT,
    UNDETERMINED,
    Refused,
)
from carrier_enrich.sandbox.store import Store
from carrier_enrich.sandbox.task_files import e164_digits

_SERVICE_TYPE = "carrier"


class Checks:
    """The synchronous half of the service.

    Attributes:
        slots: the requests in flight.
    """

    def __init__(self, store: Store, config: Callable[[], SandboxConfig]) -> None:
        self._store = store
        self._config = config
        self._held: Counter[str] = Counter()
        self._turn = itertools.count()
        self.slots = Slots()

    def held(self, account: str) -> int:
        """Micros set aside for the checks in flight of an account."""
        return self._held[account]

    def slot(self, account: str, *, multi: bool) -> Any:
        """A slot for one check, as a context manager; raises Refused (42901)."""
        return self.slots.taken(account, multi=multi, enforce=self._config().enforce_limits)

    async def single(self, account: str, body: bytes, delay: float = 0.0) -> dict[str, Any]:
        """The data of a single check; `delay` is time that it takes beside the configured."""
        config = self._config()
        identifier = _fields(body, required="identifier", foreign="identifiers")
        if not isinstance(identifier, str):
            raise Refused(BAD_REQUEST, "identifier must be a string")
        digits = e164_digits(identifier)
        if digits is None:
            raise Refused(BAD_NUMBER, "invalid phone number")
        price = config.price_single_micros
        with self._holding(account, price):
            await _work(config.single_seconds + delay, config.single_limit_seconds)
            if is_undetermined(digits, config.undetermined_share):
                raise Refused(UNDETERMINED, "the number cannot be determined now")
            self._store.charge(account, "single_check", price, [digits])
        flat = self._is_flat(config, next(self._turn))
        common = {"service_type": _SERVICE_TYPE, "identifier": f"+{digits}"}
        return common | described(allocation_of(digits), flat=flat)

    async def multi(self, account: str, body: bytes, delay: float = 0.0) -> dict[str, Any]:
        """The data of a multi check; `delay` as in `single`."""
        config = self._config()
        identifiers = _fields(body, required="identifiers", foreign="identifier")
        if not isinstance(identifiers, list) or not all(isinstance(i, str) for i in identifiers):
            raise Refused(BAD_REQUEST, "identifiers must be an array of strings")
        if not 1 <= len(identifiers) <= NUMBERS_PER_MULTI_CHECK:
            raise Refused(BAD_REQUEST, f"1 to {NUMBERS_PER_MULTI_CHECK} identifiers")
        numbers = [e164_digits(identifier) for identifier in identifiers]
        if None in numbers and config.malformed_refuses_multi:
            raise Refused(BAD_NUMBER, "invalid phone number")
        price = config.price_multi_micros
        with self._holding(account, price * len(numbers)):
            await _work(config.multi_seconds + delay, config.multi_limit_seconds)
            answered = [
                digits
                if digits is not None and not is_undetermined(digits, config.undetermined_share)
                else None
                for digits in numbers
            ]
            checked = [digits for digits in answered if digits is not None]
            self._store.charge(account, "multi_check", price, checked)
        entries = [
            _entry(identifier, digits, flat=self._is_flat(config, position))
            for position, (identifier, digits) in enumerate(zip(identifiers, answered, strict=True))
        ]
        return {
            "service_type": _SERVICE_TYPE,
            "total": len(entries),
            "succeeded": len(checked),
            "failed": len(entries) - len(checked),
            "results": entries,
        }

    @contextmanager
    def _holding(self, account: str, micros: int) -> Iterator[None]:
        """Set the highest possible cost aside, so that checks in flight never overspend."""
        if self._store.balance(account) - self._held[account] < micros:
            raise Refused(NO_BALANCE, "insufficient balance")
        self._held[account] += micros
        try:
            yield
        finally:
            self._held[account] -= micros

    @staticmethod
    def _is_flat(config: SandboxConfig, position: int) -> bool:
        return config.shape == "B" or (config.shape == "mixed" and position % 2 == 1)


def described(allocation: Allocation, *, flat: bool) -> dict[str, Any]:
    """The lookup data in shape A (nested) or B (flat) (spec, Single check result)."""
    data = {
        "carrier": allocation.carrier,
        "number_type": allocation.number_type,
        "country_code": allocation.country_code,
        "region": allocation.region,
        "city": allocation.city,
    }
    if flat:
        return {"underlying_carrier": allocation.underlying_carrier} | data
    return {"registered": allocation.registered, "extra": data}


def _entry(identifier: str, digits: str | None, *, flat: bool) -> dict[str, Any]:
    common = {"identifier": identifier, "exists": digits is not None}
    return common if digits is None else common | described(allocation_of(digits), flat=flat)


async def _work(seconds: float, limit: float) -> None:
    if seconds:
        await asyncio.sleep(min(seconds, limit))
    if seconds > limit:
        raise Refused(TIMED_OUT, "the check did not finish within the time limit")


def _fields(body: bytes, *, required: str, foreign: str) -> Any:
    """The number field of a check request, once its other fields are found right."""
    try:
        fields = json.loads(body)
    except ValueError:
        raise Refused(BAD_JSON, "the body is no JSON") from None
    if not isinstance(fields, Mapping):
        raise Refused(BAD_JSON, "the body is no JSON object")
    if fields.get("service_type") != _SERVICE_TYPE:
        raise Refused(BAD_REQUEST, "unsupported service_type")
    if foreign in fields:
        raise Refused(BAD_REQUEST, f"{foreign} does not belong to this request")
    if required not in fields:
        raise Refused(BAD_REQUEST, f"{required} is missing")
    return fields[required]
