r"""Our own copy of the WebAssembly Lean's loader, without what makes it slow or lets it see too much.

- A symbol was looked up by a linear search over 201,110 names: the search becomes a `Map`.
- A JavaScript variable was defined for each of 188,141 functions of the library, in the main program and again in each
  worker. Nothing refers to them: they go.
- Four workers were made at the start, at three CPU seconds each, and most runs used one: now one is made at the start
  and the others when they are needed.
- `/home` and `/tmp` were mounted, whatever they hold: now Lean sees the folders that Node was allowed, under their own
  names, and no others; what Node refuses is reported as "permission denied". `process.binding` is not for programs
  under Node's permission model. Nor is a profile written where Lean was started.
- A function that Lean code could reach starts a worker from a file of the caller's choice: it starts none.
- The loader's own remarks, the beginning of the checked file among them, went to standard output between Lean's lines:
  they go to standard error, without the file, so that a file cannot begin with something that looks like a message.
"""

import re

from ekiden_lean.errors import LeanInstallError

REVISION = 1
"""Raised whenever this module changes what it makes of a loader, so that older installations are told apart."""

_ONCE = {
    "newSymIndex=Object.keys(lib.exports).indexOf(symbol);": (
        "lib.ekidenIndex??=new Map(Object.keys(lib.exports).map((name,place)=>[name,place]));"
        "newSymIndex=lib.ekidenIndex.get(symbol)??-1;"
    ),
    "var pthreadPoolSize=4;": "var pthreadPoolSize=1;",
    (
        'FS.mount(NODEFS,{root:"/home"},"/home");FS.mount(NODEFS,{root:"/tmp"},"/tmp");var cwd=process.cwd();'
        'if(cwd.startsWith("/private/tmp/")){cwd=cwd.replace("/private/tmp/","/tmp/")}'
        'else if(cwd==="/private/tmp"){cwd="/tmp"}FS.chdir(cwd)'
    ): (
        "for(const option of process.execArgv){const seen=/^--allow-fs-read=(.*)$/s.exec(option);"
        "if(seen){FS.mkdirTree(seen[1]);FS.mount(NODEFS,{root:seen[1]},seen[1])}}"
        'FS.mkdirTree(process.cwd());FS.chdir(process.cwd());ENV["LLVM_PROFILE_FILE"]="/dev/null"'
    ),
    'process.binding("constants")["fs"]': "fs.constants",
    "convertNodeCode(e){var code=e.code;return ERRNO_CODES[code]}": (
        "convertNodeCode(e){return ERRNO_CODES[e.code]??ERRNO_CODES.EACCES}"
    ),
    "info={worker:new Worker(url),": "info={worker:null,",
    'console.log("[DEBUG:F] Input file content (first 200 chars): "+content.substring(0,200))': "",
}
# each pattern begins with plain characters, so that 89 MB are searched in a second
_ALIAS = re.compile(r'(_l_[\w$]+)=Module\["\1"\]=wasmExports\["l_[\w$]+"\](?:\.value)?;')
_DECLARATION = re.compile(r",(_l_[\w$]+)(?=,)")
_MENTION = re.compile(r"_l_[\w$]+")


def patched(loader: str) -> str:
    """Return our copy of the loader.

    Raises:
        LeanInstallError: If the text is not the loader that this was written for.
    """
    text = loader
    for old, new in _ONCE.items():
        if (times := text.count(old)) != 1:
            raise LeanInstallError(f"This lean.js is not the expected loader: {old[:50]!r} occurs {times} times in it.")
        text = text.replace(old, new)
    text = text.replace('console.log("[DEBUG', 'console.error("[DEBUG')
    aliases: set[str] = set()

    def note(alias: re.Match[str]) -> str:
        aliases.add(alias[1])
        return ""

    text = _ALIAS.sub(note, text)
    text = _DECLARATION.sub(lambda match: "" if match[1] in aliases else match[0], text)
    used = next((match[0] for match in _MENTION.finditer(text) if match[0] in aliases), None)
    if used is not None:
        raise LeanInstallError(f"This lean.js is not the expected loader: it uses {used!r} itself.")
    return text
