"""A real git repository with a blueprint in it, and branches that change it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blueprint_graphs import node, text_of

if TYPE_CHECKING:
    from pathlib import Path

MAIN = "LeanMarathon/Main.lean"
EVEN = node("def IsEven (n : Nat) : Prop := ∃ k, n = 2 * k")
ONE = node("lemma one (n : Nat) : IsEven (2 * n)")
OWN = node("lemma own (n : Nat) : let m := 2 * n; IsEven m", "lem:one")
GOAL = node("theorem goal : IsEven 4", "lem:own")
BASE = text_of(EVEN, ONE, OWN, GOAL)
DONE = OWN.replace("  sorry_using [one]", "  intro m\n  exact one n")
FINISHED = text_of(EVEN, ONE, DONE, GOAL)
_NOBODY = {f"GIT_{who}_{what}": "test@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(frozen=True)
class GitRepository:
    """A repository with a blueprint on `main`."""

    root: Path

    @classmethod
    def made(cls, root: Path, text: str = BASE) -> GitRepository:
        """Make one."""
        root.mkdir(parents=True, exist_ok=True)
        repository = cls(root)
        repository.git("init", "--quiet", "--initial-branch=main")
        repository.write(MAIN, text)
        repository.write("lakefile.toml", 'name = "target"\n')
        repository.commit("Begin")
        return repository

    def git(self, *arguments: str) -> str:
        """Run git."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {**_NOBODY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def commit(self, message: str) -> str:
        """Commit all that is there, and give the hash."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, text: str | None = None, *, start: str = "main", **files: str) -> str:
        """Make a branch with another blueprint, commit it, and give the hash; the working tree stays on it."""
        self.git("checkout", "--quiet", "-B", name, start)
        if text is not None:
            self.write(MAIN, text)
        for path, content in files.items():
            self.write(path, content)
        return self.commit(name)
