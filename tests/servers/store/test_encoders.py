"""Encoders, on a real server of our own."""

import json
from collections.abc import Callable, Sequence
from typing import cast

import anyio
import numpy as np
import pytest

from ekiden_store.embeddings.encoders import (
    BatchRefusedError,
    EncoderIdentity,
    EncoderStoppedError,
    HashEncoder,
    Vector,
)
from ekiden_store.embeddings.encoders_http import HttpEncoder
from ekiden_store.errors import StoreError
from model_server import Answer, Heard, ModelServer

MEAN = EncoderIdentity("prover", "abc123", "mean", "float16")
LAST = EncoderIdentity("prover", "abc123", "last", "float16")
NO_PATH = Answer(status=404, body=b'{"detail": "Not Found"}')


def answer(value: object, status: int = 200) -> Answer:
    return Answer(status=status, body=json.dumps(value).encode())


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 0.5, -1.0]


def texts_of(heard: Heard) -> list[str]:
    text = cast("str | list[str]", heard.json["text"])
    return [text] if isinstance(text, str) else text


def asked(server: ModelServer) -> list[str]:
    return [heard.path for heard in server.heard]


def encode(
    server: ModelServer, texts: Sequence[str], identity: EncoderIdentity = MEAN, **options: object
) -> list[Vector | None]:
    """Encode texts in one batch, and at once again if the first attempt fails."""

    async def run() -> list[Vector | None]:
        given = {"back_off_s": 0.0, **options}
        async with HttpEncoder(server.address, identity, **given) as encoder:  # pyright: ignore[reportArgumentType]  # any option
            return await encoder.encode(texts)

    return anyio.run(run)


def listed(vectors: list[Vector | None]) -> list[object]:
    return [None if vector is None else vector.tolist() for vector in vectors]


def as_one_object(vectors: list[list[float]]) -> object:
    return {"embeddings": vectors}


def as_many_objects(vectors: list[list[float]]) -> object:
    return [{"embedding": vector, "meta_info": {"id": "1"}} for vector in vectors]


@pytest.mark.parametrize("shape", [as_one_object, as_many_objects])
def test_both_shapes_of_a_batch_are_read(shape: Callable[[list[list[float]]], object]) -> None:
    with ModelServer(responder=lambda heard: answer(shape([vector_of(text) for text in texts_of(heard)]))) as server:
        vectors = encode(server, ["a", "⊢ bc"], dimensions=3)
        assert listed(vectors) == [vector_of("a"), vector_of("⊢ bc")]
        assert [heard.json for heard in server.heard] == [{"text": ["a", "⊢ bc"], "hidden_size": 3}]
        assert all(vector is not None and vector.dtype == np.float32 for vector in vectors)


def test_the_shape_of_a_single_vector_is_read() -> None:
    with ModelServer(answer({"embedding": [1, 2.5]})) as server:
        assert listed(encode(server, ["a"])) == [[1.0, 2.5]]
        assert server.heard[0].json == {"text": ["a"]}


def test_a_missing_vector_is_none_and_never_a_zero() -> None:
    with ModelServer(answer({"embeddings": [[1.0], None]})) as server:
        assert listed(encode(server, ["a", "b"])) == [[1.0], None]


def test_what_is_sent_is_the_template_filled_in_once() -> None:
    identity = EncoderIdentity("prover", "1", "mean", "float16", template="<state>{text}</state>")
    with ModelServer(answer({"embeddings": [[1.0]]})) as server:
        encode(server, ["a {text} b"], identity, key="secret-key")
        assert texts_of(server.heard[0]) == ["<state>a {text} b</state>"]
        assert server.heard[0].headers["authorization"] == "Bearer secret-key"


@pytest.mark.parametrize("status", [400, 404])
def test_a_server_without_encode_is_asked_for_hidden_states_one_text_at_a_time(status: int) -> None:
    def respond(heard: Heard) -> Answer:
        if heard.path == "/encode":
            return Answer(status=status, body=b"{}")
        tokens = [[float(len(texts_of(heard)[0])), 2.0], [0.0, 4.0]]
        return answer({"text": "x", "meta_info": {"hidden_states": [tokens, [[9.0, 9.0]]]}})

    async def run(server: ModelServer) -> list[object]:
        async with HttpEncoder(server.address, MEAN) as encoder:
            return [listed(await encoder.encode(["ab", "abcd"])), listed(await encoder.encode(["abcdef"]))]

    with ModelServer(responder=respond) as server:
        assert anyio.run(run, server) == [[[1.0, 3.0], [2.0, 3.0]], [[3.0, 3.0]]]
        assert asked(server) == ["/encode", "/generate", "/generate", "/generate"]
        sampling = {"temperature": 0.0, "max_new_tokens": 1}
        assert server.heard[1].json == {"text": "ab", "sampling_params": sampling, "return_hidden_states": True}


def test_the_fall_back_is_refused_when_it_would_pool_otherwise() -> None:
    with ModelServer(NO_PATH) as server:
        with pytest.raises(EncoderStoppedError, match="pooled by 'mean', but the identity says 'last'"):
            encode(server, ["a"], LAST)
        assert asked(server) == ["/encode"]


def test_a_server_with_neither_path_is_told() -> None:
    with ModelServer(NO_PATH, NO_PATH) as server, pytest.raises(EncoderStoppedError, match="neither has /encode"):
        encode(server, ["a"])


