"""Functions as a worker declares them, and JSON as the types that they ask for."""

import dataclasses
import datetime
import enum
import json
import logging
import unittest
from typing import Any, Dict, List, Literal, NewType, Optional, Tuple, TypedDict, Union, cast

from cairn.failures import Again, Final
from cairn.functions import decode, function_of, plain, schema_of
from cairn.worker import Worker, _failure, _report_bytes


class Size(enum.Enum):
    SMALL = "small"


@dataclasses.dataclass
class Part:
    name: str
    weight: float = 1.0


@dataclasses.dataclass
class Order:
    id: int
    parts: List[Part]
    size: Size = Size.SMALL
    note: Optional[str] = None
    more: Dict[str, Tuple[int, ...]] = dataclasses.field(default_factory=dict)
    mode: Literal["fast", "slow"] = "fast"
    either: Union[int, str] = 0
    anything: Any = None


class Address(TypedDict):
    street: str


class Details(Address, total=False):
    floors: List[int]


Customer = NewType("Customer", int)


@dataclasses.dataclass
class Delivery:
    to: Details
    customer: Customer
    codes: List  # type: ignore[type-arg]
    both: tuple = ()  # type: ignore[type-arg]
    then: Optional["Delivery"] = None


@dataclasses.dataclass
class Timed:
    at: datetime.datetime


@dataclasses.dataclass
class Nested:
    all: List[Timed]


@dataclasses.dataclass
class MayBeTimed:
    at: Optional[datetime.datetime] = None


