"""The variables in which client libraries of language models look by themselves for an address and a key."""


def openai_variables(url: str, token: str) -> dict[str, str]:
    """Return what leads clients of OpenAI's formats to a proxy."""
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": token}


def anthropic_variables(url: str, token: str) -> dict[str, str]:
    """Return what leads clients of Anthropic's format to a proxy; they add the version to its address themselves."""
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": token}
