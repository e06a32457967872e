"""What a project's settings allow in its blueprint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_blueprint.rules.allowances import ATTRIBUTES, Allowances

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_config.blueprint import BlueprintSettings


def allowances_of(settings: BlueprintSettings, assumed: Iterable[str] = ()) -> Allowances:
    """Return what the settings allow, and these assumptions besides."""
    options = [option.split() for option in settings.header_options]
    return Allowances(
        imports=settings.imports,
        more_imports=frozenset(settings.more_imports),
        header_options=tuple((name, value) for name, value in options),
        opens=frozenset(settings.opens),
        commands=frozenset(settings.commands),
        attributes=ATTRIBUTES | frozenset(settings.more_attributes),
        assumptions=frozenset((*settings.assumptions, *assumed)),
    )
