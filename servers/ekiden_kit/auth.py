"""Who may talk to a server over HTTP: whoever shows the bearer token, under a host name that is expected."""

import hmac
import secrets
from collections.abc import Sequence
from ipaddress import ip_address

from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ekiden_kit.errors import KitError
from ekiden_kit.table import TOKEN_VARIABLE

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class BearerAuth:
    """ASGI middleware that lets through requests with one bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 401."""
        if scope["type"] == "http":
            shown = Headers(scope=scope).get("authorization", "").encode()
            if not hmac.compare_digest(shown, self._expected):
                text = f"Send 'Authorization: Bearer TOKEN' with the token of the server's {TOKEN_VARIABLE}.\n"
                refusal = PlainTextResponse(text, status_code=401, headers={"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def made_up_token() -> str:
    """Return a fresh token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def expected_hosts(host: str, allowed: Sequence[str]) -> TransportSecuritySettings:
    """Return the rule for `Host` and `Origin` headers: loopback's names and those allowed by configuration.

    Raises:
        KitError: If the server binds to more than loopback and nobody said under which names it may be reached.
    """
    if not _is_loopback(host) and not allowed:
        raise KitError(
            f"Refusing to listen on {host!r}, which is not loopback: list the names under which the server may be "
            "reached in the setting 'http.allowed_hosts'."
        )
    hosts = [*(f"{name}:*" for name in _LOOPBACK), *allowed]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts]
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
