/-!
The Lean side of Ekiden. One program, two modes, each a loop over the jobs that appear in a folder:

* `elaborate`: turns untrusted text into diagnostics and into the declarations that its target needs, as text.
* `check`: reads such declarations as data, has the kernel check each, and reports what the target rests on. Nothing that
  the untrusted text defines is ever run in this mode.

It keeps to plain recursion and arrays: some Lean builds cannot compile calls that specialise library code.
-/

open Lean

namespace Ekiden

/-! ## Text -/

/-- Write a text on one line: a backslash and the two line breaks become two characters each. -/
def escapeChars : List Char → String → String
  | [], done => done
  | c :: rest, done =>
    if c == '\\' then escapeChars rest (done ++ "\\\\")
    else if c == '\n' then escapeChars rest (done ++ "\\n")
    else if c == '\r' then escapeChars rest (done ++ "\\r")
    else escapeChars rest (done.push c)

def escape (text : String) : String := escapeChars text.toList ""

def unescapeChars : List Char → String → String
  | [], done => done
  | '\\' :: 'n' :: rest, done => unescapeChars rest (done.push '\n')
  | '\\' :: 'r' :: rest, done => unescapeChars rest (done.push '\r')
  | '\\' :: '\\' :: rest, done => unescapeChars rest (done.push '\\')
  | c :: rest, done => unescapeChars rest (done.push c)

def unescape (text : String) : String := unescapeChars text.toList ""

def digits : List Char → Nat → Option Nat
  | [], value => some value
  | c :: rest, value =>
    if '0' ≤ c ∧ c ≤ '9' then digits rest (value * 10 + (c.toNat - 48)) else none

def number? (text : String) : Option Nat :=
  match text.toList with
  | [] => none
  | chars => digits chars 0

def nameParts : List String → Name → Name
  | [], name => name
  | part :: rest, name => nameParts rest (Name.str name part)

/-- Read a plain dotted name, such as a module's. -/
def nameOf (text : String) : Name := nameParts (text.splitOn ".") Name.anonymous

def isPlainPart : List Char → Bool
  | [] => true
  | c :: rest => c != '.' && c != '«' && c != '»' && ' ' < c && isPlainPart rest

/-- Quote what could be taken for another name: a part with a dot in it, or one that reads like a number. -/
def quoted (part : String) : String :=
  match part.toList with
  | [] => "«»"
  | c :: rest =>
    if (c < '0' || '9' < c) && isPlainPart (c :: rest) then part else "«" ++ part ++ "»"

def shown : Name → String
  | .anonymous => "[anonymous]"
  | .str .anonymous s => quoted s
  | .str p s => shown p ++ "." ++ quoted s
  | .num .anonymous n => toString n
  | .num p n => shown p ++ "." ++ toString n

def joined : List String → String
  | [] => ""
  | [part] => part
  | part :: rest => part ++ " " ++ joined rest

/-! ## Lists, and a hash table that needs no specialised library code -/

def reversed : List α → List α → List α
  | [], done => done
  | item :: rest, done => reversed rest (item :: done)

def append (first second : List α) : List α := reversed (reversed first []) second

structure Table (α : Type) where
  buckets : Array (List (α × Nat))
  size : Nat

def bucketCount : Nat := 8192

def Table.empty (α : Type) : Table α := { buckets := Array.replicate bucketCount [], size := 0 }

def inBucket (same : α → α → Bool) (item : α) : List (α × Nat) → Option Nat
  | [] => none
  | (other, k) :: rest => if same item other then some k else inBucket same item rest

def Table.find (t : Table α) (hash : UInt64) (same : α → α → Bool) (item : α) : Option Nat :=
  inBucket same item (t.buckets.getD (hash.toNat % bucketCount) [])

def Table.put (t : Table α) (hash : UInt64) (item : α) : Table α :=
  let slot := hash.toNat % bucketCount
  let bucket := t.buckets.getD slot []
  { buckets := t.buckets.setIfInBounds slot ((item, t.size) :: bucket), size := t.size + 1 }

def sameName (a b : Name) : Bool := a.hash == b.hash && a == b
def sameLevel (a b : Level) : Bool := a.hash == b.hash && a == b
def sameExpr (a b : Expr) : Bool := a.hash == b.hash && a == b

