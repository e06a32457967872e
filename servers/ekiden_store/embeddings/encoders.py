"""Encoders: what turns texts into vectors."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ekiden_store.errors import StoreError

Vector: TypeAlias = NDArray[np.float32]


class EncoderStoppedError(StoreError):
    """An encoder that answers nothing any more, or never did."""


class BatchRefusedError(StoreError):
    """A batch that an encoder cannot encode; smaller ones may still go."""


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """All that a vector depends on beside its text; vectors of different identities never mix.

    Attributes:
        model: The model.
        revision: Its revision, or the hash of its weights.
        pooling: How the vectors of the tokens become one: `mean`, `last`.
        dtype: What the model computes in: `bfloat16`, `float16`, `nf4`.
        template: What is sent for a text, with `{text}` where it goes.
    """

    model: str
    revision: str
    pooling: str
    dtype: str
    template: str = "{text}"

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value.strip():
                raise StoreError(f"The {name} of an encoder is missing; vectors are not kept without it.")
        if self.template.count("{text}") != 1:
            raise StoreError(f"The template {self.template!r} holds '{{text}}' not exactly once.")

    @property
    def json(self) -> str:
        """All of it as JSON, always spelt the same."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @property
    def sha256(self) -> str:
        """The hash of all of it."""
        return hashlib.sha256(self.json.encode("utf-8", "surrogatepass")).hexdigest()

    def prompt(self, text: str) -> str:
        """Return what is sent for a text."""
        before, after = self.template.split("{text}")
        return f"{before}{text}{after}"


class Encoder(Protocol):
    """Turns texts into vectors, a batch at a time."""

    @property
    def identity(self) -> EncoderIdentity:
        """What its vectors depend on."""
        ...

    @property
    def batch_size(self) -> int:
        """How many texts it takes at once."""
        ...

    @property
    def concurrency(self) -> int:
        """How many batches it works on at once."""
        ...

    async def encode(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return a vector for each text, in their order; None for a text that it has none for.

        Raises:
            BatchRefusedError: It cannot encode this batch.
            EncoderStoppedError: It answers nothing any more.
        """
        ...


@dataclass(frozen=True, slots=True)
class HashEncoder:
    """Vectors made from the hash of a text: the same everywhere, without a model, and without any meaning.

    Attributes:
        dimensions: How long they are.
        batch_size: How many texts it takes at once.
        concurrency: How many batches it works on at once.
    """

    dimensions: int = 64
    batch_size: int = 256
    concurrency: int = 1

    @property
    def identity(self) -> EncoderIdentity:
        """What the vectors depend on."""
        return EncoderIdentity("shake256-without-meaning", f"1-{self.dimensions}", "none", "float32")

    async def encode(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return a vector of length 1 for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        seed = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(4 * self.dimensions)
        numbers = np.frombuffer(seed, dtype="<u4").astype(np.float64) / 2**31 - 1
        return (numbers / np.linalg.norm(numbers)).astype(np.float32)
