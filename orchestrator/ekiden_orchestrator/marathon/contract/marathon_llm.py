"""Language-model calls for Marathon solvers, as the contract names them.

    from marathon_llm import call_llm
    reply = call_llm("Prove ...", config={"max_output_tokens": 8192, "reasoning_effort": "low"}, max_seconds=60)

`call_llm` always returns a dict and never raises: with `response` when a model answered, with `error` otherwise. Errors
that hold the word "exhausted" mean that the budget has no room for such a call. Standard library alone; each call is
one request: nothing is retried behind the solver's back.
"""

import contextlib
import email.message
import http.client
import json
import math
import os
import queue
import re
import socket
import threading
from urllib.parse import urlsplit

DEFAULT_MODEL = "openai/gpt-oss-120b"
DEFAULT_BASE_URL = "https://openrouter.ai/api/v1"
DEFAULT_OUTPUT_TOKENS = 4096
DEFAULT_TIMEOUT_S = 600.0
SHORTEST_TIMEOUT_S = 1.0
LARGEST_ANSWER_BYTES = 64 << 20

NO_KEY = "OPENAI_API_KEY not set (marathon proxy unreachable?)"
ZERO_BUDGET = "token budget is zero — no LLM calls allowed"
EXHAUSTED = "token budget exhausted"
WOULD_EXHAUST = "token budget would be exhausted by this call"


def call_llm(
    prompt: str, *, config: dict[str, object] | None = None, max_seconds: float | None = None
) -> dict[str, object]:
    """Ask a model once.

    Args:
        prompt: The text of the one user message.
        config: `model`, `base_url`, `api_key`, `max_output_tokens`, `temperature`, `provider`, `reasoning_effort`,
            `use_seed` with `seed`, `http_timeout_seconds`; each has a default. `purpose`, such as a problem's id, goes
            to the log of the budget.
        max_seconds: Bound of the whole call, at least 1 s; it only lowers `http_timeout_seconds`.

    Returns:
        `response`, `tokens_used_call`, `tokens_used_total`, `budget_remaining`, and `truncated` where the model came to
        its limit before its answer; or `error` and `budget_remaining`.
    """
    try:
        return _ask(prompt, config or {}, max_seconds)
    except Exception as error:  # noqa: BLE001 - the contract: an error is an answer, never an exception
        return _error(f"LLM call failed: {type(error).__name__}: {error}")


def tokens_used() -> int:
    """Return the tokens of the calls that this process has had answered."""
    return _account.used


def budget_remaining() -> int:
    """Return the tokens that are left, as the proxy last said, or by this process's own count; -1 without a cap."""
    return _account.remaining()


class _Account:
    """What this process knows of the budget."""

    def __init__(self) -> None:
        self.used = 0
        self._told: int | None = None
        self._lock = threading.Lock()  # guards the two figures: solvers call from several threads

    def add(self, tokens: int) -> int:
        with self._lock:
            self.used += tokens
            return self.used

    def hear(self, remaining: int | None) -> None:
        """Take what the proxy says is left."""
        if remaining is not None:
            with self._lock:
                self._told = remaining

    def remaining(self) -> int:
        cap = _cap()
        if cap <= 0:
            return max(cap, -1)
        with self._lock:
            return max(0, cap - self.used) if self._told is None else self._told


_account = _Account()


class _Answer:
    """What came back: status, headers, body."""

    def __init__(self, status: int, headers: email.message.Message, body: bytes) -> None:
        self.status = status
        self.body = body
        self._headers = headers

    def header(self, name: str) -> int | None:
        """Return the number in a header of the proxy; None if there is none."""
        text = self._headers.get(name, "")
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def _cap() -> int:
    try:
        return int(os.environ.get("JUDGE_MARATHON_BUDGET_TOKENS", "0"))
    except ValueError:
        return 0


def _error(message: str) -> dict[str, object]:
    return {"error": message, "budget_remaining": budget_remaining()}