/-! ## Exporting: names, levels and expressions are numbered, each entry naming earlier ones -/

structure Out where
  names : Table Name
  levels : Table Level
  exprs : Table Expr
  visited : Table Name
  lines : Array String

def Out.empty : Out :=
  { names := .empty Name, levels := .empty Level, exprs := .empty Expr, visited := .empty Name, lines := #[] }

def Out.line (o : Out) (text : String) : Out := { o with lines := o.lines.push text }

partial def outName (o : Out) (n : Name) : Out × Nat :=
  match o.names.find n.hash sameName n with
  | some k => (o, k)
  | none =>
    let o := match n with
      | .anonymous => o.line "n a"
      | .str p s =>
        let (o, k) := outName o p
        o.line ("n s " ++ toString k ++ " " ++ escape s)
      | .num p i =>
        let (o, k) := outName o p
        o.line ("n i " ++ toString k ++ " " ++ toString i)
    ({ o with names := o.names.put n.hash n }, o.names.size)

partial def outLevel (o : Out) (u : Level) : Out × Nat :=
  match o.levels.find u.hash sameLevel u with
  | some k => (o, k)
  | none =>
    let o := match u with
      | .zero => o.line "u z"
      | .succ v =>
        let (o, k) := outLevel o v
        o.line ("u s " ++ toString k)
      | .max v w =>
        let (o, k) := outLevel o v
        let (o, l) := outLevel o w
        o.line ("u m " ++ toString k ++ " " ++ toString l)
      | .imax v w =>
        let (o, k) := outLevel o v
        let (o, l) := outLevel o w
        o.line ("u i " ++ toString k ++ " " ++ toString l)
      | .param n =>
        let (o, k) := outName o n
        o.line ("u p " ++ toString k)
      | .mvar _ => o.line "bad"
    ({ o with levels := o.levels.put u.hash u }, o.levels.size)

def outLevels : Out → List Level → String → Out × String
  | o, [], text => (o, text)
  | o, u :: rest, text =>
    let (o, k) := outLevel o u
    outLevels o rest (text ++ " " ++ toString k)

def outNames : Out → List Name → String → Out × String
  | o, [], text => (o, text)
  | o, n :: rest, text =>
    let (o, k) := outName o n
    outNames o rest (text ++ " " ++ toString k)

def binderMark : BinderInfo → String
  | .default => "d"
  | .implicit => "i"
  | .strictImplicit => "s"
  | .instImplicit => "c"

partial def outExpr (o : Out) (e : Expr) : Out × Nat :=
  match e with
  | .mdata _ e => outExpr o e
  | _ =>
  match o.exprs.find e.hash sameExpr e with
  | some k => (o, k)
  | none =>
    let o := match e with
      | .bvar i => o.line ("e b " ++ toString i)
      | .sort u =>
        let (o, k) := outLevel o u
        o.line ("e s " ++ toString k)
      | .const n us =>
        let (o, k) := outName o n
        let (o, text) := outLevels o us ""
        o.line ("e c " ++ toString k ++ text)
      | .app f x =>
        let (o, k) := outExpr o f
        let (o, l) := outExpr o x
        o.line ("e a " ++ toString k ++ " " ++ toString l)
      | .lam n t b i =>
        let (o, m) := outName o n
        let (o, k) := outExpr o t
        let (o, l) := outExpr o b
        o.line ("e l " ++ binderMark i ++ " " ++ toString m ++ " " ++ toString k ++ " " ++ toString l)
      | .forallE n t b i =>
        let (o, m) := outName o n
        let (o, k) := outExpr o t
        let (o, l) := outExpr o b
        o.line ("e p " ++ binderMark i ++ " " ++ toString m ++ " " ++ toString k ++ " " ++ toString l)
      | .letE n t v b _ =>
        let (o, m) := outName o n
        let (o, j) := outExpr o t
        let (o, k) := outExpr o v
        let (o, l) := outExpr o b
        o.line ("e z " ++ toString m ++ " " ++ toString j ++ " " ++ toString k ++ " " ++ toString l)
      | .proj n i x =>
        let (o, m) := outName o n
        let (o, k) := outExpr o x
        o.line ("e j " ++ toString m ++ " " ++ toString i ++ " " ++ toString k)
      | .lit (.natVal v) => o.line ("e n " ++ toString v)
      | .lit (.strVal v) => o.line ("e t " ++ escape v)
      | _ => o.line "bad"
    ({ o with exprs := o.exprs.put e.hash e }, o.exprs.size)

def hintMark : ReducibilityHints → String
  | .opaque => "o"
  | .abbrev => "a"
  | .regular h => toString h.toNat

def outHead (o : Out) (v : ConstantVal) : Out × String :=
  let (o, n) := outName o v.name
  let (o, t) := outExpr o v.type
  (o, toString n ++ " " ++ toString t)

def outParams (o : Out) (kind head : String) (params : List Name) : Out :=
  let (o, text) := outNames o params ""
  o.line ("d " ++ kind ++ " " ++ head ++ text)

def outCtors (env : Environment) : Out → List Name → Out
  | o, [] => o
  | o, n :: rest =>
    match env.find? n with
    | some info =>
      let (o, head) := outHead o info.toConstantVal
      outCtors env (o.line ("c " ++ head)) rest
    | none => outCtors env (o.line "bad") rest

def outTypes (env : Environment) : Out → List Name → Out
  | o, [] => o
  | o, n :: rest =>
    match env.find? n with
    | some (.inductInfo v) =>
      let (o, head) := outHead o v.toConstantVal
      outTypes env (outCtors env (o.line ("t " ++ head)) v.ctors) rest
    | _ => outTypes env (o.line "bad") rest

def visitMark (o : Out) (n : Name) : Out := { o with visited := o.visited.put n.hash n }

def visitMarks : Out → List Name → Out
  | o, [] => o
  | o, n :: rest => visitMarks (visitMark o n) rest

def usedIn (e : Expr) : List Name := e.getUsedConstants.toList

def typesOf (env : Environment) : List Name → List Name → List Name
  | [], done => done
  | n :: rest, done =>
    match env.find? n with
    | some info => typesOf env rest (append (usedIn info.type) done)
    | none => typesOf env rest done

def ctorsOf (env : Environment) : List Name → List Name → List Name
  | [], done => done
  | n :: rest, done =>
    match env.find? n with
    | some (.inductInfo v) => ctorsOf env rest (append v.ctors done)
    | _ => ctorsOf env rest done

mutual

/-- Export a constant that the base does not have, after all that it needs. -/
partial def outConst (base env : Environment) (o : Out) (n : Name) : Out :=
  if (o.visited.find n.hash sameName n).isSome then o
  else if (base.find? n).isSome then visitMark o n
  else
    match env.find? n with
    | none => visitMark o n
    | some (.axiomInfo v) =>
      let o := outConsts base env (visitMark o n) (usedIn v.type)
      let (o, head) := outHead o v.toConstantVal
      outParams o "axiom" head v.levelParams
    | some (.defnInfo v) =>
      let o := outConsts base env (visitMark o n) (append (usedIn v.type) (usedIn v.value))
      let (o, head) := outHead o v.toConstantVal
      let (o, k) := outExpr o v.value
      outParams o ("def " ++ hintMark v.hints) (head ++ " " ++ toString k) v.levelParams
    | some (.thmInfo v) =>
      let o := outConsts base env (visitMark o n) (append (usedIn v.type) (usedIn v.value))
      let (o, head) := outHead o v.toConstantVal
      let (o, k) := outExpr o v.value
      outParams o "thm" (head ++ " " ++ toString k) v.levelParams
    | some (.opaqueInfo v) =>
      let o := outConsts base env (visitMark o n) (append (usedIn v.type) (usedIn v.value))
      let (o, head) := outHead o v.toConstantVal
      let (o, k) := outExpr o v.value
      outParams o "opaque" (head ++ " " ++ toString k) v.levelParams
    | some (.quotInfo _) => visitMark o n
    | some (.ctorInfo v) => outConst base env (visitMark o n) v.induct
    | some (.recInfo v) => outConsts base env (visitMark o n) v.all
    | some (.inductInfo v) =>
      let ctors := ctorsOf env v.all []
      let o := visitMarks o v.all
      let o := outConsts base env o (typesOf env v.all (typesOf env ctors []))
      let o := outTypes env o v.all
      outParams o "induct" (toString v.numParams) v.levelParams

partial def outConsts (base env : Environment) (o : Out) : List Name → Out
  | [] => o
  | n :: rest => outConsts base env (outConst base env o n) rest

end

/-! ## Reading an export -/

structure Read where
  names : Array Name
  levels : Array Level
  exprs : Array Expr
  types : List InductiveType
  ctors : List Constructor

def Read.empty : Read := { names := #[], levels := #[], exprs := #[], types := [], ctors := [] }

def Read.name? (r : Read) (text : String) : Option Name :=
  match number? text with
  | some k => r.names[k]?
  | none => none

def Read.level? (r : Read) (text : String) : Option Level :=
  match number? text with
  | some k => r.levels[k]?
  | none => none

def Read.expr? (r : Read) (text : String) : Option Expr :=
  match number? text with
  | some k => r.exprs[k]?
  | none => none

def Read.names? (r : Read) : List String → Option (List Name)
  | [] => some []
  | text :: rest =>
    match r.name? text, r.names? rest with
    | some n, some ns => some (n :: ns)
    | _, _ => none

def Read.levels? (r : Read) : List String → Option (List Level)
  | [] => some []
  | text :: rest =>
    match r.level? text, r.levels? rest with
    | some u, some us => some (u :: us)
    | _, _ => none

def readName (r : Read) : List String → Option Name
  | ["a"] => some Name.anonymous
  | "s" :: p :: rest =>
    match r.name? p with
    | some p => some (Name.str p (unescape (joined rest)))
    | none => none
  | ["i", p, i] =>
    match r.name? p, number? i with
    | some p, some i => some (Name.num p i)
    | _, _ => none
  | _ => none

def readLevel (r : Read) : List String → Option Level
  | ["z"] => some Level.zero
  | ["s", u] =>
    match r.level? u with
    | some u => some (Level.succ u)
    | none => none
  | ["m", u, v] =>
    match r.level? u, r.level? v with
    | some u, some v => some (Level.max u v)
    | _, _ => none
  | ["i", u, v] =>
    match r.level? u, r.level? v with
    | some u, some v => some (Level.imax u v)
    | _, _ => none
  | ["p", n] =>
    match r.name? n with
    | some n => some (Level.param n)
    | none => none
  | _ => none

def binderOf (mark : String) : BinderInfo :=
  if mark == "i" then .implicit else if mark == "s" then .strictImplicit else if mark == "c" then .instImplicit
  else .default

def readExpr (r : Read) : List String → Option Expr
  | ["b", i] =>
    match number? i with
    | some i => some (Expr.bvar i)
    | none => none
  | ["s", u] =>
    match r.level? u with
    | some u => some (Expr.sort u)
    | none => none
  | "c" :: n :: us =>
    match r.name? n, r.levels? us with
    | some n, some us => some (Expr.const n us)
    | _, _ => none
  | ["a", f, x] =>
    match r.expr? f, r.expr? x with
    | some f, some x => some (Expr.app f x)
    | _, _ => none
  | ["l", i, n, t, b] =>
    match r.name? n, r.expr? t, r.expr? b with
    | some n, some t, some b => some (Expr.lam n t b (binderOf i))
    | _, _, _ => none
  | ["p", i, n, t, b] =>
    match r.name? n, r.expr? t, r.expr? b with
    | some n, some t, some b => some (Expr.forallE n t b (binderOf i))
    | _, _, _ => none
  | ["z", n, t, v, b] =>
    match r.name? n, r.expr? t, r.expr? v, r.expr? b with
    | some n, some t, some v, some b => some (Expr.letE n t v b false)
    | _, _, _, _ => none
  | ["j", n, i, x] =>
    match r.name? n, number? i, r.expr? x with
    | some n, some i, some x => some (Expr.proj n i x)
    | _, _, _ => none
  | ["n", v] =>
    match number? v with
    | some v => some (Expr.lit (.natVal v))
    | none => none
  | "t" :: rest => some (Expr.lit (.strVal (unescape (joined rest))))
  | _ => none

def hintOf (mark : String) : ReducibilityHints :=
  if mark == "o" then .opaque else if mark == "a" then .abbrev
  else match number? mark with
    | some h => .regular h.toUInt32
    | none => .opaque

def readDecl (r : Read) : List String → Option Declaration
  | "axiom" :: n :: t :: ps =>
    match r.name? n, r.expr? t, r.names? ps with
    | some name, some type, some levelParams => some (.axiomDecl { name, type, levelParams, isUnsafe := false })
    | _, _, _ => none
  | "def" :: h :: n :: t :: v :: ps =>
    match r.name? n, r.expr? t, r.expr? v, r.names? ps with
    | some name, some type, some value, some levelParams =>
      some (.defnDecl { name, type, value, levelParams, hints := hintOf h, safety := .safe })
    | _, _, _, _ => none
  | "thm" :: n :: t :: v :: ps =>
    match r.name? n, r.expr? t, r.expr? v, r.names? ps with
    | some name, some type, some value, some levelParams => some (.thmDecl { name, type, value, levelParams })
    | _, _, _, _ => none
  | "opaque" :: n :: t :: v :: ps =>
    match r.name? n, r.expr? t, r.expr? v, r.names? ps with
    | some name, some type, some value, some levelParams =>
      some (.opaqueDecl { name, type, value, levelParams, isUnsafe := false })
    | _, _, _, _ => none
  | "induct" :: p :: ps =>
    match number? p, r.names? ps with
    | some p, some levelParams => some (.inductDecl levelParams p (reversed r.types []) false)
    | _, _ => none
  | _ => none

/-- Take a constructor line, or a type line: the constructors of a type follow it, so lists grow at the front. -/
def readPart (r : Read) : List String → Option Read
  | ["t", n, t] =>
    match r.name? n, r.expr? t with
    | some name, some type => some { r with types := { name, type, ctors := [] } :: r.types }
    | _, _ => none
  | ["c", n, t] =>
    match r.name? n, r.expr? t, r.types with
    | some name, some type, head :: rest =>
      some { r with types := { head with ctors := append head.ctors [{ name, type }] } :: rest }
    | _, _, _ => none
  | _ => none

/-! ## What a constant rests on -/

structure Rest where
  visited : Table Name
  leaves : List String

def usedBy : ConstantInfo → List Name
  | .axiomInfo v => usedIn v.type
  | .defnInfo v => append (usedIn v.type) (usedIn v.value)
  | .thmInfo v => append (usedIn v.type) (usedIn v.value)
  | .opaqueInfo v => append (usedIn v.type) (usedIn v.value)
  | .quotInfo v => usedIn v.type
  | .ctorInfo v => v.induct :: usedIn v.type
  | .recInfo v => append v.all (usedIn v.type)
  | .inductInfo v => append v.ctors (usedIn v.type)

mutual

partial def restsOn (base env : Environment) (r : Rest) (n : Name) : Rest :=
  if (r.visited.find n.hash sameName n).isSome then r
  else
    let r := { r with visited := r.visited.put n.hash n }
    match env.find? n with
    | none => { r with leaves := ("own " ++ escape (shown n)) :: r.leaves }
    | some info =>
      let r := match info with
        | .axiomInfo _ =>
          let place := if (base.find? n).isSome then "library " else "own "
          { r with leaves := (place ++ escape (shown n)) :: r.leaves }
        | _ => r
      allRestOn base env r (usedBy info)

partial def allRestOn (base env : Environment) (r : Rest) : List Name → Rest
  | [] => r
  | n :: rest => allRestOn base env (restsOn base env r n) rest

end

/-! ## Jobs -/

structure Job where
  imports : List String
  modules : List String
  answer : String
  target : String
  goal : String
  nonce : String

def readJob : List String → Job → Job
  | [], job => job
  | line :: rest, job =>
    readJob rest <| match line.splitOn " " with
      | ["import", m] => { job with imports := append job.imports [m] }
      | ["module", m] => { job with modules := append job.modules [m] }
      | ["answer", m] => { job with answer := m }
      | ["target", m] => { job with target := m }
      | ["goal", m] => { job with goal := m }
      | ["nonce", m] => { job with nonce := m }
      | _ => job

def importsOf : List String → Array Import → Array Import
  | [], done => done
  | m :: rest, done => importsOf rest (done.push { module := nameOf m })

def cached (key : String) : List (String × Environment) → Option Environment
  | [] => none
  | (other, env) :: rest => if key == other then some env else cached key rest

def say (text : String) : IO Unit := do
  let out ← IO.getStdout
  out.putStrLn text
  out.flush

def severityMark : MessageSeverity → String
  | .error => "error"
  | .warning => "warning"
  | .information => "information"

def position : Option Position → String
  | some p => toString p.line ++ " " ++ toString p.column
  | none => "- -"

def messageLines : List Message → Array String → IO (Array String)
  | [], lines => pure lines
  | m :: rest, lines => do
    let text ← m.data.toString
    let place := toString m.pos.line ++ " " ++ toString m.pos.column ++ " " ++ position m.endPos
    let head := "message " ++ severityMark m.severity ++ " " ++ place ++ " "
    messageLines rest (lines.push (head ++ escape (shown m.kind) ++ "\t" ++ escape text))

def hasError : List Message → Bool
  | [] => false
  | m :: rest => (match m.severity with | .error => true | _ => false) || hasError rest

structure Memory where
  envs : List (String × Environment)

def firstFew : Nat → List α → List α
  | 0, _ => []
  | _, [] => []
  | k + 1, item :: rest => item :: firstFew k rest

def Memory.keep (m : Memory) (key : String) (env : Environment) : Memory :=
  { envs := (key, env) :: firstFew 12 m.envs }

def moduleChain (folder : String) : List String → String → Environment → Memory → IO (Environment × Memory)
  | [], _, env, memory => pure (env, memory)
  | m :: rest, key, env, memory => do
    let key := key ++ " " ++ m
    match cached key memory.envs with
    | some env => moduleChain folder rest key env memory
    | none =>
      let text ← IO.FS.readFile (folder ++ "/" ++ m)
      let (env, messages) ← Elab.process text env {} (some m)
      if hasError messages.toList then
        let lines ← messageLines messages.toList #[]
        throw (IO.userError ("trusted module " ++ m ++ ": " ++ joined lines.toList))
      moduleChain folder rest key env (memory.keep key env)

/-- The environment of the imports alone, and the one after the trusted modules. -/
def prepare (folder : String) (job : Job) (memory : Memory) : IO (Environment × Environment × Memory) := do
  let key := "import " ++ joined job.imports
  let (base, memory) ← match cached key memory.envs with
    | some env => pure (env, memory)
    | none =>
      let env ← importModules (importsOf job.imports #[]) {} 0 #[] false true OLeanLevel.private
      pure (env, memory.keep key env)
  let (env, memory) ← moduleChain folder job.modules key base memory
  pure (base, env, memory)

def writeLines (file : String) (lines : Array String) : IO Unit := do
  let handle ← IO.FS.Handle.mk (file ++ ".part") IO.FS.Mode.write
  let rec go : List String → IO Unit
    | [] => pure ()
    | line :: rest => do
      handle.putStrLn line
      go rest
  go lines.toList
  handle.flush
  IO.FS.rename (file ++ ".part") file

def elaborate (folder name : String) (job : Job) (memory : Memory) : IO Memory := do
  let (_, env, memory) ← prepare folder job memory
  say ("begin " ++ name)
  let text ← IO.FS.readFile (folder ++ "/" ++ job.answer)
  let (after, messages) ← Elab.process text env {} (some "answer")
  let lines ← messageLines messages.toList #[]
  let target := nameOf job.target
  let found := match after.find? target with
    | some _ => "found"
    | none => "missing"
  let out := (outConst env after { Out.empty with lines := lines.push found } target).line "end"
  writeLines (folder ++ "/" ++ name ++ ".out") out.lines
  pure memory

def kernelMessage (e : Kernel.Exception) : IO String := (e.toMessageData {}).toString

/-- Take one declaration into the environment by the kernel alone. -/
def admit (env : Environment) (d : Declaration) : IO (Except String Environment) :=
  match env.addDeclCore 0 d none with
  | .ok env => pure (.ok env)
  | .error e => do
    let text ← kernelMessage e
    pure (.error text)

def replay : List String → Read → Environment → IO (Except String Environment)
  | [], _, _ => pure (.error "the export has no end")
  | line :: rest, r, env =>
    match line.splitOn " " with
    | ["end"] => pure (.ok env)
    | "n" :: parts =>
      match readName r parts with
      | some n => replay rest { r with names := r.names.push n } env
      | none => pure (.error "the export holds a name that cannot be read")
    | "u" :: parts =>
      match readLevel r parts with
      | some u => replay rest { r with levels := r.levels.push u } env
      | none => pure (.error "the export holds a level that cannot be read")
    | "e" :: parts =>
      match readExpr r parts with
      | some e => replay rest { r with exprs := r.exprs.push e } env
      | none => pure (.error "the export holds an expression that cannot be read")
    | "d" :: parts =>
      match readDecl r parts with
      | some d => do
        match ← admit env d with
        | .ok env => replay rest { r with types := [] } env
        | .error text => pure (.error text)
      | none => pure (.error "the export holds a declaration that cannot be read")
    | parts =>
      match readPart r parts with
      | some r => replay rest r env
      | none => pure (.error "the export holds a line that cannot be read")

def zeros : List Name → List Level
  | [] => []
  | _ :: rest => Level.zero :: zeros rest

def report (head : String) : List String → IO Unit
  | [] => pure ()
  | line :: rest => do
    say (head ++ line)
    report head rest

def direct : List Name → List String
  | [] => []
  | n :: rest => ("uses " ++ escape (shown n)) :: direct rest

def judge (base trusted env : Environment) (job : Job) : IO (List String) := do
  let target := nameOf job.target
  if (trusted.find? target).isSome then
    return ["refused the target is a name of the problem's own"]
  match env.find? target with
  | none => pure ["refused there is no declaration of the target's name"]
  | some info =>
    let proof := Expr.const target (zeros info.levelParams)
    let check := Declaration.thmDecl {
      name := Name.str (Name.str Name.anonymous "Ekiden check") job.nonce, levelParams := [],
      type := Expr.const (nameOf job.goal) [], value := proof }
    match ← admit env check with
    | .error text => pure ["refused " ++ escape text]
    | .ok _ =>
      let used := append (usedIn info.type) (match info with
        | .defnInfo v => usedIn v.value
        | .thmInfo v => usedIn v.value
        | .opaqueInfo v => usedIn v.value
        | _ => [])
      let r := restsOn base env { visited := .empty Name, leaves := [] } target
      pure (append r.leaves (append (direct used) ["proved"]))

def check (folder name : String) (job : Job) (memory : Memory) : IO Memory := do
  let (base, trusted, memory) ← prepare folder job memory
  say ("begin " ++ name)
  let text ← IO.FS.readFile (folder ++ "/" ++ job.answer)
  let head := "report " ++ job.nonce ++ " "
  match ← replay (text.splitOn "\n") Read.empty trusted with
  | .error text => say (head ++ "refused " ++ escape text)
  | .ok env =>
    let lines ← judge base trusted env job
    report head lines
  pure memory

/-! ## The loop -/

def oneJob (mode folder name : String) (text : String) (memory : Memory) : IO Memory := do
  let job := readJob (text.splitOn "\n")
    { imports := [], modules := [], answer := "", target := "submission", goal := "Goal", nonce := "" }
  try
    let memory ← if mode == "check" then check folder name job memory else elaborate folder name job memory
    say ("done " ++ name)
    pure memory
  catch error =>
    say ("failed " ++ name ++ " " ++ escape (toString error))
    pure memory

partial def loop (mode folder : String) (k : Nat) (memory : Memory) : IO UInt32 := do
  let name := toString k
  let file := folder ++ "/" ++ name ++ ".job"
  if ← System.FilePath.pathExists file then
    let text ← IO.FS.readFile file
    if text == "stop\n" then
      return 0
    let memory ← oneJob mode folder name text memory
    loop mode folder (k + 1) memory
  else
    IO.sleep 10
    loop mode folder k memory

end Ekiden

def main (args : List String) : IO UInt32 :=
  match args with
  | [mode, folder] => do
    Ekiden.say "ready"
    Ekiden.loop mode folder 0 { envs := [] }
  | _ => pure 2
