"""JSON schemas in the shape every host understands."""

from typing import Any, cast

from ekiden_kit.errors import KitError

Schema = dict[str, Any]

_NAMED_SCHEMAS = ("properties", "patternProperties")
"""Keywords whose keys are names of the author's, not keywords."""


def flat(schema: Schema) -> Schema:
    """Return a schema with every `$ref` replaced by what it points to, and without generated titles.

    Some hosts turn a property that is a `$ref` into a string; titles repeat the property's name at the model's expense.

    Raises:
        KitError: If the schema refers to itself.
    """
    definitions = cast("dict[str, Schema]", schema.get("$defs", {}))
    return cast("Schema", _inlined({key: value for key, value in schema.items() if key != "$defs"}, definitions, ()))


def _inlined(node: object, definitions: dict[str, Schema], inside: tuple[str, ...]) -> object:
    if isinstance(node, list):
        return [_inlined(item, definitions, inside) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    table = dict(cast("Schema", node))
    if isinstance(reference := table.pop("$ref", None), str):
        name = reference.rpartition("/")[2]
        if name in inside:
            raise KitError(f"The schema of {name!r} refers to itself; give it a flat shape.")
        table = {**definitions[name], **table}
        inside = (*inside, name)
    if isinstance(table.get("title"), str):
        del table["title"]
    return {
        key: {name: _inlined(child, definitions, inside) for name, child in cast("Schema", value).items()}
        if key in _NAMED_SCHEMAS
        else _inlined(value, definitions, inside)
        for key, value in table.items()
    }
