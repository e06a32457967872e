open Lean

namespace Ekiden

/-! ## Lean's messages -/

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

end Ekiden
