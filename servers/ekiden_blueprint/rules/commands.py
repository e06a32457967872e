"""Check 8: the header is as agreed, and between nodes stand only the commands that are allowed."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from ekiden_blueprint.attributes import attribute_entries
from ekiden_blueprint.findings import Fix
from ekiden_blueprint.model import DEFINITION_KEYWORDS, PROOF_KEYWORDS
from ekiden_blueprint.rules.soundness import REPLACES
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_blueprint.model import BlueprintNode, Command
    from ekiden_blueprint.rules.scene import Place, Scene

_SET_OPTION = re.compile(r"set_option\s+(\S+)\s+(\S+)(\s+in\b)?")
_RUNS = frozenset({"initialize", "builtin_initialize", "run_cmd", "run_elab", "run_meta"})
_NODE_KEYWORDS = PROOF_KEYWORDS | DEFINITION_KEYWORDS

_RULE_OF_KIND = {
    "axiom": ("BP202", "claims what nobody proves; make it a lemma or theorem"),
    "example": ("BP203", "has no name; make it a lemma or remove it"),
    "opaque": ("BP204", "hides its value; use `def`"),
    "declaration": ("BP205", 'has no blueprint attribute; put `@[blueprint ".."]` before it'),
    "namespace": ("BP206", "makes labels and Lean names differ; remove it and write full names"),
    "mutual": ("BP207", "cannot be ordered into nodes; write the declarations one after the other"),
    "notation": ("BP805", "changes what later statements mean; write it out"),
    "macro": ("BP805", "changes what later statements mean; write it out"),
    "syntax": ("BP805", "changes what later statements mean; write it out"),
    "variable": ("BP806", "changes later statements; write binders in each statement"),
    "attribute": ("BP809", "changes how earlier declarations act; write attributes on the node itself"),
}
_NEVER = frozenset({"axiom"})
"""Kinds that a project cannot allow by their keyword."""


def check_commands(scene: Scene) -> None:
    """Run the rules on commands, headers and attributes."""
    modules = {place.file.module for place in scene.places}
    for place in scene.places:
        _check_stray(scene, place)
        for command in place.file.commands:
            _check_command(scene, place, command, modules)
        _check_header(scene, place, modules)
        for node in place.nodes:
            _check_attributes(scene, place, node)


def _check_stray(scene: Scene, place: Place) -> None:
    """Report code before the first command."""
    commands = place.file.commands
    before = place.code[: commands[0].span.start if commands else len(place.code)]
    if before.strip():
        span = Span(len(before) - len(before.lstrip()), len(before.rstrip()))
        scene.report("BP811", place, span, f"{_first_line(place, span)!r} is no command; remove it.")


def _check_command(scene: Scene, place: Place, command: Command, modules: set[str]) -> None:
    kind, keyword = command.kind, command.keyword
    if kind == "node":
        _check_keyword(scene, place, command)
    elif kind in ("section", "end"):
        if set(command.modifiers) - {"noncomputable"}:
            _report(scene, place, command, "BP811", "has modifiers that change what it holds; remove them")
    elif kind == "import":
        _check_import(scene, place, command, modules)
    elif kind == "set_option":
        _check_set_option(scene, place, command)
    elif kind == "open":
        _check_open(scene, place, command)
    elif kind in _RULE_OF_KIND:
        if kind == "axiom" and scene.allowances.assumptions.issuperset(command.names or ("",)):
            _check_assumption(scene, place, command)
        elif kind in _NEVER or keyword not in scene.allowances.commands:
            _report(scene, place, command, *_RULE_OF_KIND[kind])
    elif kind == "other" and keyword not in scene.allowances.commands and command.span not in place.unread:
        _check_other(scene, place, command)


def _check_keyword(scene: Scene, place: Place, command: Command) -> None:
    """Report a node whose keyword no node may have."""
    keyword = command.keyword
    node = place.node_at(command.span.end - 1)
    if node is None or not node.keyword or node.keyword in _NODE_KEYWORDS:
        return
    if keyword == "axiom" and node.full_name in scene.allowances.assumptions:
        return
    rule, why = _RULE_OF_KIND.get(keyword, ("BP205", f"cannot be a node; use one of {_words(_NODE_KEYWORDS)}"))
    scene.report(rule, place, node.name_span, f"The {keyword} {node.name!r} {why}.")


def _check_assumption(scene: Scene, place: Place, command: Command) -> None:
    message = f"The axiom {command.names[0]!r} is a declared assumption without prose; make it a node."
    scene.report("BP205", place, _start(place, command.span), message)


def _check_import(scene: Scene, place: Place, command: Command, modules: set[str]) -> None:
    allowed = {*scene.allowances.imports, *scene.allowances.more_imports, *modules}
    for name in command.names:
        if name not in allowed:
            message = f"The import of {name!r} is not allowed (allowed: {_words(allowed)}); remove it."
            scene.report("BP804", place, command.span, message)
        elif name in modules and place.path in scene.project.imported[place.path] and _leads_back(scene, place, name):
            message = f"The import of {name!r} leads back to this file; remove one of the imports on the way."
            scene.report("BP804", place, command.span, message)


def _leads_back(scene: Scene, place: Place, module: str) -> bool:
    paths = [other.path for other in scene.places if other.file.module == module]
    return any(path == place.path or place.path in scene.project.imported[path] for path in paths)


def _check_set_option(scene: Scene, place: Place, command: Command) -> None:
    found = _SET_OPTION.search(place.code, *command.span)
    name, value, scoped = found.groups() if found else ("", "", None)
    header = dict(scene.allowances.header_options)
    in_header = command.span.start < place.header_end and scoped is None
    if (in_header and header.get(name) == value) or name in scene.allowances.options:
        return
    way = f"; the header sets it to {header[name]!r}" if name in header else ""
    message = f"`set_option {name} {value}` is not the header's{way}. Remove it."
    scene.report("BP807", place, command.span, message)


def _check_open(scene: Scene, place: Place, command: Command) -> None:
    text = place.code[slice(*command.span)]
    scoped = text.rstrip().endswith(" in")
    plain = command.keyword == "open" and not scoped
    if plain and scene.allowances.header_opens and command.span.start < place.header_end:
        return
    names = [name for name in command.names if name != "scoped"]
    if command.keyword == "open" and names and scene.allowances.opens.issuperset(names):
        return
    message = (
        f"{_first_line(place, command.span)!r} changes what names mean; write full names, or open it in the header."
    )
    scene.report("BP808", place, command.span, message)


def _check_other(scene: Scene, place: Place, command: Command) -> None:
    keyword = command.keyword
    if keyword.startswith("#") or keyword in _RUNS:
        fix = Fix(command.span, "") if keyword.startswith("#") else None
        scene.report("BP810", place, command.span, f"`{keyword}` runs a program or prints; remove it.", fix)
        return
    _report(scene, place, command, "BP811", "is not allowed between nodes; remove it, or let the project allow it")


def _report(scene: Scene, place: Place, command: Command, rule: str, why: str) -> None:
    scene.report(rule, place, _start(place, command.span), f"{_first_line(place, command.span)!r} {why}.")


def _start(place: Place, whole: Span) -> Span:
    """Give the first line of a command, as far as it is the command's."""
    start, end = whole
    code = place.code[start:end]
    start += len(code) - len(code.lstrip())
    line_end = place.text.find("\n", start, end)
    return Span(start, end if line_end < 0 else line_end)


