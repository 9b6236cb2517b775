"""Functions that execute steps: their declaration, the call, and JSON that becomes the type they ask for."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Set, Tuple, Union

from .context import StepContext
from .failures import Final
from .rules import Json

_UNIONS = (Union, getattr(types, "UnionType", Union))  # `int | str` from Python 3.10 on
_PLAIN = (str, int, float, bool, list, dict, tuple, set, frozenset, type(None))


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
    is_async = any(inspect.iscoroutinefunction(one) for one in (call, getattr(call, "__call__", None)))
    return Function(call, declared, len(positional) >= 2, _settings_type(call, positional[0].name), is_async)


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
    if not isinstance(annotation, type) or not (dataclasses.is_dataclass(annotation) or _is_model(annotation)):
        return None
    odd = _unknown_kind(annotation, set())
    if odd is not None:
        raise TypeError(f"Expected types that JSON becomes in {annotation.__name__}, the {parameter} of {_name(call)}, "
                        f"but found {odd}.")
    return annotation


def _unknown_kind(kind: Any, seen: Set[Any]) -> Optional[str]:
    """A type in this one that no JSON becomes; nothing if there is none, or its names are known only later."""
    origin = typing.get_origin(kind)
    if origin in _UNIONS:
        found = [_unknown_kind(one, seen) for one in typing.get_args(kind)]
        return found[0] if all(found) else None
    if _is_open(kind) or origin is Literal or kind is None:
        return None
    if hasattr(kind, "__supertype__"):
        return _unknown_kind(kind.__supertype__, seen)
    if origin is not None:
        inner = [one for one in typing.get_args(kind) if one is not Ellipsis]
        found = [_unknown_kind(one, seen) for one in inner] if _is_collection(origin) else [str(kind)]
        return next((one for one in found if one), None)
    if not isinstance(kind, type):
        return str(kind)
    if kind in _PLAIN or _is_model(kind) or issubclass(kind, enum.Enum):
        return None
    if not dataclasses.is_dataclass(kind) and not _is_typed_dict(kind):
        return kind.__name__
    return _unknown_field(kind, seen)


def _unknown_field(kind: Any, seen: Set[Any]) -> Optional[str]:
    if kind in seen:
        return None
    seen.add(kind)
    try:
        hints = typing.get_type_hints(kind)
    except Exception:
        return None
    made = [one.name for one in dataclasses.fields(kind) if one.init] if dataclasses.is_dataclass(kind) else hints
    for name in made:
        unknown = _unknown_kind(hints[name], seen)
        if unknown is not None:
            return unknown if " of " in unknown else f"{unknown} of {kind.__name__}.{name}"
    return None


def _is_open(kind: Any) -> bool:
    """Whether any value will do."""
    return kind is Any or kind is object or isinstance(kind, typing.TypeVar)


def _is_model(kind: type) -> bool:
    return callable(getattr(kind, "model_validate", None))


def _is_typed_dict(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _is_collection(origin: Any) -> bool:
    return isinstance(origin, type) and (issubclass(origin, (Mapping, tuple, set, frozenset))
                                         or issubclass(list, origin))


# --- types as JSON Schema -------------------------------------------------------------------------------------------


_TYPE_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array",
               tuple: "array", set: "array", frozenset: "array", type(None): "null"}


def schema_of(given: Any) -> Dict[str, Json]:
    """A JSON Schema as it is, or that of a dataclass or pydantic model. Raises TypeError with a sentence."""
    if isinstance(given, Mapping):
        return dict(given)
    made = getattr(given, "model_json_schema", None)
    if isinstance(given, type) and callable(made):
        return dict(made())
    if not isinstance(given, type) or not dataclasses.is_dataclass(given):
        raise TypeError(f"Expected a JSON Schema, a dataclass or a pydantic model as schema, but found {given!r}.")
    return _schema(given, ())


def _schema(kind: Any, within: Tuple[Any, ...]) -> Dict[str, Json]:
    """What no schema can say, and a type within itself, is anything."""
    origin: Any = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if kind is None:
        kind = type(None)
    if origin in _UNIONS:
        return {"anyOf": [_schema(one, within) for one in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if hasattr(kind, "__supertype__"):
        return _schema(kind.__supertype__, within)
    if isinstance(kind, type) and kind not in within:
        if issubclass(kind, enum.Enum):
            return {"enum": [one.value for one in kind]}
        if dataclasses.is_dataclass(kind) or _is_typed_dict(kind):
            return _object_schema(kind, (*within, kind))
        if kind in _TYPE_NAMES:
            return {"type": _TYPE_NAMES[kind]}
    if not _is_collection(origin):
        return {}
    if issubclass(origin, Mapping):
        return {"type": "object", **({"additionalProperties": _schema(arguments[1], within)} if arguments else {})}
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return {"type": "array", "prefixItems": [_schema(one, within) for one in arguments]}
    return {"type": "array", **({"items": _schema(arguments[0], within)} if arguments else {})}


def _object_schema(kind: Any, within: Tuple[Any, ...]) -> Dict[str, Json]:
    hints = typing.get_type_hints(kind)
    required = sorted(getattr(kind, "__required_keys__", ()))
    if dataclasses.is_dataclass(kind):
        fields = [one for one in dataclasses.fields(kind) if one.init]
        hints = {one.name: hints[one.name] for one in fields}
        required = [one.name for one in fields
                    if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING]
    properties = {name: _schema(one, within) for name, one in hints.items()}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


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
    if _is_open(kind):
        return value
    if hasattr(kind, "__supertype__"):
        return decode(kind.__supertype__, value, place)
    if origin in _UNIONS:
        return _decode_union(kind, value, place)
    if origin is Literal:
        if value in typing.get_args(kind):
            return value
        raise _mismatch(" or ".join(repr(one) for one in typing.get_args(kind)), value, place)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, value, place)
    if _is_typed_dict(kind):
        return _decode_typed_dict(kind, value, place)
    if isinstance(kind, type) and _is_model(kind):
        return kind.model_validate(value)  # type: ignore[attr-defined]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _decode_enum(kind, value, place)
    if origin is not None or kind in (tuple, set, frozenset):
        origin = origin or kind
        return _decode_collection(kind, origin, value, place)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is None or kind is type(None):
        kind = type(None)
    is_right = kind in _PLAIN and isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
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
    arguments = typing.get_args(kind) or ((Any, Any) if issubclass(origin, Mapping) else (Any, Ellipsis))
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


def _decode_typed_dict(kind: Any, value: Json, place: str) -> Any:
    """It stays an object, with the fields that its type does not name."""
    if not isinstance(value, dict):
        raise _mismatch("an object", value, place)
    missing = sorted(name for name in kind.__required_keys__ if name not in value)
    if missing:
        raise ValueError(f"Expected {missing[0]} in {place}, but found {sorted(value)[:20]}.")
    known = {name: one for name, one in typing.get_type_hints(kind).items() if name in value}
    return {**value, **{name: decode(one, value[name], f"{place}.{name}") for name, one in known.items()}}


def plain(value: Any) -> Json:
    """An outcome as JSON but for what is within it; nothing is an empty object."""
    return {} if value is None else _plain_object(value)


def plain_inner(value: Any) -> Json:
    """A value within an outcome that JSON has not: those types that decode() makes. Raises TypeError for others."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    made = _plain_object(value)
    if made is value:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return made


def _plain_object(value: Any) -> Any:
    """A dataclass or a pydantic model as an object; any other value as it is."""
    if isinstance(value, type):
        return value
    if dataclasses.is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else value
