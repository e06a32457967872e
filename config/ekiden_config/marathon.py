"""Settings of a marathon run."""

from pydantic import BaseModel, ConfigDict


class MarathonSettings(BaseModel):
    """What a marathon run takes when its flags do not say; the values are in `defaults.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
