"""Whole columns of texts as people write phone numbers, made plain.

This is what `text` does to one text, for its common forms: digits with spaces, dots, dashes,
brackets and a slash, with or without a plus or ``tel:`` before them, an extension or a label
behind them, and wide or unseen characters among them. Any other text is left for `text`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from carrier_enrich.phones.digits import (
    Texts,
    composed,
    fits,
    lengths,
    matches,
    put,
    replaced,
    replaced_all,
)

if TYPE_CHECKING:
    from carrier_enrich.model import Int64s

# After seven digits, a slash would part two numbers.
_GAP = r"[ ().\[\]-]"
_START = rf"'?{_GAP}*(?:(?i:tel):)?{_GAP}*\+?(?:(?:{_GAP}*[0-9]){{1,6}}{_GAP}*/)?"
_BODY = rf"{_START}[0-9 ().\[\]-]{{1,40}}"
_PLAIN = f"^{_BODY}$"
# What `text` drops behind a number, in its common forms.
_EXTENSION = r"[ ,;(/-]*(?:(?i:ext?|e?xtn?|extension|x)|#)[ .:,-]*[0-9]{1,9}[ #)]*"
_LABEL = r"[ ,;:(\[-]+(?i:mob|mobile?|cell|home|work|office|direct|main|tel|[mchwopdt])\.?[ )\]]*"
_ENDED = rf"({_BODY})(?:{_EXTENSION}|{_LABEL})$"
# Characters that stand for ASCII ones, beside the wide forms of these.
_SPACES = "[\u00a0\u2000-\u200a\u202f\u205f\u3000]"
_DASHES = "[\u2010-\u2015\u2212]"
_UNSEEN = "[\u200b-\u200f\u202a-\u202e\u2060\ufeff]"
_WIDE = "^[ -~\uff01-\uff5e]*$"
# A whole number that passed through a float.
_FLOAT = r" *('?\+?[1-9][0-9]*)\.0 *$"


def plain_texts(texts: Texts) -> tuple[Int64s, Texts]:
    """The rows whose texts are plain or become so, ascending, and these texts."""
    is_plain = matches(texts, _PLAIN)
    odd = np.flatnonzero(~is_plain)
    rest = texts.take(odd)
    for written, meant in ((_SPACES, " "), (_DASHES, "-"), (_UNSEEN, "")):
        rest = replaced_all(rest, written, meant)
    rest = composed(rest, matches(rest, _WIDE))
    bare = replaced(rest, _ENDED, r"\1")
    # Only a whole text is a number that passed through a float.
    is_float = (lengths(bare) != lengths(rest)) & fits(bare, _FLOAT)
    now_plain = np.flatnonzero(matches(bare, _PLAIN) & ~is_float)
    is_plain[odd[now_plain]] = True
    rows = np.flatnonzero(is_plain)
    plain = put(texts, odd[now_plain], bare.take(now_plain)).take(rows)
    return rows, replaced(plain, _FLOAT, r"\1")
