"""The loader's patch: every change once, and no other loader."""

import pytest
from inline_snapshot import snapshot

from ekiden_lean import LeanInstallError
from ekiden_lean.loader import patched
from lean_stand_ins import LOADER


def test_the_loader_is_indexed_stripped_and_shown_only_the_folders_it_was_allowed() -> None:
    assert patched(LOADER).replace(";", ";\n").splitlines() == snapshot(
        [
            "for(const option of process.execArgv){const seen=/^--allow-fs-read=(.*)$/s.exec(option);",
            "if(seen){FS.mkdirTree(seen[1]);",
            "FS.mount(NODEFS,{root:seen[1]},seen[1])}}FS.mkdirTree(process.cwd());",
            "FS.chdir(process.cwd());",
            'ENV["LLVM_PROFILE_FILE"]="/dev/null";',
            'console.error("[DEBUG:A] lean_main entered");',
            ";",
            "var flags=fs.constants;",
            "convertNodeCode(e){return ERRNO_CODES[e.code]??ERRNO_CODES.EACCES};",
            "var info={worker:null,callbacks:[]};",
            "var pthreadPoolSize=1;",
            "lib.ekidenIndex??=new Map(Object.keys(lib.exports).map((name,place)=>[name,place]));",
            "newSymIndex=lib.ekidenIndex.get(symbol)??-1;",
            "var _main,_other;",
            '_main=Module["_main"]=wasmExports["main"];',
        ]
    )


@pytest.mark.parametrize(
    "piece",
    ["pthreadPoolSize=4;", ".indexOf(symbol);", 'root:"/home"', 'process.binding("constants")', "new Worker(url)"],
)
def test_a_loader_without_a_piece_that_is_changed_is_refused(piece: str) -> None:
    with pytest.raises(LeanInstallError, match="occurs 0 times"):
        patched(LOADER.replace(piece, "x"))


def test_a_loader_with_a_piece_twice_is_refused() -> None:
    with pytest.raises(LeanInstallError, match="'var pthreadPoolSize=4;' occurs 2 times"):
        patched(LOADER + "var pthreadPoolSize=4;")


def test_a_loader_that_uses_a_variable_that_would_go_is_refused() -> None:
    with pytest.raises(LeanInstallError, match="it uses '_l_id' itself"):
        patched(LOADER + "call(_l_id);")
