open Lean

namespace Ekiden

/-! ## Jobs -/

structure Job where
  imports : List String
  modules : List String
  answer : String
  target : String
  goal : String
  scope : String
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
      | ["scope", m] => { job with scope := m }
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

/-- Elaborate trusted modules one after the other. All but the last are remembered: it is the problem's own, and what
comes after an environment that is still needed has to copy large tables of it. -/
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
      let memory := match rest with
        | [] => memory
        | _ => memory.keep key env
      moduleChain folder rest key env memory

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

def elaborateTarget (env : Environment) (text : String) (target : Name) : IO Out := do
  let (after, messages) ← Elab.process text env {} (some "answer")
  let lines ← messageLines messages.toList #[]
  let found := match after.find? target with
    | some _ => "found"
    | none => "missing"
  pure ((outConst env after { Out.empty with lines := lines.push found } target).line "end")

def elaborate (folder name : String) (job : Job) (memory : Memory) : IO Memory := do
  let (_, env, memory) ← prepare folder job memory
  say ("begin " ++ name)
  let text ← IO.FS.readFile (folder ++ "/" ++ job.answer)
  let out ← if job.scope == "all" then elaborateAll env text else elaborateTarget env text (nameOf job.target)
  writeLines (folder ++ "/" ++ name ++ ".out") out.lines
  pure memory

/-- Take all declarations of an export; the first that the kernel refuses ends it. -/
def replay : List String → Read → Environment → IO (Except String Environment)
  | [], _, _ => pure (.error noEndText)
  | line :: rest, r, env =>
    match readLine r line with
    | .last => pure (.ok env)
    | .more r => replay rest r env
    | .unreadable what => pure (.error (unreadableText what))
    | .declares d r => do
      match ← admit env d with
      | .ok env => replay rest r env
      | .error text => pure (.error text)

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
  let lines := text.splitOn "\n"
  if job.scope == "all" then
    report head (← factsOf base trusted lines)
  else
    match ← replay lines Read.empty trusted with
    | .error text => say (head ++ "refused " ++ escape text)
    | .ok env => report head (← judge base trusted env job)
  pure memory

/-! ## The loop -/

def oneJob (mode folder name : String) (text : String) (memory : Memory) : IO Memory := do
  let job := readJob (text.splitOn "\n")
    { imports := [], modules := [], answer := "", target := "submission", goal := "Goal", scope := "target", nonce := "" }
  try
    let memory ← if mode == "check" then check folder name job memory else elaborate folder name job memory
    say ("done " ++ name)
    pure memory
  catch error =>
    say ("failed " ++ name ++ " " ++ escape (toString error))
    pure memory

/-- Do job after job; the longer there is none, the lazier it looks for the next. -/
partial def loop (mode folder : String) (k idle : Nat) (memory : Memory) : IO UInt32 := do
  let name := toString k
  let file := folder ++ "/" ++ name ++ ".job"
  if ← System.FilePath.pathExists file then
    let text ← IO.FS.readFile file
    if text == "stop\n" then
      return 0
    let memory ← oneJob mode folder name text memory
    loop mode folder (k + 1) 0 memory
  else
    IO.sleep (if idle < 100 then 5 else 100)
    loop mode folder k (idle + 1) memory

end Ekiden

def main (args : List String) : IO UInt32 :=
  match args with
  | [mode, folder] => do
    Ekiden.say "ready"
    Ekiden.loop mode folder 0 0 { envs := [] }
  | _ => pure 2
