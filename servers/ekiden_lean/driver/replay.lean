open Lean

namespace Ekiden

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

/-- What one line of an export says. -/
inductive ExportLine where
  | more (r : Read)
  | declares (d : Declaration) (r : Read)
  | last
  | unreadable (what : String)

def readLine (r : Read) (line : String) : ExportLine :=
  match line.splitOn " " with
  | ["end"] => .last
  | "n" :: parts =>
    match readName r parts with
    | some n => .more { r with names := r.names.push n }
    | none => .unreadable "a name"
  | "u" :: parts =>
    match readLevel r parts with
    | some u => .more { r with levels := r.levels.push u }
    | none => .unreadable "a level"
  | "e" :: parts =>
    match readExpr r parts with
    | some e => .more { r with exprs := r.exprs.push e }
    | none => .unreadable "an expression"
  | "d" :: parts =>
    match readDecl r parts with
    | some d => .declares d { r with types := [] }
    | none => .unreadable "a declaration"
  | parts =>
    match readPart r parts with
    | some r => .more r
    | none => .unreadable "a line"

def unreadableText (what : String) : String := "the export holds " ++ what ++ " that cannot be read"

def noEndText : String := "the export has no end"

/-! ## The kernel -/

def kernelMessage (e : Kernel.Exception) : IO String := (e.toMessageData {}).toString

/-- Take one declaration into the environment by the kernel alone. -/
def admit (env : Environment) (d : Declaration) : IO (Except String Environment) :=
  match env.addDeclCore 0 d none with
  | .ok env => pure (.ok env)
  | .error e => do
    let text ← kernelMessage e
    pure (.error text)

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

end Ekiden
