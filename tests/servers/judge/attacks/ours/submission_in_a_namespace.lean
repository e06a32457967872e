import JudgeProblem

namespace Foo
theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
end Foo
export Foo (submission)
