"""JSON of requests and answers: read strictly, and written so that UTF-8 can encode it."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, NoReturn

from hourhand.api.requests._errors import quoted
from hourhand.domain.errors import BadRequest
from hourhand.domain.ids import json_integer

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises `BadRequest` for all that RFC 8259 does not allow and for what readers disagree about:
    a name given twice in an object. Python's own reader takes NaN and infinities too.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_names,
            parse_int=json_integer,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadRequest(f"The body is not valid JSON: {error.msg} at {where}.") from error
    except RecursionError as error:
        raise BadRequest("The body nests arrays and objects too deeply.") from error
    except ValueError as error:
        # The only other ValueError: an integer longer than Python converts (4,300 digits).
        raise BadRequest("The body contains an integer with too many digits.") from error


def write_json(value: Any) -> str:
    """Return ``value`` as compact JSON text that can be encoded in UTF-8.

    Half a surrogate pair is legal in JSON, as an escape, and cannot be encoded otherwise.
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    return text


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        # Counted, not searched for: callers send as many names as they like.
        counted = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counted.items() if count > 1)
        raise BadRequest(f"The body is ambiguous: {quoted(twice)!r} occurs twice in one object.")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise BadRequest(f"The body is not valid JSON: {name} is not a JSON number.")
