"""Functions that execute steps: their declaration, the call, and JSON that becomes the type they ask for."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

from .context import StepContext
from .failures import Final
from .rules import Json

_UNIONS = (Union, getattr(types, "UnionType", Union))  # `int | str` from Python 3.10 on


@dataclasses.dataclass(frozen=True)
class Function:
    """A function by its handler or tool, as the worker declares it."""

    call: Callable[..., Any]
    declared: Mapping[str, Json]
    takes_context: bool
    settings: Optional[type]  # the dataclass or pydantic model of the first parameter
    is_async: bool

    def arguments(self, context: StepContext) -> Tuple[Any, ...]:
        """Raises Final if the settings are not what the function asks for."""
        given: Any = context.input
        if self.settings is not None:
            given = _decoded(self.settings, given)
        return (given, context) if self.takes_context else (given,)


def function_of(call: Callable[..., Any], declared: Mapping[str, Json]) -> Function:
    """Raises TypeError with a sentence for a function that cannot be called with settings and a context."""
    parameters = list(inspect.signature(call).parameters.values())
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one for one in parameters if one.default is one.empty
              and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if not positional or any(one not in positional[:2] for one in needed):
        raise TypeError(f"Expected a function of settings, or of settings and a context, but {_name(call)} is none.")
    return Function(call, declared, len(positional) >= 2, _settings_type(call, positional[0].name),
                    inspect.iscoroutinefunction(call))


def _name(call: Callable[..., Any]) -> str:
    return str(getattr(call, "__name__", call))


def _settings_type(call: Callable[..., Any], parameter: str) -> Optional[type]:
    """A dataclass or a pydantic model; nothing for other types, which get the JSON as it is."""
    target = inspect.unwrap(call)
    annotation = getattr(target, "__annotations__", {}).get(parameter)
    if isinstance(annotation, str):
        places = inspect.getclosurevars(target) if inspect.isfunction(target) else None
        known = {**places.globals, **places.nonlocals} if places else {}
        try:
            annotation = eval(annotation, getattr(target, "__globals__", {}), known)
            if dataclasses.is_dataclass(annotation):
                typing.get_type_hints(annotation)  # those of its fields are known as well
        except Exception as unknown:
            raise TypeError(f"Expected the type of {parameter} of {_name(call)} to be known where it is registered, "
                            f"but: {unknown}.") from None
    is_model = isinstance(annotation, type) and (dataclasses.is_dataclass(annotation)
                                                 or callable(getattr(annotation, "model_validate", None)))
    return annotation if is_model else None


# --- JSON as types --------------------------------------------------------------------------------------------------


def _decoded(kind: type, value: Json) -> Any:
    validate = getattr(kind, "model_validate", None)
    try:
        return validate(value) if validate is not None else decode(kind, value, "the settings")
    except ValueError as wrong:
        text = str(wrong) if validate is None else f"Expected settings of {kind.__name__}, but: {wrong}"
        raise Final(text, error="invalid") from None


def decode(kind: Any, value: Json, place: str) -> Any:
    """The JSON value as a value of this type. Raises ValueError with a sentence that names the place."""
    origin = typing.get_origin(kind)
    if kind is Any or kind is object or isinstance(kind, typing.TypeVar):
        return value
    if origin in _UNIONS:
        return _decode_union(kind, value, place)
    if origin is Literal:
        if value in typing.get_args(kind):
            return value
        raise _mismatch(" or ".join(repr(one) for one in typing.get_args(kind)), value, place)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, value, place)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _decode_enum(kind, value, place)
    if origin is not None:
        return _decode_collection(kind, origin, value, place)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is None or kind is type(None):
        kind = type(None)
    is_right = isinstance(kind, type) and isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not is_right:
        raise _mismatch(getattr(kind, "__name__", str(kind)), value, place)
    return value


def _mismatch(wanted: str, value: Json, place: str) -> ValueError:
    return ValueError(f"Expected {wanted} in {place}, but found {repr(value)[:80]}.")


def _decode_union(kind: Any, value: Json, place: str) -> Any:
    faults = []
    for one in typing.get_args(kind):
        try:
            return decode(one, value, place)
        except ValueError as fault:
            faults.append(fault)
    raise faults[0]


def _decode_enum(kind: Any, value: Json, place: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise _mismatch(" or ".join(repr(one.value) for one in kind), value, place) from None


def _decode_collection(kind: Any, origin: Any, value: Json, place: str) -> Any:
    arguments = typing.get_args(kind)
    if issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _mismatch("an object", value, place)
        return {name: decode(arguments[1], one, f"{place}.{name}") for name, one in value.items()}
    if not isinstance(value, list):
        raise _mismatch("a list", value, place)
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        if len(value) != len(arguments):
            raise _mismatch(f"a list of {len(arguments)}", value, place)
        return tuple(decode(one, given, f"{place}[{at}]") for at, (one, given) in enumerate(zip(arguments, value)))
    items = [decode(arguments[0], one, f"{place}[{at}]") for at, one in enumerate(value)]
    return origin(items) if origin in (tuple, set, frozenset) else items


def _decode_dataclass(kind: Any, value: Json, place: str) -> Any:
    """Fields that it does not have are left out."""
    if not isinstance(value, dict):
        raise _mismatch("an object", value, place)
    hints = typing.get_type_hints(kind)
    given: Dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        if field.name in value:
            given[field.name] = decode(hints[field.name], value[field.name], f"{place}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"Expected {field.name} in {place}, but found {sorted(value)[:20]}.")
    return kind(**given)


def plain(value: Any) -> Json:
    """Dataclasses and pydantic models as JSON; nothing is an empty object."""
    if value is None:
        return {}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else value
