"""Schemas without references."""

import pytest

from ekiden_kit.errors import KitError
from ekiden_kit.schema import flat


def test_references_are_replaced_and_siblings_win() -> None:
    schema = {
        "$defs": {
            "P": {"title": "P", "type": "object", "properties": {"q": {"$ref": "#/$defs/Q"}}},
            "Q": {"type": "null"},
        },
        "properties": {"a": {"$ref": "#/$defs/P", "description": "mine"}, "b": {"items": {"$ref": "#/$defs/Q"}}},
    }
    assert flat(schema) == {
        "properties": {
            "a": {"type": "object", "properties": {"q": {"type": "null"}}, "description": "mine"},
            "b": {"items": {"type": "null"}},
        }
    }


def test_generated_titles_go_and_properties_called_title_stay() -> None:
    schema = {"title": "T", "properties": {"title": {"title": "Title", "type": "string"}, "$ref": {"type": "null"}}}
    assert flat(schema) == {"properties": {"title": {"type": "string"}, "$ref": {"type": "null"}}}


def test_a_schema_that_refers_to_itself_is_refused() -> None:
    schema = {"$defs": {"T": {"items": {"$ref": "#/$defs/T"}}}, "$ref": "#/$defs/T"}
    with pytest.raises(KitError, match="'T' refers to itself"):
        flat(schema)
