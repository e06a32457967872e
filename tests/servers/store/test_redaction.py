"""Secrets go, whatever they look like; Lean stays as it is."""

import base64
import json
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_store.errors import StoreError
from ekiden_store.redaction.redactor import Redactor
from ekiden_store.steps import Step

DATA = Path(__file__).parents[2] / "data"
ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NUMBER = "".join(str(number % 10) for number in range(80))
MIXED = "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW" * 4
LETTERS = "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHiJ"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA+/=\nAAAA\n-----END RSA PRIVATE KEY-----"
IN_WORDS = [
    "machine x login me password hunter2",
    "curl -u me:hunter2",
    f"Cookie: a={MIXED[:9]}",
    "--token hunter2000",
    "password=hunter2000",
    "password='hunter2'",
    f"https://x/?key={MIXED[:20]}",
    "postgres://me:hunter2@db",
]
SECRETS = {
    "openai_key": ["sk-" + MIXED[:48], "sk-proj-" + MIXED[:40] + "-_" + MIXED[:9], "sk-" + NUMBER[:32]],
    "anthropic_key": ["sk-ant-api03-" + MIXED[:40] + "-AA"],
    "openrouter_key": ["sk-or-v1-" + NUMBER[:64]],
    "aws_key": ["AKIA" + "ABCDEFGHIJKLMNOP"],
    "github_token": ["ghp_" + MIXED[:36], "ghs_" + MIXED[:36], "github_pat_" + MIXED[:22] + "_" + MIXED[:59]],
    "gitlab_token": ["glpat-" + MIXED[:20]],
    "google_key": ["AIza" + MIXED[:35]],
    "google_token": ["ya29." + MIXED[:40]],
    "huggingface_token": ["hf_" + LETTERS[:34]],
    "slack_token": ["xoxb-" + NUMBER[:12] + "-" + MIXED[:24]],
    "stripe_key": ["sk_live_" + MIXED[:24]],
    "npm_token": ["npm_" + MIXED[:36]],
    "pypi_token": ["pypi-AgEIcHlwaS5vcmc" + MIXED[:60]],
    "groq_key": ["gsk_" + MIXED[:52]],
    "provider_key": ["xai-" + MIXED[:80], "pplx-" + MIXED[:48], "nvapi-" + MIXED[:60]],
    "replicate_token": ["r8_" + MIXED[:37]],
    "json_web_token": [f"eyJ{MIXED[:20]}.eyJ{MIXED[:40]}.{MIXED[:43]}"],
    "budget_token": ["ekb_" + MIXED[:43]],
    "private_key": [PEM, json.dumps(PEM)[1:-1], PEM[:48], PEM.replace("RSA ", "")],
}
EVERY = [(kind, secret) for kind, secrets in SECRETS.items() for secret in secrets]
LEAN = """theorem hf_continuousOn_of_isOpenPreconnectedSpace (sk : ℕ) (h : a - b = sk-1) : KEY = TOKEN ∧ a.1 ≠ b.2 := by
  have hf_measurable' := hf.aestronglyMeasurable (password := 5) -- the bearer of consequences; basic facts
  rw [show (x : ℝ) = y from by ring_nf, key_lemma_of_secret_sharing_threshold_12] at h ⊢
  simp only [Token.key, «sk-ant»] ; exact ⟨fun x => x, AKIAFORALL⟩ /- http://example.org/a:b and user@host -/
  have gh_p : ghp_1 = 2 := by norm_num [MAX_TOKENS, pypi-1]
"""
secrets = st.sampled_from([secret for _, secret in EVERY])
noise = st.text(st.sampled_from(ALPHABET + " \n\"'\\:=/@[]-_.redactedBearer"), max_size=20)
KEYWORDS = (
    "theorem",
    "by",
    "simp",
    "rw [",
    "]",
    "⟨",
    "⟩",
    ":=",
    "∀ x, ",
    "hf_",
    "sk-",
    "h.1",
    "-",
    "key",
    "password",
    ":",
)
lean_words = st.sampled_from(KEYWORDS) | st.text(st.sampled_from(ALPHABET[:26] + "'_₁ℝ"), min_size=1, max_size=12)


