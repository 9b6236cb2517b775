"""The clients held against the API's description: what they send, and the fields of what they say is answered."""

import json
import pathlib
import typing
import unittest
import urllib.parse
from typing import Any, Dict, List, Set

from cairn.shapes import Difference, Explanation, Goal, OpenStep, Question, Reason, RunRow, RunState
from calls_test import CASES

DESCRIPTION: Dict[str, Any] = json.loads(
    (pathlib.Path(__file__).parents[4] / "ops/http/openapi.json").read_text(encoding="utf-8"))

SHAPES: Dict[Any, str] = {RunState: "Run", OpenStep: "Step", RunRow: "RunListed", Question: "OpenQuestion",
                          Goal: "SubGoal", Reason: "Reason", Explanation: "Explanation", Difference: "Difference"}
KINDS: Dict[Any, str] = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "array"}


def referred(part: Dict[str, Any]) -> Dict[str, Any]:
    while "$ref" in part:
        found = DESCRIPTION
        for name in part["$ref"].split("/")[1:]:
            found = found[name]
        part = found
    return part


def kinds_of(schema: Dict[str, Any]) -> Set[str]:
    """The types of JSON that it takes."""
    schema = referred(schema)
    if "anyOf" in schema:
        return {kind for one in schema["anyOf"] for kind in kinds_of(one)}
    kind = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


def kinds_said(hint: Any) -> Set[str]:
    if typing.get_origin(hint) is typing.Union:
        return {kind for one in typing.get_args(hint) for kind in kinds_said(one)}
    if hint is type(None):
        return {"null"}
    hint = typing.get_origin(hint) or hint
    return {"object"} if hint in SHAPES else {KINDS[hint]}


def operation(method: str, path: str) -> Dict[str, Any]:
    for template, found in DESCRIPTION["paths"].items():
        known, given = template.split("/"), path.split("/")
        fits = len(known) == len(given) and all(one[:1] == "{" or one == other for one, other in zip(known, given))
        if fits and method.lower() in found:
            return {**found[method.lower()],
                    "parameters": found.get("parameters", []) + found[method.lower()].get("parameters", [])}
    raise AssertionError(f"Expected {method} {path} in the description, but it is not there.")


class Described(unittest.TestCase):
    def test_each_call_sends_what_the_description_has(self) -> None:
        for _, _, request, body in CASES:
            with self.subTest(request=request):
                method, target = request.split(" ")
                url = urllib.parse.urlsplit(target)
                found = operation(method, url.path)
                known = {referred(one)["name"] for one in found["parameters"]}
                self.assertLessEqual(set(urllib.parse.parse_qs(url.query)), known)
                if body is not None and "/graphs" not in url.path:
                    self.assertLessEqual(set(body), fields_of(found["requestBody"]["content"]))

    def test_each_shape_has_the_fields_that_are_answered(self) -> None:
        for shape, name in SHAPES.items():
            schema = DESCRIPTION["components"]["schemas"][name]
            for field, hint in typing.get_type_hints(shape).items():
                with self.subTest(shape=name, field=field):
                    self.assertIn(field, schema["properties"])
                    is_any = hint is Any or not kinds_of(schema["properties"][field])
                    self.assertTrue(is_any or kinds_of(schema["properties"][field]) == kinds_said(hint), hint)
            self.assertLessEqual(shape.__required_keys__, set(schema["required"]), name)


def fields_of(content: Dict[str, Any]) -> Set[str]:
    schema = referred(content["application/json"]["schema"])
    parts: List[Dict[str, Any]] = [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]
    return {field for part in parts for field in referred(part).get("properties", {})}


if __name__ == "__main__":
    unittest.main()
