"""Which calls buy a set of numbers: pure, from numbers, limits and prices to calls.

A country with many unknown numbers goes to bulk tasks; everything else, countries mixed, to
multi checks; one number left alone to a single check where that is not dearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carrier_enrich.model import (
    BULK_MAX_BYTES,
    BULK_MIN,
    MULTI_CHECK_MAX,
    Call,
    CallKind,
    Countries,
    Int64s,
    Product,
)
from carrier_enrich.settings import Settings

#: Bytes of the longest line of an uploaded file: plus, 15 digits, line feed.
_LINE_MAX = 17


@dataclass(frozen=True, slots=True)
class Rules:
    """What routing goes by. Prices are micros of USD a number, None where not known.

    Attributes:
        bulk_from: numbers of a country from which on they go to bulk tasks.
        product: the bulk product to take, None where no usable one has a known price.
        singles_beside: whether single checks go beside the multi check (`fast` pace).
        one_task_at_once: bulk tasks run one after the other, so that a task of the few numbers
            that are over costs more time than checks of them.
    """

    bulk_from: int = BULK_MIN
    product: Product | None = Product.GLOBAL_CARRIER_BATCH
    price_bulk: int | None = 1_000
    price_single: int | None = None
    price_multi: int | None = None
    singles_beside: bool = False
    one_task_at_once: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Rules:
        """The rules that settings ask for."""
        product = _product(settings)
        return cls(
            bulk_from=settings.bulk_from,
            product=product,
            price_bulk=settings.bulk_price(product) if product else None,
            price_single=settings.price_single,
            price_multi=settings.price_multi,
            singles_beside=settings.pace == "fast"
            and not _dearer(settings.price_single, settings.price_multi),
            one_task_at_once=settings.bulk_at_once == 1,
        )

    @property
    def task_max(self) -> int:
        """Numbers of a bulk task at most: the product's limit and the file size."""
        assert self.product is not None
        return min(self.product.max_numbers, BULK_MAX_BYTES // _LINE_MAX)


def route(numbers: Int64s, countries: Countries, rules: Rules) -> tuple[Call, ...]:
    """The calls that buy these numbers, each number in exactly one: bulk tasks, then checks.

    The largest tasks come first, so that those which are under way together end together.

    Args:
        numbers: distinct E.164 integers, ascending.
        countries: the country of each, aligned.
    """
    tasks: list[Call] = []
    checked = np.ones(len(numbers), bool)
    if rules.product is not None:
        sizes = np.bincount(countries.codes[countries.codes >= 0], minlength=len(countries.names))
        for code in np.flatnonzero(sizes >= rules.bulk_from).tolist():
            members = np.flatnonzero(countries.codes == code)
            members = members[: len(members) - _over(len(members), rules)]
            tasks += bulk_tasks(numbers[members], countries.names[code], rules)
            checked[members] = False
    tasks.sort(key=lambda call: len(call.numbers), reverse=True)
    return (*tasks, *checks(numbers[checked], rules))


def bulk_tasks(numbers: Int64s, country: str, rules: Rules) -> list[Call]:
    """The fewest bulk tasks, of even size, within the product's limit and the file size."""
    return [
        Call(
            CallKind.BULK_TASK,
            part,
            rules.product,
            country,
            cost(len(part), rules.price_bulk),
        )
        for part in np.array_split(numbers, -(-len(numbers) // rules.task_max))
    ]


def _over(count: int, rules: Rules) -> int:
    """Numbers of a country that are left to checks: fewer than a task, after full ones.

    Only where tasks run one by one, and a check is not dearer.
    """
    over = count % rules.task_max
    alone = rules.one_task_at_once and count > rules.task_max and over < BULK_MIN
    return over if alone and not _dearer(rules.price_multi, rules.price_bulk) else 0


def checks(numbers: Int64s, rules: Rules) -> list[Call]:
    """Multi checks of 100 and one of the rest."""
    return [
        check(numbers[start : start + MULTI_CHECK_MAX], rules)
        for start in range(0, len(numbers), MULTI_CHECK_MAX)
    ]


def check(numbers: Int64s, rules: Rules) -> Call:
    """The check that buys up to 100 numbers."""
    if len(numbers) == 1 and not _dearer(rules.price_single, rules.price_multi):
        return Call(CallKind.SINGLE_CHECK, numbers, highest_cost=cost(1, rules.price_single))
    return Call(CallKind.MULTI_CHECK, numbers, highest_cost=cost(len(numbers), rules.price_multi))


def fitted(call: Call, micros: int) -> Call | None:
    """The same call with as many of its numbers as `micros` can pay; None where it can't be."""
    if call.highest_cost is None:
        return None
    price = call.highest_cost // len(call.numbers)
    count = len(call.numbers) if price == 0 else min(len(call.numbers), micros // price)
    if count < (BULK_MIN if call.kind is CallKind.BULK_TASK else 1):
        return None
    return Call(call.kind, call.numbers[:count], call.product, call.country, count * price)


def cost(count: int, price: int | None) -> int | None:
    """Micros that `count` numbers cost at most."""
    return None if price is None else count * price


def highest_cost(calls: Sequence[Call]) -> int | None:
    """Micros that the calls cost at most together; None where a price is not known."""
    costs = [call.highest_cost for call in calls]
    known = [micros for micros in costs if micros is not None]
    return sum(known) if len(known) == len(costs) else None


def _dearer(price: int | None, other: int | None) -> bool:
    """Whether one price is above another, as far as is known: one that is not known may be."""
    if other is None:
        return False
    return price is None or price > other


def _product(settings: Settings) -> Product | None:
    """The cheaper bulk product by known prices, ties to the larger limit; or as asked for."""
    if settings.bulk_product != "auto":
        return Product(settings.bulk_product)
    priced = [
        (price, -product.max_numbers, product)
        for product in Product
        if (price := settings.bulk_price(product)) is not None
    ]
    return min(priced)[2] if priced else None
