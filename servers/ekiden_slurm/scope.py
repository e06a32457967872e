"""What an agent may have run: where, under which keys, with which secrets, and what it is told of this machine."""

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ekiden_jobs import JobKey, JobRequestError

_DIGITS = 8
_SEPARATOR = "."
LONGEST_KEY = 80 - _DIGITS - len(_SEPARATOR)
_KEY = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_KEY - 1}}}")


@dataclass(frozen=True, slots=True)
class AgentScope:
    """One workspace and its jobs.

    Agents of several workspaces may share a jobs folder with each other and with people: an agent's keys get a prefix
    made from its workspace, so that it can name its own jobs alone.

    Attributes:
        workspace: The folder under which programs may be started; resolved.
        secret_names: Variables that may be handed to jobs: names, or globs.
        hidden: Folders outside the workspace, by what stands for them in what an agent is told.
    """

    workspace: Path
    secret_names: tuple[str, ...]
    hidden: Mapping[str, Path]

    @classmethod
    def of_folder(cls, workspace: Path, jobs_folder: Path, secret_names: Sequence[str]) -> "AgentScope":
        """Make the scope of a workspace.

        Raises:
            JobRequestError: There is no such folder.
        """
        resolved = workspace.expanduser().resolve()
        if not resolved.is_dir():
            raise JobRequestError(
                f"The workspace {workspace.name!r} is no folder. That is for whoever runs this server: "
                "set slurm.workspace, or start it where the work is."
            )
        hidden = {
            "<jobs>": jobs_folder.expanduser().absolute(),
            "<ekiden>": Path(__file__).parents[1],
            "<python>": Path(sys.prefix),
            "<home>": Path.home(),
        }
        return cls(resolved, tuple(secret_names), hidden)

    @property
    def prefix(self) -> str:
        """Return what the keys of this workspace's jobs begin with."""
        return hashlib.sha256(str(self.workspace).encode()).hexdigest()[:_DIGITS] + _SEPARATOR

    def key(self, given: str) -> JobKey:
        """Return the key of a job that an agent names.

        Raises:
            JobRequestError: No key is like that.
        """
        if not _KEY.fullmatch(given):
            raise JobRequestError(
                f"The key {given!r} will not do: a letter or digit, then up to {LONGEST_KEY - 1} "
                "letters, digits and signs of '._-'."
            )
        return JobKey(self.prefix + given)

    def shown(self, key: JobKey) -> str:
        """Return a job's key as the agent knows it."""
        return key.removeprefix(self.prefix)

    def own(self, keys: Sequence[JobKey]) -> list[JobKey]:
        """Return those keys that are of this workspace."""
        return [key for key in keys if key.startswith(self.prefix)]

    def folder(self, given: str) -> Path:
        """Return the folder that an agent names, links followed.

        Raises:
            JobRequestError: It is not in the workspace, or no folder.
        """
        folder = (self.workspace / given).resolve()
        if not folder.is_relative_to(self.workspace):
            raise JobRequestError(f"The folder {given!r} is outside the workspace; name one in it, such as '.'.")
        if not folder.is_dir():
            raise JobRequestError(f"There is no folder {given!r} in the workspace; make it first.")
        return folder

    def command(self, given: Sequence[str], folder: Path) -> tuple[str, ...]:
        """Return the command that an agent gives; a program named by its path must stand in the workspace.

        It may be a link to one elsewhere, as the Python of a virtual environment is: what is on the PATH may run too.

        Raises:
            JobRequestError: It does not, or there is no program.
        """
        if not given or not given[0]:
            raise JobRequestError("The command is empty; give the program and its arguments, as ['python3', 'x.py'].")
        program = given[0]
        if "/" in program and not (folder / program).parent.resolve().is_relative_to(self.workspace):
            raise JobRequestError(
                f"The program {program!r} is outside the workspace; name one in it, or one of the PATH without '/'."
            )
        return tuple(given)

    def variables(self, given: Sequence[str], environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the public and the secret variables that an agent gives: `NAME=VALUE`, or the name of a secret.

        Raises:
            JobRequestError: A secret may not be handed on, or is not there.
        """
        public: dict[str, str] = {}
        secret: dict[str, str] = {}
        for variable in given:
            name, equals, value = variable.partition("=")
            if equals:
                public[name] = value
            else:
                secret[name] = self._secret(name, environ)
        return public, secret

    def _secret(self, name: str, environ: Mapping[str, str]) -> str:
        if not any(fnmatchcase(name, pattern) for pattern in self.secret_names):
            allowed = f"allowed are {', '.join(map(repr, self.secret_names))}" if self.secret_names else "none is"
            raise JobRequestError(
                f"The variable {name!r} may not be handed to jobs; {allowed} (slurm.secrets). "
                "Give a public one its value: 'NAME=VALUE'."
            )
        if not environ.get(name):
            raise JobRequestError(f"The variable {name!r} is not set where this server runs; go on without it.")
        return environ[name]

    def veiled(self, text: str) -> str:
        """Return a text with the workspace told as `.`, other folders by their names, and keys as the agent knows them.

        The longest path goes first, so that one in another is told by its own name.
        """
        names = {path: name for name, path in self.hidden.items()} | {self.workspace: "."}
        for path in sorted(names, key=lambda path: -len(str(path))):
            if len(path.parts) > 1:
                text = re.sub(rf"{re.escape(str(path))}(?![\w.-])", names[path], text)
        return text.replace(self.prefix, "")