def _first_line(place: Place, span: Span, limit: int = 60) -> str:
    line = " ".join(place.text[slice(*_start(place, span))].split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _words(words: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(words)) or "none"


def _check_header(scene: Scene, place: Place, modules: set[str]) -> None:
    header = [command for command in place.file.commands if command.span.start < place.header_end]
    imports = {name: command for command in header if command.kind == "import" for name in command.names}
    builds_on_another = bool(imports.keys() & (modules - {place.file.module}))
    options: dict[str, Command] = {}
    for command in header:
        found = _SET_OPTION.search(place.code, *command.span) if command.kind == "set_option" else None
        if found and not found[3]:
            options.setdefault(found[1], command)
    wanted_imports = () if builds_on_another else scene.allowances.imports
    at = 0
    for name in wanted_imports:
        if name not in imports:
            message = f"The header does not import {name!r}; add `import {name}`."
            scene.report("BP801", place, Span(0, 0), message, Fix(Span(at, at), f"import {name}\n"))
        else:
            at = _after_line(place, imports[name])
    at = max([_after_line(place, command) for command in imports.values()], default=0)
    for name, value in scene.allowances.header_options:
        if name not in options:
            message = f"The header does not set the option {name!r}; add `set_option {name} {value}`."
            line = f"set_option {name} {value}\n"
            fix = Fix(Span(at, at), line if place.text[:at].endswith("\n") or not at else f"\n{line}")
            scene.report("BP802", place, Span(0, 0), message, fix)
        else:
            at = _after_line(place, options[name])
    names = [name for name, _ in scene.allowances.header_options]
    found = [imports[name] for name in wanted_imports if name in imports] + [
        options[name] for name in names if name in options
    ]
    _check_order(scene, place, found)


def _check_order(scene: Scene, place: Place, found: Sequence[Command]) -> None:
    for earlier, later in itertools.pairwise(found):
        if later.span.start < earlier.span.start:
            first, second = _first_line(place, later.span), _first_line(place, earlier.span)
            message = f"{first!r} stands before {second!r} in the header; put it after it."
            scene.report("BP803", place, later.span, message)


def _after_line(place: Place, command: Command) -> int:
    end = place.text.find("\n", command.span.end)
    return len(place.text) if end < 0 else end + 1


def _check_attributes(scene: Scene, place: Place, node: BlueprintNode) -> None:
    for name, span in attribute_entries(place.code, *node.span):
        if node.blueprint.holds(span) or name in scene.allowances.attributes | REPLACES:
            continue
        message = f"The attribute {name!r} of {node.name!r} is not allowed; remove it, or let the project allow it."
        scene.report("BP812", place, span, message)
