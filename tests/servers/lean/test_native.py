"""Finding a native Lean; the `lean`, `lake` and `elan` here are stand-ins that only answer what they are asked."""

from pathlib import Path

import pytest

import lean_stand_ins as stand_ins
from ekiden_config import LeanSettings, default_settings
from ekiden_lean import LeanError, LeanMissingError, find_toolchain
from ekiden_lean.native import NativeToolchain, find_native


def _lean(folder: Path, version: str = "4.9.0") -> Path:
    """Write a stand-in for a whole toolchain, and return its `lean`."""
    library = folder / "lib" / "lean"
    (library / "Init").mkdir(parents=True)
    (library / "Init" / "Core.olean").touch()
    answers = {
        "--version": f"Lean (version {version}, x86_64-unknown-linux-gnu, commit 1234, Release)",
        "--print-prefix": str(folder),
        "--print-libdir": str(library),
    }
    return stand_ins.write_program(folder / "bin" / "lean", f"print({answers!r}[arguments[0]])")


def _settings(**changes: object) -> LeanSettings:
    return default_settings().lean.model_copy(update=changes)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": stand_ins.path_of(tmp_path / "bin"), "HOME": str(tmp_path), "ELAN_HOME": str(tmp_path / ".elan")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for library in (".lake/build", ".lake/packages/mathlib/.lake/build"):
        (folder / library / "lib" / "lean").mkdir(parents=True)
    (folder / ".lake/packages/mathlib/.lake/build/lib/lean/Mathlib.olean").touch()
    (folder / "lakefile.toml").touch()
    (folder / "lake-manifest.json").write_text('{"packages": [{"name": "mathlib", "type": "git"}]}')
    return folder


def test_a_lean_on_the_path_is_asked_for_its_version_and_its_library(tmp_path: Path, environ: dict[str, str]) -> None:
    lean = _lean(tmp_path)
    found = find_native(_settings(), environ)
    assert found is not None
    assert found == NativeToolchain(
        lean=lean,
        prefix=tmp_path,
        version="4.9.0",
        identity=found.identity,
        library_path=(tmp_path / "lib" / "lean",),
        threads=default_settings().lean.threads,
        memory_mb=default_settings().lean.memory_mb,
    )
    assert (found.kind, found.has_proofs, found.reads) == ("native", True, (tmp_path,))
    assert (found.modules_present("Init.Core"), found.modules_present("Mathlib")) == (True, False)


