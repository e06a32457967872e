"""Two fillers that are killed again and again, and a server that answers nonsense now and then."""

import hashlib
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import cast

import numpy as np
import pytest

from ekiden_store.embeddings.cache import EmbeddingCache
from ekiden_store.embeddings.encoders import EncoderIdentity
from model_server import Answer, Heard, ModelServer, refusal

IDENTITY = EncoderIdentity("m", "1", "mean", "bfloat16")
TEXTS = [f"x{number} : ℕ ⊢ x{number} + 0 = x{number}" for number in range(3000)]
CHECKPOINT, BATCH, WORKERS, KILLS = 40, 8, 2, 6
FILLER = """
import sys
from pathlib import Path

import anyio

from ekiden_store.embeddings.cache import EmbeddingCache
from ekiden_store.embeddings.fill import fill_cache
from ekiden_store.embeddings.encoders import EncoderIdentity
from ekiden_store.embeddings.encoders_http import HttpEncoder

identity = EncoderIdentity("m", "1", "mean", "bfloat16")
texts = [f"x{number} : ℕ ⊢ x{number} + 0 = x{number}" for number in range(3000)]
checkpoint, batch, workers = map(int, sys.argv[3:])

async def run():
    async with HttpEncoder(sys.argv[1], identity, batch_size=batch, concurrency=workers, back_off_s=0.01) as encoder:
        cache = EmbeddingCache(Path(sys.argv[2]), identity)
        await fill_cache(cache, texts, encoder, checkpoint=checkpoint, max_refused_share=1.0)
        cache.merge()

anyio.run(run)
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Server:
    """An encode server that fails in all the ways that are known, now and then; `encoded` is what it answered well."""

    def __init__(self) -> None:
        self.encoded: Counter[str] = Counter()
        self._chance = random.Random(7)
        self._lock = Lock()

    def __call__(self, heard: Heard) -> Answer:
        told = heard.json.get("text")
        texts = cast("list[str]", told) if isinstance(told, list) else [str(told)]
        with self._lock:
            chance, odd = self._chance.random(), self._chance.randrange(len(texts))
        if chance < 0.06:
            return refusal(500 if chance < 0.03 else 429)
        vectors: list[object] = [vector(text) for text in texts]
        if chance < 0.09:
            vectors.append(vectors[0])
            return json_answer({"embeddings": vectors})
        flaws = (None, [0.0] * 16, [1.0] * 15, [float("nan")] * 16)
        if chance < 0.2:
            vectors[odd] = flaws[int(chance * 1000) % len(flaws)]
        with self._lock:
            self.encoded.update(text for text, made in zip(texts, vectors, strict=True) if made == vector(text))
        shapes = ({"embeddings": vectors}, [{"embedding": each} for each in vectors])
        return json_answer(shapes[int(chance * 100) % 2])


def vector(text: str) -> list[float]:
    return [(byte - 127.5) / 128 for byte in hashlib.shake_256(text.encode()).digest(16)]


def json_answer(value: object) -> Answer:
    return Answer(body=json.dumps(value).encode())


def start(server: ModelServer, folder: Path) -> "subprocess.Popen[str]":
    numbers = [str(number) for number in (CHECKPOINT, BATCH, WORKERS)]
    command = [sys.executable, "-c", FILLER, server.address, str(folder), *numbers]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_fillers_that_are_killed_again_and_again_encode_nothing_twice_but_what_was_not_written(tmp_path: Path) -> None:
    encoder, chance = Server(), random.Random(1)
    with ModelServer(responder=encoder) as server:
        for _ in range(KILLS):
            fillers = [start(server, tmp_path), start(server, tmp_path)]
            server.wait_for(len(server.heard) + chance.randrange(2, 40), timeout_s=100)
            for filler in fillers:
                filler.kill()
                filler.communicate()
        again = dict(encoder.encoded)
        last = start(server, tmp_path)
        _, errors = last.communicate(timeout=200)
        assert last.returncode == 0, errors
    cache = EmbeddingCache(tmp_path, IDENTITY)
    found = cache.look_up(TEXTS)
    assert cache.notes == []
    assert found.found.mean() > 0.95, "only what the server had no vector for is missing"
    for text, made in zip(np.array(TEXTS)[found.found], found.vectors[found.found], strict=True):
        assert np.allclose(made, vector(str(text))), text
    assert again, "the fillers were killed before they encoded anything"
    twice = sum(encoder.encoded.values()) - len(encoder.encoded)
    assert twice <= KILLS * (CHECKPOINT + BATCH + WORKERS * BATCH), "only what no part held yet is encoded again"
