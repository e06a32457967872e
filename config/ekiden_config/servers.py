"""Settings of the MCP servers: what a server offers, and how long its clients wait."""

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class ServerSettings(BaseModel):
    """What one server offers; a field left out keeps what the table of servers says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    disabled_tools: tuple[str, ...] = Field(default=(), description="Tools that the server does not offer.")
    descriptions: dict[str, str] = Field(
        default_factory=dict, description="Tool name to the text that replaces its own."
    )
    startup_timeout_s: int | None = Field(default=None, gt=0, description="Seconds a client waits for the server.")
    tool_timeout_s: int | None = Field(default=None, gt=0, description="Seconds a client waits for one tool call.")


class HttpSettings(BaseModel):
    """Where `ekiden serve --http` listens, and for whom."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(description="Address to bind.")
    port: int = Field(ge=0, le=65_535, description="Port to bind; 0 lets the system choose one.")
    allowed_hosts: tuple[str, ...] = Field(
        description="Host headers accepted besides loopback's, such as 'relay.example:8765' or 'relay.example:*'."
    )
    token: SecretStr | None = Field(
        default=None, description="Bearer token; better given as EKIDEN_HTTP_TOKEN, and made up when absent."
    )