@pytest.mark.parametrize(("kind", "secret"), EVERY)
def test_a_key_of_a_known_shape_goes_and_its_kind_is_told(kind: str, secret: str) -> None:
    redactor = Redactor()
    assert redactor.redact(f'exact foo {secret}\n"then"') == f'exact foo [redacted:{kind}]\n"then"'
    assert redactor.found == Counter({kind: 1})


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"Authorization: Bearer {MIXED[:30]}", "Authorization: Bearer [redacted:bearer_token]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted:basic_token]"),
        ("psql postgres://me:hunter2@db/x", "psql postgres://me:[redacted:address_password]@db/x"),
        (f"https://{MIXED[:20]}@git.example", "https://[redacted:address_token]@git.example"),
        ('{"api_key": "abcdefgh"}', '{"api_key": "[redacted:named_value]"}'),
        (r"{\"client_secret\":\"abcdefgh\"}", r"{\"client_secret\":\"[redacted:named_value]\"}"),
        ("export MY_API_KEY='abc def'", "export MY_API_KEY='abc def'"),
        ("MY_API_KEY=abcdefgh make", "MY_API_KEY=[redacted:named_value] make"),
        ("DB_PASSWORD=$PASSWORD_FILE", "DB_PASSWORD=$PASSWORD_FILE"),
        ("MAX_TOKENS=16384000", "MAX_TOKENS=16384000"),
        ("X-Api-Key: abcdefgh", "X-Api-Key: [redacted:named_value]"),
        ("password='correct-horse'", "password='[redacted:named_value]'"),
        ("  password: hunter2000", "  password: [redacted:named_value]"),
        ("connect(password=password, token=self.token)", "connect(password=password, token=self.token)"),
        (f"aws_secret_access_key = {MIXED[:40]}", "aws_secret_access_key = [redacted:named_value]"),
        ("login --password correct-horse now", "login --password [redacted:named_value] now"),
        (f"Authorization: token {LETTERS}", "Authorization: token [redacted:authorization]"),
        (f"Cookie: a={MIXED[:9]}; b=2\nHost: x", "Cookie: [redacted:cookie]\nHost: x"),
        (
            "machine x\n  login me\n  password hunter2\n",
            "machine x\n  login me\n  password [redacted:netrc_password]\n",
        ),
        ("curl -s -u me:hunter2 https://x", "curl -s -u me:[redacted:command_password] https://x"),
        (f"https://x/y?sig={MIXED[:20]}%3D&z=1", "https://x/y?sig=[redacted:address_token]&z=1"),
        (f"AccountKey={MIXED[:80]}==;End", "AccountKey=[redacted:named_value];End"),
        ('{"auth": "dXNlcjpwYXNz"}', '{"auth": "[redacted:named_value]"}'),
    ],
)
def test_a_secret_goes_for_where_it_stands(text: str, clean: str) -> None:
    assert Redactor().redact(text) == clean


