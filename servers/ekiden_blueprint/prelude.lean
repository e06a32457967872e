/-!
What a blueprint needs of LeanArchitect and Mathlib so that Lean takes it without them: `sorry_using [a, b]`, which
refers to declarations and then admits the goal, and `lemma`.

It keeps to macros and plain recursion: some Lean builds have neither Lean's elaborator to import nor the code of what a
splice of a list needs.
-/

namespace Architect

open Lean

syntax (name := sorryUsingTerm) "sorry_using" "[" ident,* "]" : term
syntax (name := sorryUsingTactic) "sorry_using" "[" ident,* "]" : tactic

/-- Refer to each name, universes at 0: the first alternative that is not too long is the one that fits. -/
def refersTo : List Syntax → MacroM (TSyntax `tactic)
  | [] => `(tactic| exact sorry)
  | name :: rest => do
    let rest ← refersTo rest
    let name : Ident := ⟨name⟩
    `(tactic| (
      first
        | have _used := @$name.{0, 0, 0, 0, 0, 0}
        | have _used := @$name.{0, 0, 0, 0, 0}
        | have _used := @$name.{0, 0, 0, 0}
        | have _used := @$name.{0, 0, 0}
        | have _used := @$name.{0, 0}
        | have _used := @$name.{0}
        | have _used := @$name
      $rest))

@[macro sorryUsingTerm] def expandSorryUsingTerm : Macro := fun stx => do
  let tactic ← refersTo stx[2].getSepArgs.toList
  `(by $tactic:tactic)

@[macro sorryUsingTactic] def expandSorryUsingTactic : Macro := fun stx =>
  refersTo stx[2].getSepArgs.toList

end Architect

open Lean in
syntax (name := ekidenLemma) (priority := low) declModifiers group("lemma " declId ppIndent(declSig) declVal) : command

open Lean in
@[macro ekidenLemma] def expandLemma : Macro := fun stx => do
  let parts := stx[1].setKind `Lean.Parser.Command.theorem
  pure ((stx.setKind `Lean.Parser.Command.declaration).setArg 1 (parts.setArg 0 (mkAtomFrom stx[1][0] "theorem ")))