class Model:
    """As pydantic's have it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def model_validate(cls, value: Any) -> "Model":
        if "text" not in value:
            raise ValueError("1 validation error for Model")
        return cls(value["text"])

    def model_dump(self, mode: str) -> Dict[str, str]:
        return {"text": self.text, "mode": mode}


class Place:
    def __init__(self, input: Any) -> None:
        self.input = input


def arguments(function: Any, given: Any) -> Any:
    place: Any = Place(given)
    return function_of(function, {}).arguments(place)


class Decoding(unittest.TestCase):
    def test_a_dataclass_is_made_of_nested_json(self) -> None:
        given = {"id": 7, "parts": [{"name": "a", "weight": 2}], "size": "small", "note": "n", "more": {"x": [1, 2]},
                 "mode": "slow", "either": "e", "anything": [1], "unknown": True}
        made = Order(7, [Part("a", 2.0)], Size.SMALL, "n", {"x": (1, 2)}, "slow", "e", [1])
        self.assertEqual(decode(Order, given, "the settings"), made)
        self.assertEqual(decode(Order, {"id": 7, "parts": []}, "the settings"), Order(7, []))

    def test_json_of_another_form_is_refused_by_its_place(self) -> None:
        base: Dict[str, Any] = {"id": 7, "parts": []}
        cases: List[Tuple[Dict[str, Any], str]] = [
                ({"id": "7"}, "Expected int in the settings.id, but found '7'."),
                ({"id": True}, "Expected int in the settings.id, but found True."),
                ({"parts": [{"name": 1}]}, "Expected str in the settings.parts[0].name, but found 1."),
                ({"parts": [{}]}, "Expected name in the settings.parts[0], but found []."),
                ({"parts": {}}, "Expected a list in the settings.parts, but found {}."),
                ({"size": "huge"}, "Expected 'small' in the settings.size, but found 'huge'."),
                ({"mode": "odd"}, "Expected 'fast' or 'slow' in the settings.mode, but found 'odd'."),
                ({"note": 1}, "Expected str in the settings.note, but found 1."),
                ({"more": []}, "Expected an object in the settings.more, but found []."),
                ({"either": None}, "Expected int in the settings.either, but found None.")]
        for wrong, says in cases:
            with self.assertRaises(ValueError) as caught:
                decode(Order, {**base, **wrong}, "the settings")
            self.assertEqual(str(caught.exception), says)


    def test_typed_dictionaries_and_new_types_are_read_and_do_not_use_up_the_attempts(self) -> None:
        to: Any = {"street": "a", "floors": [1], "door": "left"}
        given: Dict[str, Any] = {"to": to, "customer": 7, "codes": ["x", 1], "both": [2]}
        plain_one = Delivery(to, Customer(7), ["x", 1], (2,))
        self.assertEqual(decode(Delivery, given, "the settings"), plain_one)
        self.assertEqual(decode(Delivery, {**given, "then": given}, "the settings").then, plain_one)
        cases: List[Tuple[Dict[str, Any], str]] = [
                ({"to": {}}, "Expected street in the settings.to, but found []."),
                ({"to": 1}, "Expected an object in the settings.to, but found 1."),
                ({"to": {"street": "a", "floors": ["b"]}}, "Expected int in the settings.to.floors[0], but found 'b'."),
                ({"customer": "x"}, "Expected int in the settings.customer, but found 'x'.")]
        for wrong, says in cases:
            with self.assertRaises(ValueError) as caught:
                decode(Delivery, {**given, **wrong}, "the settings")
            self.assertEqual(str(caught.exception), says)


class Functions(unittest.TestCase):
    def test_the_first_parameter_decides_what_it_gets(self) -> None:
        def raw(settings: Dict[str, Any]) -> None: ...
        def bare(settings): ...  # type: ignore[no-untyped-def]
        def part(settings: Part, context: Any) -> None: ...
        def named(settings: "Part") -> None: ...
        def model(settings: Model) -> None: ...

        given = {"name": "a"}
        self.assertEqual(arguments(raw, given), (given,))
        self.assertEqual(arguments(bare, given), (given,))
        self.assertEqual(arguments(part, given)[0], Part("a"))
        self.assertEqual(len(arguments(part, given)), 2)
        self.assertEqual(arguments(named, given), (Part("a"),))
        self.assertEqual(arguments(model, {"text": "t"})[0].text, "t")

    def test_settings_of_another_form_fail_for_good(self) -> None:
        def part(settings: Part) -> None: ...
        def model(settings: Model) -> None: ...

        with self.assertRaisesRegex(Final, "Expected name in the settings") as caught:
            arguments(part, {})
        self.assertEqual(caught.exception.error, "invalid")
        with self.assertRaisesRegex(Final, "Expected settings of Model, but: 1 validation error"):
            arguments(model, {})

    def test_a_function_that_cannot_be_called_is_refused_when_it_is_added(self) -> None:
        def nothing() -> None: ...
        def three(a: Any, b: Any, c: Any) -> None: ...
        def named(a: Any, *, b: Any) -> None: ...
        def unknown(settings: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

        functions: List[Any] = [nothing, three, named]
        for function in functions:
            with self.assertRaisesRegex(TypeError, f"Expected a function of settings.*{function.__name__} is none"):
                function_of(function, {})
        with self.assertRaisesRegex(TypeError, "Expected the type of settings of unknown to be known"):
            function_of(unknown, {})

    def test_a_type_that_no_json_becomes_is_refused_when_it_is_added(self) -> None:
        def delivers(settings: Delivery) -> None: ...
        def timed(settings: Timed) -> None: ...
        def nested(settings: Nested) -> None: ...
        def may_be(settings: MayBeTimed) -> None: ...

        function_of(delivers, {})
        function_of(may_be, {})
        refused: List[Any] = [timed, nested]
        for function in refused:
            with self.assertRaisesRegex(TypeError, "the settings of .*, but found datetime of Timed.at"):
                function_of(function, {})

    def test_results_become_json(self) -> None:
        self.assertEqual(plain(None), {})
        self.assertEqual(plain(Part("a")), {"name": "a", "weight": 1.0})
        self.assertEqual(plain(Model("t")), {"text": "t", "mode": "json"})
        self.assertEqual(plain([1]), [1])

    def test_what_json_becomes_within_settings_becomes_json_within_a_result(self) -> None:
        order = Order(7, [Part("a")], Size.SMALL)
        shown = {"id": 7, "parts": [{"name": "a", "weight": 1.0}], "size": "small", "note": None, "more": {},
                 "mode": "fast", "either": 0, "anything": None}
        result: Any = {"claim": "c", "patch": plain({"orders": [order], "model": Model("t"), "some": {Size.SMALL}})}
        self.assertEqual(json.loads(_report_bytes(result))["patch"],
                         {"orders": [shown], "model": {"text": "t", "mode": "json"}, "some": ["small"]})
        self.assertEqual(decode(Order, json.loads(_report_bytes({"claim": "c", "patch": plain(order)}))["patch"], ""),
                         order)

    def test_an_outcome_that_is_no_json_fails_the_step_whatever_its_methods_raise(self) -> None:
        class Raising(Model):
            def model_dump(self, mode: str) -> Dict[str, str]:
                raise RuntimeError("no")

        for value, says in ((object(), "Object of type object is not JSON serializable"), (Raising("t"), "no"),
                            (Part, "Object of type type is not JSON serializable"), (float("nan"), "Out of range")):
            report = json.loads(_report_bytes({"claim": "c", "patch": {"x": value}}))
            self.assertEqual((report["claim"], report["error"], report["again"]), ("c", "invalid", False))
            self.assertIn(says, report["message"])

    def test_a_callable_object_whose_call_is_async_is_awaited(self) -> None:
        class Counts:
            async def __call__(self, settings: Any) -> None: ...

        self.assertTrue(function_of(Counts(), {}).is_async)
        self.assertFalse(function_of(Model, {}).is_async)


class Schemas(unittest.TestCase):
    def test_a_dataclass_is_the_schema_of_what_it_is_made_of(self) -> None:
        part = {"type": "object", "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
                "required": ["name"]}
        numbers = {"type": "array", "items": {"type": "integer"}}
        self.assertEqual(schema_of(Order), {
            "type": "object", "required": ["id", "parts"],
            "properties": {"id": {"type": "integer"}, "parts": {"type": "array", "items": part},
                           "size": {"enum": ["small"]}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                           "more": {"type": "object", "additionalProperties": numbers},
                           "mode": {"enum": ["fast", "slow"]},
                           "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "anything": {}}})
        made = schema_of(Delivery)["properties"]
        self.assertEqual(made["to"]["required"], ["street"])
        self.assertEqual(made["customer"], {"type": "integer"})
        self.assertEqual(made["then"], {"anyOf": [{}, {"type": "null"}]})

    def test_a_schema_is_declared_as_it_is_and_anything_else_is_refused(self) -> None:
        class Described(Model):
            @classmethod
            def model_json_schema(cls) -> Dict[str, str]:
                return {"type": "object"}

        self.assertEqual(schema_of({"type": "string"}), {"type": "string"})
        self.assertEqual(schema_of(Described), {"type": "object"})
        with self.assertRaisesRegex(TypeError, "Expected a JSON Schema, a dataclass or a pydantic model"):
            schema_of(7)
        worker = Worker("http://127.0.0.1:1")
        worker.handler("py.part", schema=Part)(lambda settings: None)
        worker.tool("part", schema={"type": "object"})(lambda inputs: None)
        self.assertEqual(worker._handlers["py.part"].declared["schema"], schema_of(Part))
        self.assertEqual(worker._tools["part"].declared["schema"], {"type": "object"})


class Failures(unittest.TestCase):
    def test_a_pause_that_is_longer_than_the_server_takes_is_cut_to_that(self) -> None:
        context: Any = None
        self.assertEqual(_failure(Again("busy", retry_ms=7_200_000), context)["retry_ms"], 3_600_000)

    def test_a_pause_that_is_no_whole_number_does_not_make_the_failure_final(self) -> None:
        given: List[Any] = [(1.6, 2), (-5, 0), (float("nan"), 0), (float("inf"), 3_600_000), (None, 0), ("5", 0)]
        for retry_ms, sent in given:
            failure = _failure(Again("busy", retry_ms=retry_ms), cast(Any, None))
            self.assertEqual((failure["again"], failure["retry_ms"]), (True, sent))

    def test_a_failure_is_reported_whatever_its_text_is(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no")

        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        for thrown, says in ((OSError("bad \udcff name\0"), "bad ? name\ufffd"), (OSError("x" * 99_999), "x" * 32_768),
                             (Mute(), "Mute, whose text raises RuntimeError"), (KeyError(), "KeyError")):
            self.assertEqual(_failure(thrown, cast(Any, None)), {"error": "error", "message": says, "again": True})
        self.assertEqual(_failure(Final("no", error=cast(Any, 5)), cast(Any, None)),
                         {"error": "error", "message": "no", "again": False})


if __name__ == "__main__":
    unittest.main()
