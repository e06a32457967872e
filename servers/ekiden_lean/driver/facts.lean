open Lean

namespace Ekiden

/-! ## All that a text declares: the side that reads the text -/

mutual

partial def ownNamesIn (done : List Name) : PersistentHashMap.Node Name ConstantInfo → List Name
  | .entries es => ownNamesAmong done es.toList
  | .collision ks _ _ => append ks.toList done

partial def ownNamesAmong (done : List Name) :
    List (PersistentHashMap.Entry Name ConstantInfo (PersistentHashMap.Node Name ConstantInfo)) → List Name
  | [] => done
  | .entry n _ :: rest => ownNamesAmong (n :: done) rest
  | .ref node :: rest => ownNamesAmong (ownNamesIn done node) rest
  | .null :: rest => ownNamesAmong done rest

end

def isUnsafeInfo (info : ConstantInfo) : Bool := info.isUnsafe || info.isPartial

/-- The environment after each command, and where that command begins. -/
abbrev Steps := Array (Position × Environment)

/-- Elaborate a text command by command. -/
partial def runCommands (c : Elab.Frontend.Context) (state : IO.Ref Elab.Frontend.State) (steps : Steps)
    (lines : Array String) : IO (Steps × Array String) := do
  let before ← state.get
  state.set { before with commandState := { before.commandState with messages := {} } }
  let finished ← Elab.Frontend.processCommand c state
  let after ← state.get
  let steps := steps.push (c.inputCtx.fileMap.toPosition before.parserState.pos, after.commandState.env)
  let lines ← messageLines after.commandState.messages.toList lines
  if finished then pure (steps, lines) else runCommands c state steps lines

/-- The first of the steps from `low` up to `high` that has a constant, if the one at `high` does. -/
partial def stepOf (steps : Steps) (n : Name) (low high : Nat) : Nat :=
  if high ≤ low then low
  else
    let middle := (low + high) / 2
    let known := match steps[middle]? with
      | some (_, env) => (env.find? n).isSome
      | none => true
    if known then stepOf steps n low middle else stepOf steps n (middle + 1) high

/-- A remark on a constant: whether the kernel has nothing to say of it, and which command declares it. -/
def outRemark (steps : Steps) (env : Environment) (o : Out) (n : Name) (info : ConstantInfo) : Out :=
  let (o, k) := outName o n
  let kind := if isUnsafeInfo info then "unsafe" else if Meta.isInstanceCore env n then "instance" else "plain"
  let step := stepOf steps n 0 (steps.size - 1)
  let line := match steps[step]? with
    | some (place, _) => place.line
    | none => 0
  o.line ("h " ++ toString k ++ " " ++ kind ++ " " ++ toString line ++ " " ++ toString step)

def outOwn (steps : Steps) (base env : Environment) (o : Out) : List Name → Out
  | [] => o
  | n :: rest =>
    let o := match base.find? n, env.find? n with
      | none, some info => outRemark steps env (if isUnsafeInfo info then o else outConst base env o n) n info
      | _, _ => o
    outOwn steps base env o rest

/-- Elaborate a text, and export its messages and all constants that the base does not have. -/
def elaborateAll (base : Environment) (text : String) : IO Out := do
  let input : Parser.InputContext := { inputString := text, fileName := "text", fileMap := FileMap.ofString text }
  let commands := Elab.Command.mkState base {} {}
  let state ← IO.mkRef { commandState := commands, parserState := {}, cmdPos := 0 : Elab.Frontend.State }
  let (steps, lines) ← runCommands { inputCtx := input } state #[] #[]
  let after ← state.get
  let env := after.commandState.env
  let o := { Out.empty with lines := lines.push "found" }
  pure ((outOwn steps base env o (ownNamesIn [] env.constants.map₂.root)).line "end")

/-! ## All that a text declares: the side of the kernel -/

/-- For each constant the axioms that it rests on, as bits of a number. -/
structure Bases where
  places : Table Name
  masks : Array Nat
  leaves : Array String

