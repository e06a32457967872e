"""The parts that the content of a message is made of: text, and perhaps images."""

from collections.abc import Mapping
from dataclasses import dataclass

from ekiden_budget.wire.call import BadRequestError, CallRules
from ekiden_budget.wire.fields import Tree, as_object, mapping_of, refusal, shown
from ekiden_budget.wire.weight import Load


@dataclass(frozen=True, slots=True)
class PartTable:
    """The parts of one dialect.

    Attributes:
        field: The field that holds the messages, as settings name it.
        texts: Types of parts that a model reads as the text in them, and where the text is.
        passed: Types of parts that hold no more than their bytes say.
        image: Type of the part that is an image.
    """

    field: str
    texts: Mapping[str, str]
    passed: frozenset[str]
    image: str

    def read(self, value: object, at: str, rules: CallRules, load: Load) -> Tree:
        """Look at one part and count it if it is an image.

        Raises:
            BadRequestError: It is no part, or of a type that is not passed on.
        """
        part = as_object(value, at)
        kind = part.get("type")
        if not isinstance(kind, str):
            raise BadRequestError(f"{at}.type must be a string such as {next(iter(self.texts))!r}; it is "
                                  f"{shown(kind)}.", at)  # fmt: skip
        if kind in self.texts:
            name = self.texts[kind]
            if not isinstance(part.get(name), str):
                raise BadRequestError(f"{at}.{name} must be a string; it is {shown(part.get(name))}.", at)
        elif kind == self.image:
            count_image(at, rules, load)
            load.image_bytes += _picture_bytes(part)
        elif kind not in self.passed and not rules.allow_field(self.field, kind):
            raise refusal(self.field, kind, at=at)
        return part


def count_image(at: str, rules: CallRules, load: Load) -> None:
    """Count an image, if images may be sent.

    Raises:
        BadRequestError: They may not.
    """
    if not rules.allow_images:
        raise BadRequestError(
            f"{at} is an image; only text is passed on. Whoever runs the budget can allow images with the setting "
            "'budget.allow_images'.",
            at,
        )
    load.images += 1


def _picture_bytes(part: Tree) -> int:
    """Return how many bytes of a part are a picture written in base 64, which no model reads as text."""
    url = part.get("image_url")
    fields = mapping_of(url) or mapping_of(part.get("source"))
    url = fields.get("url", url)
    if isinstance(url, str) and url.startswith("data:image/"):
        return len(url)
    data = fields.get("data")
    return len(data) if fields.get("type") == "base64" and isinstance(data, str) else 0