KEY = "ghp_" + MIXED[:36]
GONE = "[redacted:github_token]"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (json.dumps(f"a\n{KEY}\tb"), f'"a\\n{GONE}\\tb"'),
        (json.dumps(json.dumps(f"a\n{KEY}")), json.dumps(json.dumps(f"a\n{GONE}"))),
        (f"q=%22{quote(KEY)}%22", f"q=%22{GONE}%22"),
        (KEY.replace("_", r"\u005f"), GONE),
        (f"\x1b[31m{KEY[:9]}\x1b[1m{KEY[9:]}\x1b[0m.", f"\x1b[31m{GONE}\x1b[0m."),
        ("sk-ant-api03-" + MIXED[:20] + r"\u002d" + MIXED[:20], "[redacted:anthropic_key]"),
        (
            quote("postgres://me:hunter2@db", safe=""),
            quote("postgres://me:", safe="") + "[redacted:address_password]%40db",
        ),
        (
            f"echo {base64.b64encode(f'export A={KEY}'.encode()).decode()} | base64 -d",
            "echo [redacted:encoded] | base64 -d",
        ),
    ],
)
def test_a_secret_goes_however_it_is_written(text: str, clean: str) -> None:
    assert Redactor().redact(text) == clean
    assert Redactor().redact_all(["⊢ a", text]) == ["⊢ a", clean]


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a-",
            "eyJ-",
            "sk-",
            "sk-a-",
            "\\",
            '\\\\"',
            '"',
            "://a:",
            "?key=",
            "bearer ",
            "authorization: ",
            "password=",
        ),
        *(
            "password ",
            "pwd='",
            "--token ",
            "login a ",
            "curl -u a",
            "-----BEGIN PRIVATE KEY-----",
            "%41",
            "\\n",
            "A_TOKEN_",
        ),
    ],
)
def test_long_texts_that_are_nearly_secrets_are_soon_read(unit: str) -> None:
    text = unit * (30_000 // len(unit))  # any step back too many takes longer than a test may
    assert Redactor().redact(text)


@given(st.lists(secrets | noise, max_size=8))
def test_redacting_twice_is_redacting_once(pieces: list[str]) -> None:
    redactor = Redactor(variables={"A": "redacted", "B": "Bearer"}, patterns={"own": "d[a-z]+e"}, home_folders=True)
    once = redactor.redact("".join(pieces))
    found = Counter(redactor.found)
    assert (redactor.redact(once), redactor.found) == (once, found)


@given(st.lists(secrets | noise | st.sampled_from(IN_WORDS), max_size=6).map(lambda pieces: [*pieces, "".join(pieces)]))
def test_json_stays_json_and_many_texts_are_read_as_one_is(pieces: list[str]) -> None:
    told = json.dumps({"args": json.dumps(pieces), "pieces": pieces})
    clean = Redactor().redact(told)
    assert set(json.loads(clean)) == {"args", "pieces"}
    assert all(isinstance(piece, str) for piece in json.loads(json.loads(clean)["args"]))
    assert Redactor().redact_all([*pieces, told]) == [*map(Redactor().redact, pieces), clean]


@given(st.lists(noise, min_size=2, max_size=2), st.sampled_from(EVERY))
def test_no_secret_is_left_wherever_it_stands(around: list[str], case: tuple[str, str]) -> None:
    secret = case[1]
    assert secret not in Redactor().redact(f"{around[0]} {secret}\n{around[1]}")


@given(st.lists(lean_words, max_size=60))
def test_lean_is_left_as_it_is(words: list[str]) -> None:
    text = " ".join(words)
    assert Redactor(home_folders=True).redact(text) == text


def test_files_of_lean_are_left_as_they_are() -> None:
    redactor = Redactor(home_folders=True)
    files = sorted(DATA.rglob("*.lean"))
    for text in [LEAN, *(file.read_text(encoding="utf-8") for file in files)]:
        assert redactor.redact(text) == text
    assert files


@given(st.text(min_size=6, max_size=30).filter(lambda value: len(value.strip()) >= 6))
def test_the_value_of_a_variable_goes_however_it_is_spelt(value: str) -> None:
    value = value.strip()
    redactor = Redactor(variables={"MY_VALUE": value})
    encoded = [base64.b64encode(f"{before}{value}.".encode()).decode() for before in ("", "a", "ab") if len(value) > 9]
    raw = value.encode()
    for spelt in (value, json.dumps({"is": value}), json.dumps([value], ensure_ascii=False), raw.hex(), *encoded):
        clean = redactor.redact(spelt)
        assert "[redacted:variable]" in clean
        assert value not in clean or value in "[redacted:variable]"


def test_variables_are_named_by_globs_and_short_values_are_told() -> None:
    environment = {"LAB_KEY": "correct-horse", "LAB_PIN": "1234", "OTHER": "battery-staple"}
    redactor = Redactor.for_environment(["LAB_*", "NOT_THERE"], environment=environment)
    assert redactor.redact("correct-horse 1234 battery-staple") == "[redacted:variable] 1234 battery-staple"
    assert redactor.too_short == ("LAB_PIN",)


def test_home_folders_go_when_that_is_asked_for() -> None:
    text = "/home/ada/.codex/x.jsonl and /Users/ada"
    assert Redactor().redact(text) == text
    clean = "/home/[redacted:home_folder]/.codex/x.jsonl and /Users/[redacted:home_folder]"
    assert Redactor(home_folders=True).redact(text) == clean


def test_a_pattern_of_ones_own_is_applied() -> None:
    redactor = Redactor(patterns={"badge": r"badge (?P<secret>\d+)"})
    assert redactor.redact("badge 1234 in Lean") == "badge [redacted:badge] in Lean"
    assert redactor.found == Counter({"badge": 1})


@pytest.mark.parametrize(("kind", "pattern"), [("Bad kind", "x"), ("own", "("), ("own", "x*")])
def test_a_pattern_that_cannot_be_used_is_refused(kind: str, pattern: str) -> None:
    with pytest.raises(StoreError, match=r"secret"):
        Redactor(patterns={kind: pattern})


def test_an_empty_secret_is_left() -> None:
    assert Redactor(patterns={"own": r"key(?P<secret>.*)", "look": "(?=y)"}).redact("key") == "key"


def test_every_text_of_a_step_is_cleaned_its_ids_too() -> None:
    key = SECRETS["aws_key"][0]
    step = Step(
        theorem_name="t",
        kind="tool_call",
        tool_input=key,
        lean_messages=[f"error {key}"],
        state_before=key,
        row_id=key,
        step=3,
    )
    clean = "[redacted:aws_key]"
    assert Redactor().redact_step(step) == Step(
        theorem_name="t",
        kind="tool_call",
        tool_input=clean,
        lean_messages=(f"error {clean}",),
        state_before=clean,
        row_id=clean,
        step=3,
    )
    plain = Step(theorem_name="t", kind="message")
    assert Redactor().redact_step(plain) is plain
