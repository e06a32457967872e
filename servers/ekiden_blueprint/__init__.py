"""One model of a blueprint file: lexer, parser, nodes with exact spans.

A blueprint is a Lean file whose declarations carry `@[blueprint ..]`: formal skeleton, prose and task list at once.
"""

from ekiden_blueprint.errors import BlueprintError
from ekiden_blueprint.lexer import Region, RegionKind, lex, masked
from ekiden_blueprint.model import (
    BlueprintNode,
    BodyKind,
    Command,
    CommandKind,
    Option,
    OptionForm,
    Reference,
    SyntaxProblem,
)
from ekiden_blueprint.parser import BlueprintFile, parse
from ekiden_blueprint.project import Project
from ekiden_blueprint.spans import Position, SourceText, Span

__all__ = [
    "BlueprintError",
    "BlueprintFile",
    "BlueprintNode",
    "BodyKind",
    "Command",
    "CommandKind",
    "Option",
    "OptionForm",
    "Position",
    "Project",
    "Reference",
    "Region",
    "RegionKind",
    "SourceText",
    "Span",
    "SyntaxProblem",
    "lex",
    "masked",
    "parse",
]