def test_a_bad_request_later_on_is_the_batch_and_not_the_path() -> None:
    async def run(server: ModelServer) -> None:
        async with HttpEncoder(server.address, MEAN) as encoder:
            await encoder.encode(["a"])
            with pytest.raises(BatchRefusedError, match="too long"):
                await encoder.encode(["b"])

    with ModelServer(answer({"embeddings": [[1.0]]}), answer({"error": "too long"}, 400)) as server:
        anyio.run(run, server)
        assert asked(server) == ["/encode", "/encode"]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_failing_server_is_asked_again(status: int) -> None:
    failed = answer({"error": "out of memory"}, status)
    with ModelServer(failed, failed, answer({"embeddings": [[1.0]]})) as server:
        assert listed(encode(server, ["a"])) == [[1.0]]
    with ModelServer(failed, failed) as server, pytest.raises(BatchRefusedError, match=r"2 times.*out of memory"):
        encode(server, ["a"], attempts=2)


def test_a_dropped_connection_is_tried_again_and_then_told() -> None:
    cut = Answer(body=b'{"embeddings": [[1.0]]}', cut_after=1)
    with ModelServer(cut, answer({"embeddings": [[1.0]]})) as server:
        assert listed(encode(server, ["a"])) == [[1.0]]
    with ModelServer(cut, cut, cut) as server, pytest.raises(EncoderStoppedError, match="cannot be reached"):
        encode(server, ["a"])


def test_nobody_listening_is_told() -> None:
    with ModelServer() as server:
        address = server.address

    async def run() -> None:
        async with HttpEncoder(address, MEAN, back_off_s=0.0) as encoder:
            await encoder.encode(["a"])

    with pytest.raises(EncoderStoppedError, match="cannot be reached"):
        anyio.run(run)


def test_a_frozen_server_is_told_from_a_slow_one() -> None:
    held = Answer(body=b"{}", pause_after=0)
    sick = ModelServer(held, responder=lambda heard: answer({}, 503 if heard.path == "/health" else 200))
    with sick as server:
        with pytest.raises(EncoderStoppedError, match=r"frozen: no answer within 0\.2 s, and /health says HTTP 503"):
            encode(server, ["a"], timeout_s=0.2)
        assert asked(server) == ["/encode", "/health"]
    well = ModelServer(held, responder=lambda heard: answer({} if heard.path == "/health" else {"embedding": [1.0]}))
    with well as server:
        assert listed(encode(server, ["a"], timeout_s=0.2)) == [[1.0]]
        assert asked(server) == ["/encode", "/health", "/encode"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"embeddings": [[1.0]]}, "1 vectors for 2 texts"),
        ({"vectors": []}, r"\['vectors'\], none of them an embedding"),
        ("text", "holds no embeddings"),
        ({"embeddings": [[1.0], ["x"]]}, "a vector that is none"),
        ({"embeddings": [[1.0], ["1.0"]]}, "a vector that is none"),
        ({"embeddings": [[1.0], [True]]}, "a vector that is none"),
        ({"embeddings": [[1.0], [10**400]]}, "a vector that is none"),
        ({"embeddings": [[1.0], [[1.0]]]}, r"of the shape \(1, 1\)"),
        ({"embeddings": [[1.0], [[1.0], [1.0, 2.0]]]}, "a vector that is none"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(value: object, why: str) -> None:
    with ModelServer(answer(value)) as server, pytest.raises(BatchRefusedError, match=why):
        encode(server, ["a", "b"])


def test_an_answer_that_is_no_json_is_refused() -> None:
    with ModelServer(Answer(body=b"<html>")) as server, pytest.raises(BatchRefusedError, match="no JSON"):
        encode(server, ["a"])


@pytest.mark.parametrize("states", [[], [[[1.0], [1.0, 2.0]]], [[[[1.0]]]], None])
def test_hidden_states_that_make_no_vector_are_never_one(states: object) -> None:
    with ModelServer(NO_PATH, answer([{"meta_info": {"hidden_states": states}}])) as server:
        if states == []:
            assert encode(server, ["a"]) == [None]
        else:
            with pytest.raises(EncoderStoppedError, match="hidden states"):
                encode(server, ["a"])


def test_a_server_that_lets_nobody_in_is_told() -> None:
    with ModelServer(answer({"error": "who?"}, 401)) as server, pytest.raises(EncoderStoppedError, match="let us in"):
        encode(server, ["a"])


@pytest.mark.parametrize("address", ["localhost:3", "ftp://host", "http://", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(StoreError, match="http://HOST:PORT"):
        HttpEncoder(address, MEAN)


def test_an_identity_is_whole_and_differs_in_every_part() -> None:
    variants = [
        MEAN,
        EncoderIdentity("other", "abc123", "mean", "float16"),
        EncoderIdentity("prover", "abc124", "mean", "float16"),
        LAST,
        EncoderIdentity("prover", "abc123", "mean", "nf4"),
        EncoderIdentity("prover", "abc123", "mean", "float16", "[{text}]"),
    ]
    assert len({identity.sha256 for identity in variants}) == len(variants)
    with pytest.raises(StoreError, match="revision of an encoder is missing"):
        EncoderIdentity("prover", "", "mean", "float16")
    with pytest.raises(StoreError, match="not exactly once"):
        EncoderIdentity("prover", "1", "mean", "float16", "no place")


def test_the_hash_encoder_is_the_same_for_ever_and_says_that_it_means_nothing() -> None:
    encoder = HashEncoder(dimensions=3)
    vectors = anyio.run(encoder.encode, ["⊢ True", "⊢ False", "⊢ True"])
    first, second, third = [np.asarray(vector) for vector in vectors]
    assert np.array_equal(first, third)
    assert not np.array_equal(first, second)
    assert np.allclose(np.linalg.norm(first), 1)
    assert [round(float(number), 6) for number in first] == [-0.434216, 0.553407, 0.710772]
    assert "without-meaning" in encoder.identity.model
    assert HashEncoder(dimensions=4).identity != encoder.identity
