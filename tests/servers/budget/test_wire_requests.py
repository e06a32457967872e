"""What holds of requests in every wire format, however odd they are."""

import json
import pickle
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_budget.wire import BadRequestError, CallRules, Dialect, ModelCall, read_call

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
_NAMES = (
    "model messages input instructions system tools functions stream stream_options max_tokens max_completion_tokens "
    "max_output_tokens n best_of prediction reasoning thinking models store role content type text image_url source "
    "output summary budget_tokens edits context_management provider plugins temperature cache_control"
)
NAMES = _NAMES.split()
_KINDS = (
    "text input_text image image_url input_image message function_call tool_result document content base64 function "
    "namespace web_search bash_20250124 custom tool_search shell item_reference enabled user"
)
KINDS = _KINDS.split()
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(KINDS)
    | st.builds(pow, st.just(10), st.just(1000)) | st.just("\ud800")
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=15,
)
odd_requests = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
limits = st.none() | st.integers(-5, 10**6) | st.floats() | texts
TEXT_PARTS: dict[Dialect, str] = {"chat": "text", "responses": "input_text", "messages": "text", "embeddings": "text"}


@st.composite
def sound_requests(draw: st.DrawFn, dialect: Dialect) -> dict[str, object]:
    """Requests as clients send them, but for their limits."""
    part = st.fixed_dictionaries({"type": st.just(TEXT_PARTS[dialect]), "text": texts})
    message = st.fixed_dictionaries({"role": st.just("user"), "content": texts | st.lists(part, max_size=3)})
    tool = st.fixed_dictionaries({"name": texts, "parameters": st.dictionaries(texts, texts, max_size=2)})
    optional: dict[str, st.SearchStrategy[object]] = {"user": texts}
    if dialect != "embeddings":
        optional |= {"temperature": st.floats(0, 2), "tools": st.lists(tool, max_size=2), "stream": st.booleans()}
    optional |= {
        "chat": {"max_tokens": limits, "max_completion_tokens": limits, "n": st.integers(1, 128)},
        "responses": {"max_output_tokens": limits, "instructions": texts},
        "messages": {"max_tokens": limits, "system": texts | st.lists(part, max_size=2)},
        "embeddings": {"dimensions": st.integers(1, 100)},
    }[dialect]
    content = {
        "chat": {"messages": st.lists(message, max_size=3)},
        "responses": {"input": texts | st.lists(message, max_size=3)},
        "messages": {"messages": st.lists(message, max_size=3)},
        "embeddings": {"input": texts | st.lists(texts, min_size=1, max_size=3)},
    }[dialect]
    return draw(st.fixed_dictionaries({"model": st.just("m"), **content}, optional=optional))


rules = st.builds(
    CallRules,
    allow_images=st.booleans(),
    allowed_fields=st.lists(st.sampled_from(["*", "plugins", "tools:*", "input:*"]), max_size=2).map(tuple),
)


@given(st.sampled_from(DIALECTS), odd_requests, rules)
def test_any_request_is_sent_or_refused_in_words(
    dialect: Dialect, request: dict[str, object], rules: CallRules
) -> None:
    before = pickle.dumps(request)
    for model in ("m", request.get("model")):
        try:
            json.loads(read_call(dialect, {**request, "model": model}, rules).encode())
        except BadRequestError as error:
            told = str(error)
            told.encode()
            assert len(told) < 1000
    assert pickle.dumps(request) == before


@given(st.data(), st.sampled_from(DIALECTS))
def test_what_is_sent_is_bounded_and_is_read_the_same_again(data: st.DataObject, dialect: Dialect) -> None:
    rules = CallRules()
    call = read_call(dialect, data.draw(sound_requests(dialect)), rules)
    sent = call.encode()
    assert call.input_bound >= len(sent)
    choices = call.body.get("n", 1)
    assert isinstance(choices, int)
    assert 0 <= call.output_bound <= choices * rules.max_output_tokens
    again = read_call(dialect, json.loads(sent), rules)
    assert (again.body, again.reserved_tokens) == (call.body, call.reserved_tokens)


def request_with(dialect: Dialect, **fields: object) -> ModelCall:
    base: dict[str, object] = {"model": "m"}
    base["input" if dialect in {"responses", "embeddings"} else "messages"] = (
        "x" if dialect in {"responses", "embeddings"} else [{"role": "user", "content": "x"}]
    )
    return read_call(dialect, base | fields, CallRules())


def tower(height: int) -> object:
    value: object = "x"
    for _ in range(height):
        value = [value]
    return value


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("value", "told"),
    [
        (tower(200), "brackets deep"),
        (tower(100_000), "brackets deep"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        (float("nan"), "JSON cannot hold"),
        (float("inf"), "JSON cannot hold"),
        ({"n": 10**5000}, "JSON cannot hold"),
    ],
)
def test_what_json_cannot_hold_is_refused_in_words(dialect: Dialect, value: object, told: str) -> None:
    with pytest.raises(BadRequestError, match=told):
        request_with(dialect, user=value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tower_that_others_can_read_passes(dialect: Dialect) -> None:
    assert request_with(dialect, user=tower(100)).body["user"] == tower(100)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_field_that_nobody_knows_is_refused_unless_it_is_null_or_allowed(dialect: Dialect) -> None:
    with pytest.raises(BadRequestError, match=r"The field 'surprise' is not passed on.*'budget\.allowed_fields'"):
        request_with(dialect, surprise=1)
    assert "surprise" not in request_with(dialect, surprise=None).body
    rules = CallRules(allowed_fields=("surprise",))
    body: dict[str, Any] = {"model": "m", "input": "x", "messages": []}
    del body["messages" if dialect in {"responses", "embeddings"} else "input"]
    assert read_call(dialect, {**body, "surprise": 1}, rules).body["surprise"] == 1


@pytest.mark.parametrize(
    ("value", "tokens"),
    [("◇" * 100, 300), (["a" * 50, "b" * 50], 100), ([1, 2, 100_000], 3), ([[1, 2], [3, 4]], 4)],
)
def test_embeddings_count_texts_and_tokens(value: object, tokens: int) -> None:
    call = request_with("embeddings", input=value)
    assert tokens <= call.input_bound < tokens + 300
    assert call.output_bound == 0


@pytest.mark.parametrize("value", [None, [], 7, {"text": "x"}, ["a", 1], [["a"]], [True], [{"image": "x"}]])
def test_what_cannot_be_embedded_is_refused(value: object) -> None:
    with pytest.raises(BadRequestError) as caught:
        request_with("embeddings", input=value)
    assert caught.value.param == "input"


def test_every_choice_of_settings_reaches_the_rules() -> None:
    from ekiden_config import default_settings

    changed = {
        "default_output_tokens": 1,
        "default_response_tokens": 2,
        "max_output_tokens": 3,
        "allowed_models": ("m*",),
        "pinned": {"seed": 0},
        "allow_images": True,
        "tokens_per_image": 4,
        "allowed_fields": ("plugins",),
    }
    read = CallRules.from_settings(default_settings().budget.model_copy(update=changed))
    assert read == CallRules(**cast("dict[str, Any]", changed))
    assert CallRules.from_settings(default_settings().budget) == CallRules()
