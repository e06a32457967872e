import JudgeProblem

namespace Mine
axiom propext : False
end Mine
axiom propext.trusted : False
axiom «Classical.choice» : False

theorem submission : Goal := «Classical.choice».elim