def test_commands_name_the_file_in_full_and_their_environment_has_nothing_of_ours(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = _lean(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = find_native(_settings(threads=3, memory_mb=2048), environ)
    assert found is not None
    assert found.command(Path("A.lean"), ["x"]) == [
        str(lean), "-j3", "-M2048", "--run", str(tmp_path / "A.lean"), "x",
    ]  # fmt: skip
    assert found.check_command(Path("A.lean")) == [str(lean), "-j3", "-M2048", "--json", str(tmp_path / "A.lean")]
    assert found.environment().keys() == {"LEAN_PATH", "LEAN_SYSROOT", "PATH", "LANG"}
    assert found.environment()["LEAN_PATH"] == str(tmp_path / "lib" / "lean")


def test_the_setting_goes_before_the_variable_and_that_before_the_path(tmp_path: Path, environ: dict[str, str]) -> None:
    _lean(tmp_path, "4.1.0")
    environ["LEAN_BIN"] = str(_lean(tmp_path / "two", "4.2.0"))
    configured = _settings(lean=str(_lean(tmp_path / "three", "4.3.0")))
    found = [find_native(settings, environ) for settings in (configured, _settings())]
    del environ["LEAN_BIN"]
    found.append(find_native(_settings(), environ))
    assert [toolchain and toolchain.version for toolchain in found] == ["4.3.0", "4.2.0", "4.1.0"]


def test_without_any_lean_there_is_none(environ: dict[str, str]) -> None:
    assert find_native(_settings(), environ) is None


@pytest.mark.parametrize(
    ("changes", "variables", "said"),
    [
        ({"lean": "/no/lean"}, {}, "The setting lean.lean is '/no/lean', and there is no such program"),
        ({}, {"LEAN_BIN": "nolean"}, "The variable LEAN_BIN is 'nolean', and there is no such program"),
        ({"project": Path("/no/project")}, {}, "The setting lean.project is '/no/project', which is no Lake project"),
    ],
)
def test_what_is_named_and_not_there_is_an_error(
    changes: dict[str, object], variables: dict[str, str], said: str, environ: dict[str, str]
) -> None:
    with pytest.raises(LeanError, match=said):
        find_native(_settings(**changes), {**environ, **variables})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('Python 3')", "does not tell the version of a Lean: 'Python 3'"),
        ("sys.exit('no libgmp')", "does not answer --version: no libgmp"),
    ],
)
def test_a_lean_that_does_not_answer_like_one_is_an_error(
    body: str, said: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    stand_ins.write_program(tmp_path / "bin" / "lean", body)
    with pytest.raises(LeanError, match=said):
        find_native(_settings(), environ)


def test_a_projects_libraries_are_those_that_lake_names(tmp_path: Path, project: Path, environ: dict[str, str]) -> None:
    lean = _lean(tmp_path / "toolchain")
    paths = f"{project / 'one'}:{project / 'two'}"
    stand_ins.write_program(
        lean.parent / "lake", f"assert arguments == ['env', 'printenv', 'LEAN_PATH']\nprint({paths!r})"
    )
    found = find_native(_settings(project=project, lean=str(lean)), environ)
    assert found is not None
    assert found.library_path == (project / "one", project / "two", tmp_path / "toolchain" / "lib" / "lean")
    assert found.reads == (tmp_path / "toolchain", project / "one", project / "two")


@pytest.mark.parametrize("lake", ["sys.exit(1)", None])
def test_where_lake_cannot_say_the_usual_folders_are_taken(
    lake: str | None, tmp_path: Path, project: Path, environ: dict[str, str]
) -> None:
    lean = _lean(tmp_path)
    if lake is not None:
        stand_ins.write_program(lean.parent / "lake", lake)
    found = find_native(_settings(project=project), environ)
    assert found is not None
    assert found.modules_present("Mathlib")
    assert found.library_path[:2] == (
        project / ".lake/build/lib/lean",
        project / ".lake/packages/mathlib/.lake/build/lib/lean",
    )


def test_lake_is_not_asked_where_it_would_fetch_packages(
    tmp_path: Path, project: Path, environ: dict[str, str]
) -> None:
    lean = _lean(tmp_path)
    asked = tmp_path / "asked"
    stand_ins.write_program(lean.parent / "lake", f"open({str(asked)!r}, 'w')")
    (project / "lake-manifest.json").write_text('{"packages": [{"name": "batteries", "type": "git"}]}')
    find_native(_settings(project=project), environ)
    assert not asked.exists()


def test_the_contests_variable_names_libraries_where_no_project_is_configured(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    _lean(tmp_path)
    environ["JUDGE_LEAN_PATH"] = f"{tmp_path / 'one'}:{tmp_path / 'two'}"
    found = find_native(_settings(), environ)
    assert found is not None
    assert found.library_path == (tmp_path / "one", tmp_path / "two", tmp_path / "lib" / "lean")


class TestElan:
    """A stand-in for elan never runs here: it would download."""

    @pytest.fixture
    def elan(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Install an elan whose programs leave a trace when they are run."""
        home = tmp_path / ".elan"
        trace = tmp_path / "elan-was-run"
        program = stand_ins.write_program(home / "bin" / "elan", f"open({str(trace)!r}, 'w')\nsys.exit('downloading')")
        for name in ("lean", "lake"):
            (home / "bin" / name).hardlink_to(program)
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        return home

    @staticmethod
    def _choose(elan: Path, name: str) -> None:
        (elan / "settings.toml").write_text(f'version = "12"\ndefault_toolchain = "{name}"\n')

    def test_the_real_lean_of_the_chosen_toolchain_is_used(self, elan: Path, environ: dict[str, str]) -> None:
        lean = _lean(elan / "toolchains" / "leanprover--lean4---v4.9.0")
        self._choose(elan, "leanprover/lean4:v4.9.0")
        found = find_native(_settings(), environ)
        assert found is not None
        assert found.lean == lean

    def test_a_toolchain_file_upwards_goes_before_the_default(
        self, elan: Path, environ: dict[str, str], tmp_path: Path
    ) -> None:
        _lean(elan / "toolchains" / "leanprover--lean4---v4.9.0", "4.9.0")
        _lean(elan / "toolchains" / "leanprover--lean4---v4.8.0", "4.8.0")
        self._choose(elan, "leanprover/lean4:v4.9.0")
        (tmp_path / "lean-toolchain").write_text("leanprover/lean4:v4.8.0\n")
        found = find_native(_settings(), environ)
        assert found is not None
        assert found.version == "4.8.0"

    def test_stable_is_the_newest_installed_release(self, elan: Path, environ: dict[str, str]) -> None:
        for version in ("4.9.0", "4.10.0", "4.11.0-rc1"):
            _lean(elan / "toolchains" / f"leanprover--lean4---v{version}", version)
        self._choose(elan, "stable")
        found = find_native(_settings(), environ)
        assert found is not None
        assert found.version == "4.10.0"

    def test_a_toolchain_that_elan_would_download_is_an_error_and_elan_is_not_run(
        self, elan: Path, environ: dict[str, str], tmp_path: Path
    ) -> None:
        self._choose(elan, "leanprover/lean4:v4.30.0")
        with pytest.raises(
            LeanError, match=r"'leanprover/lean4:v4\.30\.0', which is not installed.*elan toolchain inst"
        ):
            find_native(_settings(), environ)
        assert not (tmp_path / "elan-was-run").exists()

    def test_an_elan_without_a_toolchain_is_an_error(self, elan: Path, environ: dict[str, str]) -> None:
        with pytest.raises(LeanError, match="no toolchain is chosen: elan default"):
            find_native(_settings(), environ)


def test_webassembly_is_never_taken_where_a_native_lean_is(tmp_path: Path, environ: dict[str, str]) -> None:
    _lean(tmp_path)
    assert find_toolchain(_settings(), environ).kind == "native"


@pytest.mark.parametrize(
    ("toolchain", "named"), [("auto", "Lean"), ("native", "native Lean"), ("wasm", "Lean for Web")]
)
def test_without_any_the_message_names_both_ways_to_get_one(
    toolchain: str, named: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    settings = _settings(toolchain=toolchain, home=tmp_path / "nothing")
    with pytest.raises(LeanMissingError, match=f"There is no {named}.*elan.*ekiden lean install --wasm"):
        find_toolchain(settings, environ)