/-- The constant that stands for all that were made with it: the first type of an inductive declaration. -/
def headOf (env : Environment) (n : Name) : Name :=
  let first (names : List Name) : Name := match names with
    | head :: _ => head
    | [] => n
  match env.find? n with
  | some (.inductInfo v) => first v.all
  | some (.recInfo v) => first v.all
  | some (.ctorInfo v) =>
    match env.find? v.induct with
    | some (.inductInfo v) => first v.all
    | _ => n
  | _ => n

def usedByGroup (env : Environment) (n : Name) : List Name :=
  match env.find? n with
  | some (.inductInfo v) => typesOf env v.all (typesOf env (ctorsOf env v.all []) [])
  | some info => usedBy info
  | none => []

def Bases.leaf (b : Bases) (text : String) : Bases × Nat :=
  ({ b with leaves := b.leaves.push text }, 1 <<< b.leaves.size)

mutual

partial def basesOf (base env : Environment) (b : Bases) (n : Name) : Bases × Nat :=
  let n := headOf env n
  match b.places.find n.hash sameName n with
  | some k => (b, b.masks.getD k 0)
  | none =>
    let k := b.places.size
    let b := { b with places := b.places.put n.hash n, masks := b.masks.push 0 }
    let (b, mask) := match env.find? n with
      | some (.axiomInfo _) =>
        b.leaf ((if (base.find? n).isSome then "library " else "own ") ++ escape (shown n))
      | some _ => (b, 0)
      | none => b.leaf ("own " ++ escape (shown n))
    let (b, mask) := basesOfAll base env b mask (usedByGroup env n)
    ({ b with masks := b.masks.setIfInBounds k mask }, mask)

partial def basesOfAll (base env : Environment) (b : Bases) (mask : Nat) : List Name → Bases × Nat
  | [] => (b, mask)
  | n :: rest =>
    let (b, more) := basesOf base env b n
    basesOfAll base env b (mask ||| more) rest

end

structure Taken where
  env : Environment
  names : List (Nat × Name)
  lines : List String

def firstName : Declaration → Name
  | .axiomDecl v => v.name
  | .defnDecl v => v.name
  | .thmDecl v => v.name
  | .opaqueDecl v => v.name
  | .inductDecl _ _ types _ =>
    match types with
    | type :: _ => type.name
    | [] => Name.anonymous
  | _ => Name.anonymous

/-- Take all declarations of an export that the kernel accepts, and note those that it refuses by their number. -/
def takeAll : List String → Nat → Read → Taken → IO (Except String Taken)
  | [], _, _, _ => pure (.error noEndText)
  | line :: rest, k, r, t =>
    match readLine r line with
    | .last => pure (.ok t)
    | .more r => takeAll rest k r t
    | .unreadable what => pure (.error (unreadableText what))
    | .declares d r => do
      match ← admit t.env d with
      | .ok env => takeAll rest (k + 1) r { t with env := env, names := (k, firstName d) :: t.names }
      | .error text =>
        takeAll rest (k + 1) r { t with lines := ("refused " ++ toString k ++ " " ++ escape text) :: t.lines }

def basesLines (base env : Environment) : List (Nat × Name) → Bases → List String → Bases × List String
  | [], b, lines => (b, lines)
  | (k, n) :: rest, b, lines =>
    let (b, mask) := basesOf base env b n
    basesLines base env rest b (("accepted " ++ toString k ++ " " ++ toString mask) :: lines)

def leafLines : List String → List String → List String
  | [], lines => lines
  | leaf :: rest, lines => leafLines rest (("leaf " ++ leaf) :: lines)

/-- Report on each declaration of an export: whether the kernel takes it, and the axioms that it rests on. -/
def factsOf (base trusted : Environment) (lines : List String) : IO (List String) := do
  match ← takeAll lines 0 Read.empty { env := trusted, names := [], lines := [] } with
  | .error text => pure ["unreadable " ++ escape text]
  | .ok t =>
    let empty : Bases := { places := .empty Name, masks := #[], leaves := #[] }
    let (b, found) := basesLines base t.env (reversed t.names []) empty t.lines
    pure (reversed ("complete" :: leafLines b.leaves.toList found) [])

end Ekiden
