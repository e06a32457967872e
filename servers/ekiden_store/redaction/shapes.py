"""What secrets look like: keys of the known providers, and what stands beside words such as `password`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """What secrets of one kind look like.

    Attributes:
        kind: What they are.
        hints: A text that holds none of these holds no such secret; a quick look.
        pattern: The secret; where only a part of it is, that part is the group `secret`.
        reach: How far before a hint the pattern begins at most; it is tried there alone. None: anywhere.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    reach: int | None = None

    def spans_in(self, text: str) -> list[tuple[int, int]]:
        """Return where secrets stand in a text."""
        if self.hints and not any(map(text.__contains__, self.hints)):
            return []
        group = "secret" if "secret" in self.pattern.groupindex else 0
        matches = self.pattern.finditer(text) if self.reach is None else self._near_hints(text, self.reach)
        return [span for found in matches if (span := found.span(group))[0] < span[1]]

    def _near_hints(self, text: str, reach: int) -> Iterator[re.Match[str]]:
        free = 0
        for spot in sorted(spot for hint in self.hints for spot in _spots(hint, text)):
            starts = range(max(free, spot - reach), spot + 1)
            found = next((match for start in starts if (match := self.pattern.match(text, start))), None)
            if found:
                free = found.end()
                yield found


def _spots(hint: str, text: str) -> Iterator[int]:
    spot = text.find(hint)
    while spot >= 0:
        yield spot
        spot = text.find(hint, spot + 1)


def _shape(kind: str, hints: str, pattern: str, reach: int | None = None) -> Shape:
    return Shape(kind, tuple(hints.split()), re.compile(pattern), reach)


