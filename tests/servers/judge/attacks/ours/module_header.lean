module
public import JudgeProblem

public theorem submission : Goal :=
  fun _ _ h x y z => h x y