def _ask(prompt: str, config: dict[str, object], max_seconds: float | None) -> dict[str, object]:
    key = config.get("api_key") or os.environ.get("OPENAI_API_KEY")
    if not key:
        return _error(NO_KEY)
    limit = int(float(str(config.get("max_output_tokens", DEFAULT_OUTPUT_TOKENS))))
    if (refusal := _refusal(prompt, limit)) is not None:
        return _error(refusal)
    url = str(config.get("base_url") or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
    body = json.dumps(_request(prompt, limit, url, config)).encode()
    seconds = _timeout_s(config, max_seconds)
    try:
        answer = _post(f"{url.rstrip('/')}/chat/completions", body, _headers(str(key), url, config), seconds)
    except TimeoutError:
        return _error(f"LLM request timed out ({seconds:g}s)")
    except (OSError, http.client.HTTPException) as error:
        return _error(f"LLM API error: Connection error: {type(error).__name__}: {error}")
    _account.hear(answer.header("X-Marathon-Tokens-Remaining"))
    if not 200 <= answer.status < 300:
        return _error(f"LLM API error: Error code: {answer.status} - {_readable(answer.body)}")
    return _reply(prompt, answer)


def _refusal(prompt: str, limit: int) -> str | None:
    """Say why a call cannot be let through, as far as this process knows; the proxy has the last word."""
    cap = _cap()
    if cap == 0:
        return ZERO_BUDGET
    if 0 < cap <= _account.used:
        return EXHAUSTED
    if 0 < cap < _account.used + max(1, len(prompt) // 4) + limit:
        return WOULD_EXHAUST
    return None


def _timeout_s(config: dict[str, object], max_seconds: float | None) -> float:
    seconds = float(str(config.get("http_timeout_seconds", DEFAULT_TIMEOUT_S)))
    if max_seconds is not None:
        seconds = min(seconds, max_seconds)
    return max(SHORTEST_TIMEOUT_S, seconds) if math.isfinite(seconds) else DEFAULT_TIMEOUT_S


def _request(prompt: str, limit: int, url: str, config: dict[str, object]) -> dict[str, object]:
    model = config.get("model") or os.environ.get("JUDGE_MARATHON_MODEL") or DEFAULT_MODEL
    request: dict[str, object] = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": limit,
        "temperature": config.get("temperature", 0.0),
    }
    if config.get("use_seed") and config.get("seed") is not None:
        request["seed"] = config["seed"]
    if _is_proxy(url) or _is_openrouter(url):
        if config.get("provider"):
            request["provider"] = {"order": [config["provider"]]}
        if config.get("reasoning_effort"):
            request["reasoning"] = {"effort": config["reasoning_effort"]}
    return request


def _headers(key: str, url: str, config: dict[str, object]) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    if _is_proxy(url) and config.get("purpose"):
        headers["X-Ekiden-Purpose"] = str(config["purpose"]).encode("ascii", "replace").decode()
    return headers


def _is_proxy(url: str) -> bool:
    """Tell whether an address is that of the run's proxy, which knows what its upstream takes."""
    proxy = os.environ.get("OPENAI_BASE_URL", "")
    return "JUDGE_MARATHON_MANIFEST" in os.environ and url.rstrip("/") == proxy.rstrip("/")


def _is_openrouter(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "openrouter.ai" or host.endswith(".openrouter.ai")


def _post(url: str, body: bytes, headers: dict[str, str], seconds: float) -> _Answer:
    """Send one request and return its answer.

    The time-out of a socket starts anew with each byte that comes, and a name is looked up without any. So the whole
    exchange runs beside, and is left to itself when its time is over.

    Raises:
        TimeoutError: The answer was not all there within the time.
        OSError: The other side cannot be reached, or broke off.
    """
    parts = urlsplit(url)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if parts.scheme not in kinds or not parts.hostname:
        raise ValueError(f"base_url {url!r} is no http address")
    connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=seconds)
    results: queue.SimpleQueue[_Answer | Exception] = queue.SimpleQueue()

    def exchange() -> None:
        try:
            connection.request("POST", parts.path, body, headers)
            answer = connection.getresponse()
            data = answer.read(LARGEST_ANSWER_BYTES)
            if answer.length:
                raise http.client.IncompleteRead(data, answer.length)
            results.put(_Answer(answer.status, answer.headers, data))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is awaited
            results.put(error)
        finally:
            connection.close()

    threading.Thread(target=exchange, daemon=True).start()
    try:
        result = results.get(timeout=seconds)
    except queue.Empty:
        _hang_up(connection)
        raise TimeoutError from None
    if isinstance(result, Exception):
        raise result
    return result


def _hang_up(connection: http.client.HTTPConnection) -> None:
    connected = connection.sock
    with contextlib.suppress(OSError, AttributeError):  # it has no socket yet, or no more
        connected.shutdown(socket.SHUT_RDWR)


def _readable(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return data[:1000].decode("utf-8", "replace")


def _reply(prompt: str, answer: _Answer) -> dict[str, object]:
    try:
        value = json.loads(answer.body)
        choice = value["choices"][0]
        message = choice["message"]
        texts = [message.get(field) for field in ("content", "reasoning", "reasoning_content")]
        cut = choice.get("finish_reason") == "length"
        total = answer.header("X-Marathon-Tokens-Used-Call")
        if total is None and value.get("usage"):
            total = value["usage"].get("total_tokens")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return _error(f"LLM response parse error: {type(error).__name__}: {error}")
    text = next((text for text in texts if text and isinstance(text, str)), "")
    if not isinstance(total, int):
        total = max(1, len(prompt) // 4) + max(1, len(text) // 4)
    reply: dict[str, object] = {
        "response": text,
        "tokens_used_call": total,
        "tokens_used_total": _account.add(total),
        "budget_remaining": budget_remaining(),
    }
    if cut and not texts[0]:
        reply["truncated"] = True
    return reply
