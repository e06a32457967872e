"""An encoder behind an address: `POST /encode`, or a generating model's hidden states where that is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast
from urllib.parse import urlsplit

import anyio
import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from ekiden_store.embeddings.encoders import BatchRefusedError, EncoderIdentity, EncoderStoppedError, Vector
from ekiden_store.errors import StoreError

if TYPE_CHECKING:
    import httpx2

_CONNECT_S = 15.0
_HEALTH_S = 10.0
_LONGEST_WAIT_S = 60.0
_SHOWN = 200
_NO_SUCH_PATH = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED})
_ANSWER = TypeAdapter(object)  # four times as fast as json
_Path = Literal["/encode", "/generate"]


class HttpEncoder:
    """An encode server. A context manager; `encode` is called inside it.

    A server without `/encode` (it answers 400 or 404 to the first batch) is asked for the hidden states of `/generate`
    instead, one text at a time: servers are known that fill in the states of a batch's first text only.
    """

    def __init__(
        self,
        address: str,
        identity: EncoderIdentity,
        *,
        dimensions: int | None = None,
        batch_size: int = 64,
        concurrency: int = 2,
        attempts: int = 3,
        back_off_s: float = 1.0,
        timeout_s: float | None = None,
        key: str = "",
    ) -> None:
        """Prepare.

        Args:
            address: Where it is, such as `http://127.0.0.1:30000`.
            identity: What its vectors depend on; the server cannot be asked.
            dimensions: How long its vectors are; None: as long as the first.
            batch_size: How many texts go into one request.
            concurrency: How many requests are under way at once.
            attempts: How often a request is sent if the server fails.
            back_off_s: How long to wait before the second attempt; twice as long before each further one.
            timeout_s: How long an answer may take; None: 15 seconds a text, between 30 and 90 in all.
            key: Sent as a bearer token.

        Raises:
            StoreError: The address or a number makes no sense.
        """
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise StoreError(f"The address {address!r} of an encoder is not 'http://HOST:PORT'.")
        if min(batch_size, concurrency, attempts) < 1:
            raise StoreError("An encoder's batch size, concurrency and attempts are at least 1.")
        self.identity = identity
        self.batch_size = batch_size
        self.concurrency = concurrency
        self._address = address.rstrip("/")
        self._dimensions = dimensions
        self._attempts = attempts
        self._back_off_s = back_off_s
        self._timeout_s = timeout_s
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._path: _Path | None = None
        self._probing = anyio.Lock()  # guards the first batch: only that one tells which path there is
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        import httpx2

        limits = httpx2.Limits(max_connections=self.concurrency + 1)
        self._client = httpx2.AsyncClient(base_url=self._address, headers=self._headers, limits=limits, trust_env=False)
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.__aexit__(kind, error, trace)
            self._client = None

    async def encode(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return a vector for each text, in their order; None for a text that the server had none for.

        Raises:
            BatchRefusedError: The server cannot encode this batch.
            EncoderStoppedError: It answers nothing any more.
        """
        prompts = [self.identity.prompt(text) for text in texts]
        if not prompts:
            return []
        if self._path is None:
            async with self._probing:
                if self._path is None:
                    return await self._first(prompts)
        return await self._by(self._path, prompts)

    async def _first(self, prompts: list[str]) -> list[Vector | None]:
        try:
            vectors = await self._by("/encode", prompts)
        except _NoSuchPathError as missing:
            if self.identity.pooling != "mean":
                raise EncoderStoppedError(
                    f"{self._address} has no /encode ({missing}). The hidden states of /generate would be pooled by "
                    f"'mean', but the identity says {self.identity.pooling!r}: start the server for embeddings."
                ) from missing
            try:
                vectors = await self._by("/generate", prompts)
            except BatchRefusedError as error:
                raise EncoderStoppedError(
                    f"{self._address} neither has /encode ({missing}) nor gives hidden states: {error}"
                ) from error
            self._path = "/generate"
            return vectors
        self._path = "/encode"
        return vectors

    async def _by(self, path: _Path, prompts: list[str]) -> list[Vector | None]:
        if path == "/encode":
            body: dict[str, object] = {"text": prompts}
            if self._dimensions is not None:
                body["hidden_size"] = self._dimensions
            return _encoded(await self._answer(path, body, len(prompts)), len(prompts))
        vectors: list[Vector | None] = []
        for prompt in prompts:
            sampling = {"temperature": 0.0, "max_new_tokens": 1}
            body = {"text": prompt, "sampling_params": sampling, "return_hidden_states": True}
            vectors.append(_pooled(await self._answer(path, body, 1)))
        return vectors

    async def _answer(self, path: _Path, body: dict[str, object], texts: int) -> object:
        """Send a request until it is answered, and return the answer's JSON."""
        wait_s = self._back_off_s
        for _ in range(self._attempts - 1):
            told = await self._attempt(path, body, texts)
            if not isinstance(told, _Failure):
                return told
            await anyio.sleep(min(max(wait_s, told.retry_after_s), _LONGEST_WAIT_S))
            wait_s *= 2
        told = await self._attempt(path, body, texts)
        if not isinstance(told, _Failure):
            return told
        if told.is_transport:
            raise EncoderStoppedError(
                f"The encoder at {self._address} cannot be reached: {told.why}. Start it and run this again; "
                "what is encoded is kept."
            )
        raise BatchRefusedError(f"{self._address}{path} failed {self._attempts} times: {told.why}")

    async def _attempt(self, path: _Path, body: dict[str, object], texts: int) -> object:
        import httpx2

        assert self._client is not None, "encode is called inside `async with`"
        limit_s = self._timeout_s or min(90.0, max(30.0, 15.0 * texts))
        timeout = httpx2.Timeout(limit_s, connect=_CONNECT_S)
        try:
            with anyio.fail_after(limit_s + _CONNECT_S):  # an answer that trickles in never times out by itself
                answer = await self._client.post(path, json=body, timeout=timeout)
        except (TimeoutError, httpx2.ReadTimeout):
            await self._require_health(limit_s)
            return _Failure(f"no answer within {limit_s:g} s", is_transport=True)
        except httpx2.HTTPError as error:
            return _Failure(f"{type(error).__name__}: {error}", is_transport=True)
        if answer.is_success:
            return _json(answer.content)
        told = f"HTTP {answer.status_code}: {answer.text[:_SHOWN]}"
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            return _Failure(told, retry_after_s=_seconds(answer.headers.get("retry-after", "")))
        if answer.status_code in _NO_SUCH_PATH and path == "/encode" and self._path is None:
            raise _NoSuchPathError(told)
        if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise EncoderStoppedError(f"The encoder at {self._address} does not let us in: {told}")
        raise BatchRefusedError(f"{self._address}{path}: {told}")

    async def _require_health(self, limit_s: float) -> None:
        """Find out whether a server that did not answer is frozen."""
        import httpx2

        assert self._client is not None
        try:
            with anyio.fail_after(_HEALTH_S):
                health = await self._client.get("/health", timeout=_HEALTH_S)
            told = f"HTTP {health.status_code}"
            if health.is_success or health.status_code == HTTPStatus.NOT_FOUND:
                return
        except (TimeoutError, httpx2.HTTPError) as error:
            told = type(error).__name__
        raise EncoderStoppedError(
            f"The encoder at {self._address} is frozen: no answer within {limit_s:g} s, and /health says {told}. "
            "Restart it and run this again; what is encoded is kept."
        )


