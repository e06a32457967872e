"""The states of a store and their embeddings."""

import os
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from ekiden_store.arrow import pc
from ekiden_store.embeddings.cache import EmbeddingCache
from ekiden_store.embeddings.encoders import Encoder, EncoderIdentity, HashEncoder
from ekiden_store.embeddings.encoders_http import HttpEncoder
from ekiden_store.embeddings.fill import FillReport, fill_cache
from ekiden_store.embeddings.import_file import import_reference_cache
from ekiden_store.errors import StoreError
from ekiden_store.store import Store

if TYPE_CHECKING:
    from ekiden_config import StoreSettings
    from ekiden_store.snapshot import Snapshot


async def embed_states(
    store: Store,
    settings: "StoreSettings",
    *,
    hashes: bool = False,
    on_checkpoint: Callable[[FillReport], None] | None = None,
) -> FillReport:
    """Encode the states of a store that have no vector yet; whatever ends it, what was encoded is kept.

    Args:
        store: The store; its vectors are in its folder `embeddings`.
        settings: Which encoder.
        hashes: Whether to make vectors of hashes, which mean nothing, in place of asking the encoder.
        on_checkpoint: Called whenever vectors were written.

    Raises:
        StoreError: No encoder is configured, it stopped, or the vectors cannot be written.
    """
    async with AsyncExitStack() as opened:
        encoder: Encoder = HashEncoder() if hashes else await opened.enter_async_context(_encoder(settings))
        cache = EmbeddingCache(store.folder / "embeddings", encoder.identity)
        snapshot = opened.enter_context(store.snapshot())
        report = await fill_cache(cache, states(snapshot), encoder, on_checkpoint=on_checkpoint)
        with suppress(StoreError):  # nothing is lost: the next filling tries again
            await anyio.to_thread.run_sync(cache.merge)
        return report


def import_embeddings(store: Store, settings: "StoreSettings", path: Path) -> FillReport:
    """Take over the vectors of a file with `state_pp` and `embedding`, as made by the encoder of the settings.

    Raises:
        StoreError: No encoder is configured, it is no such file, or the vectors cannot be written.
    """
    return import_reference_cache(EmbeddingCache(store.folder / "embeddings", _identity(settings)), path)


def states(snapshot: "Snapshot") -> Iterator[str]:
    """Yield the texts of states; one may come again."""
    for batch in snapshot.scan(columns=["state_pp"], filter=pc.field("state_pp") != ""):
        yield from batch.column(0).unique().to_pylist()


def _encoder(settings: "StoreSettings") -> HttpEncoder:
    identity = _identity(settings)
    told = settings.encoder
    assert told is not None  # else it has no identity
    key = os.environ.get(told.key_env, "") if told.key_env else ""
    return HttpEncoder(told.address, identity, batch_size=told.batch_size, key=key)


def _identity(settings: "StoreSettings") -> EncoderIdentity:
    if settings.encoder is None:
        raise StoreError("No encoder is configured: say in the settings, under [store.encoder], where it is.")
    told = settings.encoder
    return EncoderIdentity(told.model, told.revision, told.pooling, told.dtype, told.template)
