import JudgeProblem

namespace Classical
axiom choice' : False
end Classical
axiom Quot.sound.trusted : False

theorem submission : Goal := Classical.choice'.elim