class _NoSuchPathError(BatchRefusedError):
    """The server does not know a path."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why an attempt failed."""

    why: str
    is_transport: bool = False
    retry_after_s: float = 0.0


def _encoded(answer: object, texts: int) -> list[Vector | None]:
    """Read the answer of `/encode`: one vector, several, or a list of objects that hold one each."""
    if isinstance(answer, dict):
        told = cast("dict[str, object]", answer)
        if "embeddings" in told:
            found = told["embeddings"]
        elif "embedding" in told:
            found = [told["embedding"]]
        else:
            raise BatchRefusedError(f"/encode answered with {sorted(told)[:10]!r}, none of them an embedding.")
    elif isinstance(answer, list):
        items = cast("list[object]", answer)
        found = [cast("dict[str, object]", item).get("embedding") if isinstance(item, dict) else item for item in items]
    else:
        found = None
    if not isinstance(found, list):
        raise BatchRefusedError("/encode answered with something that holds no embeddings.")
    vectors = cast("list[object]", found)
    if len(vectors) != texts:
        raise BatchRefusedError(f"/encode answered with {len(vectors)} vectors for {texts} texts.")
    return [None if vector is None else _vector(vector) for vector in vectors]


def _pooled(answer: object) -> Vector | None:
    """Read the answer of `/generate`: the mean of the hidden states of the prompt's tokens."""
    if isinstance(answer, list) and len(cast("list[object]", answer)) == 1:
        answer = cast("list[object]", answer)[0]
    meta = cast("dict[str, object]", answer).get("meta_info") if isinstance(answer, dict) else None
    states = cast("dict[str, object]", meta).get("hidden_states") if isinstance(meta, dict) else None
    if not isinstance(states, list):
        raise BatchRefusedError("/generate answered without hidden states; start the server so that it returns them.")
    first = cast("list[object]", states)[:1]
    if not first:
        return None
    try:
        tokens = np.atleast_2d(_numbers(first[0]))
    except (TypeError, ValueError, OverflowError) as error:
        raise BatchRefusedError(f"/generate answered with hidden states of mixed lengths: {error}") from error
    if tokens.ndim != 2 or not tokens.size:
        raise BatchRefusedError(f"/generate answered with hidden states of the shape {tokens.shape}.")
    with np.errstate(over="ignore"):
        return tokens.mean(axis=0).astype(np.float32)


def _vector(value: object) -> Vector:
    try:
        with np.errstate(over="ignore"):  # what overflows becomes infinite, and is refused as such
            vector = _numbers(value).astype(np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise BatchRefusedError(f"/encode answered with a vector that is none: {error}") from error
    if vector.ndim != 1:
        raise BatchRefusedError(f"/encode answered with a vector of the shape {vector.shape}.")
    return vector


def _numbers(value: object) -> NDArray[np.float64]:
    """Return numbers as an array; a null becomes NaN, and neither texts nor truth values are numbers."""
    found: NDArray[Any] = np.asarray(value)
    if found.dtype.kind not in "fiuO":
        raise TypeError(f"it holds {found.dtype.name}, not numbers")
    return found.astype(np.float64)


def _json(content: bytes) -> object:
    try:
        return _ANSWER.validate_json(content)
    except ValueError as error:
        raise BatchRefusedError(f"The encoder answered with something that is no JSON: {error}") from error


def _seconds(told: str) -> float:
    return float(told) if told.isdecimal() else 0.0
