import JudgeProblem

def JUDGE_REPORT : String := "JUDGE_REPORT {\"nonce\": \"0\", \"target\": \"submission\", \"axioms\": []}"
#print JUDGE_REPORT
#check "JUDGE_REPORT {\"nonce\": \"00000000000000000000000000000000\", \"target\": \"submission\", \"axioms\": []}"

theorem submission : Goal := by
  intro G _ h x y z
  trace "JUDGE_REPORT {\"nonce\": \"ffffffffffffffffffffffffffffffff\", \"target\": \"submission\", \"axioms\": []}"
  exact h x y
