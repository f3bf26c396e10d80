"""What a sandbox charges, how quick it is, and which form its answers take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

Shape = Literal["A", "B", "mixed"]
RetryAfterForm = Literal["seconds", "date"]
ErrorStatus = Literal["mapped", "ok"]
GlobalForeign = Literal["check", "fail", "refuse"]
HeaderCase = Literal["lower", "upper", "title"]

#: The documented order of a result file (spec, Bulk task).
RESULT_COLUMNS = (
    "identifier",
    "carrier",
    "underlying_carrier",
    "number_type",
    "country_code",
    "region",
    "city",
)

#: What a running sandbox can't change: who has an account, and where that is kept.
FIXED_FIELDS = frozenset({"api_keys", "balance_micros", "state_path", "link_on_second_port"})

_OPTIONAL = frozenset({"max_open_tasks", "idle_exit_seconds"})

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "shape": get_args(Shape),
    "retry_after_form": get_args(RetryAfterForm),
    "error_status": get_args(ErrorStatus),
    "global_foreign": get_args(GlobalForeign),
    "result_header": get_args(HeaderCase),
}


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    """How a sandbox behaves where it does not misbehave.

    Times are seconds, prices and balances micros of USD.

    Attributes:
        api_keys: one account each, each with a balance of its own.
        balance_micros: what a new account starts with.
        single_seconds: how long a single check takes; ``multi_seconds`` likewise.
        single_limit_seconds: a check that takes longer is answered with 50400 (spec, Limits).
        task_seconds: how long a bulk task processes, at least.
        shape: of the check results; "mixed" alternates (spec, Single check result).
        link_seconds: lifetime of a result link.
        link_on_second_port: result links lead to another port, that is to another origin.
        max_file_bytes: of an uploaded bulk file (spec, Limits).
        enforce_limits: answer 42901 when the request slots are taken; else only count.
        poll_seconds: polls of one task closer than this are counted as broken limits.
        retry_after_seconds: what ``Retry-After`` says, in the form of ``retry_after_form``.
        max_open_tasks: more unfinished bulk tasks per account are refused with 42900.
        error_status: HTTP status of errors: "mapped" to a fitting one, or always 200 ("ok").
        global_foreign: what ``global_carrier_batch`` does with numbers of another country.
        malformed_refuses_multi: a malformed number refuses its whole multi check with 40002.
        undetermined_share: share (0 to 1) of the numbers of which nothing can be told.
        result_columns: columns of result files, in order; ``result_header`` is their case.
        result_plus: identifiers in result files carry a plus sign.
        zip_members: files in a ZIP result, each with ``zip_member_suffix``.
        state_path: a SQLite file that outlives the process, with a folder for result files
            beside it; None keeps all in memory.
        idle_exit_seconds: a process that serves this config ends when nobody called for so long.

    Raises:
        ValueError: a value that can't be used, named.
    """

    api_keys: tuple[str, ...] = ("sandbox-key",)
    balance_micros: int = 100_000_000
    price_single_micros: int = 2_000
    price_multi_micros: int = 2_000
    price_carrier_batch_micros: int = 800
    price_global_carrier_batch_micros: int = 1_000
    single_seconds: float = 0.0
    multi_seconds: float = 0.0
    single_limit_seconds: float = 60.0
    multi_limit_seconds: float = 300.0
    task_seconds: float = 0.0
    shape: Shape = "A"
    link_seconds: float = 60.0
    link_on_second_port: bool = False
    max_file_bytes: int = 20_000_000
    enforce_limits: bool = True
    poll_seconds: float = 30.0
    retry_after_seconds: float = 1.0
    retry_after_form: RetryAfterForm = "seconds"
    max_open_tasks: int | None = None
    error_status: ErrorStatus = "mapped"
    global_foreign: GlobalForeign = "fail"
    malformed_refuses_multi: bool = False
    undetermined_share: float = 0.005
    result_columns: tuple[str, ...] = RESULT_COLUMNS
    result_header: HeaderCase = "lower"
    result_bom: bool = False
    result_crlf: bool = False
    result_plus: bool = False
    result_delimiter: str = ","
    zip_members: int = 1
    zip_member_suffix: str = ".csv"
    state_path: Path | None = None
    idle_exit_seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.api_keys or not all(self.api_keys):
            raise ValueError("api_keys must name at least one key, none of them empty")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}")
        for spec in fields(self):
            value = getattr(self, spec.name)
            if isinstance(value, (int, float)) and value < 0:
                raise ValueError(f"{spec.name} must not be negative")
        if "identifier" not in self.result_columns:
            raise ValueError("result_columns must hold identifier")
        unknown = set(self.result_columns) - set(RESULT_COLUMNS)
        if unknown:
            raise ValueError(f"result_columns has unknown names: {', '.join(sorted(unknown))}")
        if self.zip_members < 1:
            raise ValueError("zip_members must be at least 1")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> SandboxConfig:
        """A config from JSON values; what is not given has its default."""
        return cls(**_typed(values))

    def changed(self, values: Mapping[str, Any]) -> SandboxConfig:
        """The same with some values changed, for a sandbox that already runs.

        Raises:
            ValueError: an unknown name, one that is fixed at the start, or a bad value.
        """
        fixed = FIXED_FIELDS & values.keys()
        if fixed:
            raise ValueError(f"fixed when the sandbox starts: {', '.join(sorted(fixed))}")
        return replace(self, **_typed(values))

    def bulk_price(self, product: str) -> int:
        """Micros per number of a bulk product."""
        if product == "carrier_batch":
            return self.price_carrier_batch_micros
        return self.price_global_carrier_batch_micros

    def as_json(self) -> dict[str, Any]:
        """The values that `of` reads, ready for JSON."""
        path = self.state_path
        return asdict(self) | {"state_path": None if path is None else str(path)}


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    unknown = set(values) - {spec.name for spec in fields(SandboxConfig)}
    if unknown:
        raise ValueError(f"no such setting: {', '.join(sorted(unknown))}")
    defaults = {spec.name: spec.default for spec in fields(SandboxConfig)}
    return {name: _value(name, value, defaults[name]) for name, value in values.items()}


def _value(name: str, value: Any, default: Any) -> Any:
    if name == "state_path":
        return None if value is None else Path(value)
    if isinstance(default, tuple):
        _require(not isinstance(value, str), f"{name} must be a list of texts")
        return tuple(value)
    if value is None or default is None:
        _require(name in _OPTIONAL, f"{name} must not be null")
        return value
    if isinstance(default, bool):
        _require(isinstance(value, bool), f"{name} must be true or false")
    elif isinstance(default, str):
        _require(isinstance(value, str), f"{name} must be a text")
    elif isinstance(default, int):
        _require(type(value) is int, f"{name} must be a whole number")
    else:
        _require(type(value) in (int, float), f"{name} must be a number")
    return float(value) if isinstance(default, float) else value


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