_START = r"(?<![A-Za-z0-9_])"
_HEX = r"[0-9a-f]{32,64}(?![A-Za-z0-9_])"
_NAMES = (
    r"(?i:api[_-]?key|ac(?:cess|count)[_-]?key|secret(?:[_-]?key)?|private[_-]?key|pass(?:word|wd|phrase)|pwd|credentials?"
    r"|(?:auth|access|refresh|session|security|private|bot|bearer)[_-]?token)"
)
_RANDOM = r"(?=[^\s]{0,100}[A-Z])(?=[^\s]{0,100}[a-z])(?=[^\s]{0,100}[0-9])[A-Za-z0-9+/_-]{16}"
_BESIDE = (
    r"(?:[\"']?\s{0,8}(?::|=>|=)\s{0,8}(?P<quote>[\"'`])|=|:\s{1,4}"
    rf"|\s{{1,3}}=\s{{1,3}}(?={_RANDOM}))"
    r"(?P<secret>(?(quote)(?!\$[A-Z_({]|<|\{)[^\"'`\s]{6,400}(?=(?P=quote))"
    r"|(?=[^\s]{0,200}[0-9])(?=[^\s]{0,200}[A-Za-z])[A-Za-z0-9+/=_.~!@#%^*-]{6,400}(?![\w.'(\[])))"
)
_PRIVATE = (
    r"-----BEGIN (?P<label>[A-Z0-9 ]{0,40}?)PRIVATE KEY(?P<block>(?: BLOCK)?)-----"
    r"(?:(?:(?!-----BEGIN)[\s\S]){1,20000}?-----END (?P=label)PRIVATE KEY(?P=block)-----"
    r"|(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{12,})*)"
)
SHAPES = (
    _shape("private_key", "PRIVATE", _PRIVATE),
    _shape("address_password", "://", r"(?<=://)[^\s/@:\"'<>\\]{0,200}:(?P<secret>[^\s/@\"'<>\\]{1,500})@"),
    _shape("address_token", "://", r"(?<=://)(?=[^\s/@:]{0,500}[0-9])(?P<secret>[A-Za-z0-9_.~-]{16,500})@"),
    _shape(
        "address_token",
        "? &",
        r"[?&](?:access_token|auth_token|token|api_?key|key|sig|signature|password|secret|X-Amz-[A-Za-z-]{5,30})="
        r"(?=[^\s&]{0,500}[0-9])(?P<secret>[A-Za-z0-9%+/=_.~-]{16,4000})",
    ),
    _shape("address_token", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]{1,20}/(?P<secret>[A-Za-z0-9_/-]{20,200})"),
    _shape(
        "bearer_token",
        "earer EARER",
        r"(?i:\bbearer)(?:\s|%20|\+){1,4}(?=[^\s0-9]{0,500}[0-9])(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
    ),
    _shape(
        "authorization",
        "uthorization UTHORIZATION",
        r"(?i:authorization)[\"'\\]{0,64}\s{0,4}(?::\s{0,4}[\"'\\]{0,64}|=\s{0,4}[\"'\\]{1,64})(?i:(?:bearer|basic|token|apikey|digest)\s{1,4})?"
        r"(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
    ),
    _shape("basic_token", "asic ASIC", r"(?i:authorization\W{1,8}basic)\s{1,4}(?P<secret>[A-Za-z0-9+/]{8,}=*)"),
    _shape(
        "cookie",
        "ookie OOKIE",
        r"(?i:\bcookie)[\"'\\]{0,64}\s{0,4}:\s{0,4}[\"'\\]{0,64}(?P<secret>[^\s=;:\"'\\]{1,100}=[^\r\n\"'\\]{8,8000})",
    ),
    _shape(
        "named_value",
        "key KEY Key ecret ECRET assw ASSW assphrase pwd PWD oken OKEN redential",
        _NAMES + _BESIDE,
        reach=10,
    ),
    _shape(
        "named_value",
        "auth",
        r"[\"']_?auth[\"']\s{0,8}:\s{0,8}[\"'](?P<secret>[A-Za-z0-9+/]{12,}=*)",
    ),
    _shape(
        "named_value",
        "KEY SECRET PASSW TOKEN",
        r"(?<![A-Za-z0-9_])[A-Z0-9_]{0,80}?(?:API_?KEY|ACCESS_?KEY|AUTH_?KEY|SECRET|TOKEN|PASSWORD|PASSWD)"
        r"(?:_?[A-Z0-9]{1,4})?=(?:\\{0,64}[\"'])?(?=[^\s\"'\\]{0,500}[A-Za-z])(?P<secret>(?!\$)[^\s\"'\\;&|]{8,})",
    ),
    _shape(
        "named_value",
        "-password -passwd -token -secret -apikey -api-key -access",
        r"(?<![\w-])--(?:[a-z]{1,20}-){0,3}(?:password|passwd|token|secret|api-?key|access-?key)(?:=|\s{1,4})[\"']?"
        r"(?![A-Z_]+(?![A-Za-z0-9]))(?P<secret>[^\s\"'`$<\[{(\\-][^\s\"'`\\]{5,400})",
    ),
    _shape(
        "named_value",
        "-key -Key -KEY",
        r"(?i:\bx-[a-z-]{0,20}key)[\"'\\]{0,64}\s{0,4}[:=][\s\"'\\]{0,64}(?P<secret>[^\s\"',;\\]{8,})",
    ),
    _shape(
        "named_value",
        "AccountKey= AccessKey=",
        r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/%]{20,400}=*)",
    ),
    _shape("netrc_password", "login", r"\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20}(?P<secret>[^\s\"'\\]{1,400})"),
    _shape(
        "command_password",
        "curl wget",
        r"\b(?:curl|wget)\b[^\n]{0,400}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'-][^\s:\"']{0,100}:"
        r"(?P<secret>[^\s\"']{1,400})",
    ),
    _shape("anthropic_key", "sk-ant-", _START + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape("openrouter_key", "sk-or-", _START + r"sk-or-[A-Za-z0-9_-]{16,}"),
    _shape("openai_key", "sk-", _START + r"sk-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,}"),
    _shape("aws_key", "AKIA ASIA ABIA ACCA", _START + r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}(?![A-Za-z0-9_])"),
    _shape("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", _START + r"gh[pousr]_[A-Za-z0-9]{36,255}(?![A-Za-z0-9_])"),
    _shape("github_token", "github_pat_", _START + r"github_pat_[A-Za-z0-9_]{22,255}"),
    _shape("gitlab_token", "glpat-", _START + r"glpat-[A-Za-z0-9_-]{20,}"),
    _shape("google_key", "AIza", _START + r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _shape("google_token", "ya29.", _START + r"ya29\.[A-Za-z0-9_-]{20,}"),
    _shape("google_token", "GOCSPX- 1//0", _START + r"(?:GOCSPX-[A-Za-z0-9_-]{28}|1//0[A-Za-z0-9_-]{40,})"),
    _shape(
        "huggingface_token", "hf_", _START + r"hf_(?=(?:[a-z0-9]*[A-Z]){8})[A-Za-z0-9]{34,40}(?![A-Za-z0-9_'])"
    ),  # the capitals tell it from a hypothesis on f
    _shape("slack_token", "xox xapp-", _START + r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _shape("stripe_key", "_live_ _test_", _START + r"[spr]k_(?:live|test)_[A-Za-z0-9]{16,}(?![A-Za-z0-9_])"),
    _shape("npm_token", "npm_", _START + r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    _shape("pypi_token", "pypi-", _START + r"pypi-[A-Za-z0-9_-]{40,}"),
    _shape("budget_token", "ekb_", _START + r"ekb_[A-Za-z0-9_-]{20,}"),
    _shape("groq_key", "gsk_", _START + r"gsk_[A-Za-z0-9]{40,}(?![A-Za-z0-9_])"),
    _shape("provider_key", "xai- pplx- csk- nvapi- tvly-", _START + r"(?:xai|pplx|csk|nvapi|tvly)-[A-Za-z0-9_-]{30,}"),
    _shape(
        "provider_key",
        "dop_v1_ dapi shpat_ key- fc- sbp_ SK",
        _START + rf"(?:dop_v1_|dapi|shpat_|key-|fc-|sbp_|SK){_HEX}",
    ),
    _shape("provider_key", "hvs. fo1_ glsa_", _START + r"(?:hvs\.|fo1_|glsa_)[A-Za-z0-9_-]{40,}"),
    _shape(
        "provider_key", "tskey- ATATT3 AGE-SECRET-", _START + r"(?:tskey-|ATATT3|AGE-SECRET-KEY-1)[A-Za-z0-9_=-]{20,}"
    ),
    _shape("provider_key", "lin_api_ ntn_ lsv2_", _START + r"(?:lin_api|ntn|lsv2_[a-z]{2})_[A-Za-z0-9_]{40,}"),
    _shape("provider_key", "SG.", _START + r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    _shape("provider_key", ":AA", r"(?<![A-Za-z0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _shape("replicate_token", "r8_", _START + r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9_])"),
    _shape(
        "json_web_token",
        "eyJ",
        _START + r"eyJ[A-Za-z0-9_-]{10,1000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,}",
    ),
)
HOME = _shape(
    "home_folder", "/home/ /Users/", r"(?<![A-Za-z0-9_.~/])/(?:home|Users)/(?P<secret>[^\s/\"'`<>:;,|()\[\]{}\\]+)"
)
