"""Raw cells to text, and text to what `phonenumbers` may be asked about.

`phonenumbers` takes the first digits that it finds and turns letters into digits as a telephone
keypad does. In a cell that somebody typed, both are guesses that end in paying for a wrong
number, so text that is not plainly one number is refused here.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from numbers import Integral

import numpy as np

from carrier_enrich.phones.reasons import Reason

#: Longer text holds no phone number; `phonenumbers` refuses it as well.
TEXT_MAX = 250

# Beyond any phone number, so that it needs no more digits to be refused as too long.
_HUGE = 10**30


def text_of(value: object) -> str | None:
    """One raw cell of any type as the text to normalise, None where there is no value.

    Whole numbers become their digits, floats too where they hold a whole number exactly. Any
    other float becomes text with an exponent, which normalises to `Reason.PRECISION_LOST`.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(max(-_HUGE, min(int(value), _HUGE)))
    if isinstance(value, (float, np.floating)):
        return _text_of_float(value)
    if isinstance(value, Decimal):
        return _text_of_decimal(value)
    return _text_of_other(value)


def _text_of_float(value: float | np.floating) -> str | None:
    if np.isnan(value):
        return None
    mantissa_bits = np.finfo(type(value)).nmant + 1
    if value.is_integer() and abs(value) < 2**mantissa_bits:
        return str(int(value))
    return f"{float(value):e}"


def _text_of_decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    exponent = value.as_tuple().exponent
    is_exact = isinstance(exponent, int) and exponent <= 0 and value == value.to_integral_value()
    return f"{value:.0f}" if is_exact else f"{value:E}"


def _text_of_other(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "as_py"):  # an Arrow scalar
        return text_of(value.as_py())
    # pandas.NA and NaT, known by name so that pandas need not be there; NumPy's NaT.
    is_missing = type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value))
    )
    return None if is_missing else "(not text)"


_EXPONENT = re.compile(r"""[+'"=-]*\d+(?:[.,]\d*)?e[+-]?\d+['"]?""", re.IGNORECASE)
_FLOAT = re.compile(r"'?(\+?[1-9]\d*)\.0")

# Parameters of a `tel:` URI (RFC 3966); digits after a semicolon are something else.
_PARAMETER = re.compile(r";([a-z][a-z0-9-]*)(?:=([^;]*))?", re.IGNORECASE)

_EXTENSION = re.compile(
    r"""(?: [\s,;(/\\-]*
            (?: (?<![^\W\d_])
                (?: ext? | e?xtn? | extensi[oó]n | anexo | int | interno | poste | ramal | x | доб )
                (?![^\W\d_])
              | [#~] )
            [\s.:,-]* \d{1,9} )+
        [\s#)]* $""",
    re.IGNORECASE | re.VERBOSE,
)
_LABEL = re.compile(
    r"""[\s,;:(\[-]+
        (?: m | mob | mobile? | c | cell | h | home | w | work | o | office | p | private | d
          | direct | main | t | tel | fax | ext ) \.? [\s)\]]* $""",
    re.IGNORECASE | re.VERBOSE,
)
# Brazilian numbers are printed with xx where the caller's choice of a carrier goes.
_CARRIER_PLACE = re.compile(r"(?<=0)xx(?=\s*\d\d)", re.IGNORECASE)

_START = re.compile(r"[+\d]")
# Whatever else stands among the digits hides or replaces some of them: 030 12**56.
_BODY = re.compile(r"""[\d\s()\[\]{}+./,;:~#'"<>|&\\!=-]*""")

_OR = r"\b(?:or|and|oder|und|ou|et)\b"
_BETWEEN_NUMBERS = re.compile(rf"([/|&\\\n]|(?=\+)|{_OR})|(?:[,;]|\s-\s)", re.IGNORECASE)
_INTERNATIONAL = re.compile(r"\s*\(?(?:\+|00|011)")


def plain_text(raw: str) -> str | Reason:
    """The part of a text that is plainly one number, or the reason why there is none.

    What is returned holds digits, a plus at most before all of them, and punctuation.
    """
    text = (raw if raw.isascii() and raw.isprintable() else _folded(raw)).strip()
    if not text:
        return Reason.MISSING
    if _EXPONENT.fullmatch(text):
        return Reason.PRECISION_LOST
    if whole := _FLOAT.fullmatch(text):
        return whole[1]
    return _one_number(text) if len(text) <= TEXT_MAX else Reason.NOT_A_NUMBER


def _one_number(text: str) -> str | Reason:
    text = _LABEL.sub("", _EXTENSION.sub("", _without_parameters(text)))
    start = _START.search(text)
    if start is None:
        return Reason.NOT_A_NUMBER
    text = _CARRIER_PLACE.sub("", text[start.start() :])
    if _is_several(text):
        return Reason.SEVERAL_NUMBERS
    if not _BODY.fullmatch(text) or not text.strip("0 +()-./"):
        return Reason.NOT_A_NUMBER
    return text.replace("\n", " ")


def _folded(text: str) -> str:
    return "".join(map(_folded_character, text))


@lru_cache(maxsize=4096)
def _folded_character(character: str) -> str:
    """Digits of any script, wide forms, spaces, line ends and dashes as ASCII has them."""
    if character in "\n\r\x0b\x0c\x85\u2028\u2029":
        return "\n"
    if "\uff01" <= character <= "\uff5e":
        return chr(ord(character) - 0xFEE0)
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Zs" or character == "\t":
        return " "
    if category == "Pd" or character == "\u2212":
        return "-"
    return "" if category[0] in "CM" else character


def _without_parameters(text: str) -> str:
    if ";" not in text:
        return text
    context = next((m[2] for m in _PARAMETER.finditer(text) if m[1].lower() == "phone-context"), "")
    text = _PARAMETER.sub("", text)
    start = _START.search(text)
    if (context or "").startswith("+") and start and start[0] != "+":
        return f"{context}{text[start.start() :]}"
    return text


def _is_several(text: str) -> bool:
    """Whether a part that is long enough for a number is followed by digits of another.

    After a comma, a semicolon or a spaced dash, a few digits are an extension.
    """
    ends = [(m.start(), m.end(), m[1] is not None) for m in _BETWEEN_NUMBERS.finditer(text)]
    begin = 0
    for start, end, is_plain in ends:
        part, rest = text[begin:start], text[end:]
        begin = end
        enough = 10 if _INTERNATIONAL.match(part) else 7
        if _digits(part) >= enough and _digits(rest) >= (1 if is_plain else 7):
            return True
    return False


def _digits(text: str) -> int:
    return sum(map(str.isdecimal, text))
