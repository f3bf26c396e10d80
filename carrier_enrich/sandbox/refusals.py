"""The service's errors: their envelope codes and HTTP status (spec, Errors)."""

from __future__ import annotations

BAD_REQUEST = 40000
BAD_JSON = 40001
BAD_NUMBER = 40002
BAD_KEY = 40100
NO_BALANCE = 40200
UNDETERMINED = 42200
QUOTA = 42900
SLOTS_TAKEN = 42901
MAINTENANCE = 50300
PLATFORM_LIMIT = 50303
TIMED_OUT = 50400

#: Only the status of 42200 is specified; the others are the HTTP status that fits the meaning.
HTTP_STATUS = {
    BAD_REQUEST: 400,
    BAD_JSON: 400,
    BAD_NUMBER: 400,
    BAD_KEY: 401,
    NO_BALANCE: 402,
    UNDETERMINED: 422,
    QUOTA: 429,
    SLOTS_TAKEN: 429,
    MAINTENANCE: 503,
    PLATFORM_LIMIT: 503,
    TIMED_OUT: 504,
}

#: Codes that come with a ``Retry-After`` header.
WITH_RETRY_AFTER = frozenset({SLOTS_TAKEN, PLATFORM_LIMIT})


class Refused(Exception):
    """A request that the service answers with an error code and does not charge.

    Attributes:
        code: the envelope code.
        msg: the envelope's message; it never repeats a number or a key.
        status: HTTP status, where it is not the one that belongs to the code.
    """

    def __init__(self, code: int, msg: str, *, status: int | None = None) -> None:
        super().__init__(msg)
        self.code = code
        self.msg = msg
        self.status = HTTP_STATUS[code] if status is None else status
