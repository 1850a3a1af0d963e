"""What all answers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, dataclass_transform


class Example(str):
    """An example for the OpenAPI document, in the `Annotated` of a field."""

    __slots__ = ()


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Answered:
    """An answer of the API. ``raw`` is its JSON as received, fields unknown here too.

    Subclasses are frozen dataclasses. What `dataclasses` would compile for each of them is here
    once: for all together it would be a tenth of the API's cold start.
    """

    raw: Mapping[str, Any] = MappingProxyType({})
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        """Find the fields."""
        dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)

    def __init__(self, **given: Any) -> None:
        """Take each field by name. Raises `TypeError` for one too few or too many."""
        known = {one.name: one for one in fields(self)}
        wrong = given.keys() - known.keys()
        wrong |= {n for n, one in known.items() if n not in given and one.default is MISSING}
        if wrong:
            raise TypeError(f"{type(self).__name__} lacks or has not: {', '.join(sorted(wrong))}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        told = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))
        return f"{type(self).__name__}({', '.join(told)})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[Any, ...]:
        return tuple([getattr(self, one.name) for one in fields(self)])
