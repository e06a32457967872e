"""Settings of the trajectory store."""

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ekiden_config.variables import KeyVariable


class EncoderSettings(BaseModel):
    """The encoder of proof states, and all that its vectors depend on: the encoder itself cannot be asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str = Field(description="Where it is, such as 'http://127.0.0.1:30000'.")
    key_env: KeyVariable = Field(default="", description="Variable that holds its key; empty: none is sent.")
    model: str = Field(min_length=1, description="The model.")
    revision: str = Field(min_length=1, description="Its revision, or the hash of its weights.")
    pooling: str = Field(default="mean", min_length=1, description="How the vectors of the tokens become one.")
    dtype: str = Field(min_length=1, description="What the model computes in, such as 'bfloat16'.")
    template: str = Field(default="{text}", description="What is sent for a state, with '{text}' where it goes.")
    batch_size: int = Field(default=64, ge=1, le=4096, description="How many states go into one request.")

    @field_validator("address")
    @classmethod
    def _require_plain_address(cls, address: str) -> str:
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            raise ValueError("an address starts with http:// or https://, names a host, and holds no user")
        return address.rstrip("/")

    @field_validator("template")
    @classmethod
    def _require_place(cls, template: str) -> str:
        if template.count("{text}") != 1:
            raise ValueError("it holds '{text}' exactly once")
        return template


class StoreSettings(BaseModel):
    """Where attempts are kept, and how; the values are in `defaults.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = Field(min_length=1, description="Folder of the store, relative to the working directory.")
    marathon: bool = Field(description="Whether marathon runs are written to it.")
    solo: bool = Field(description="Whether Solo runs are written to it.")
    segment_bytes: int = Field(
        ge=65_536, le=1 << 30, description="About how large the file of one writer gets before the next is begun."
    )
    compact_files: int = Field(
        ge=0, le=100_000, description="How many sealed files are compacted without being asked to; 0: never."
    )
    part_rows: int = Field(ge=1, le=100_000_000, description="About how many rows a compacted part holds.")
    redact: tuple[str, ...] = Field(
        description="Names or globs of variables whose values are struck out of all that leaves the store."
    )
    encoder: EncoderSettings | None = Field(default=None, description="The encoder of proof states; unset: none.")
