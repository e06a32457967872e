import JudgeProblem

noncomputable local instance (priority := high) : Decidable False := Classical.propDecidable False

theorem wrong : False := by decide
theorem submission : Goal := wrong.elim
