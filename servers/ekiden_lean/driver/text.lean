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

end Ekiden
