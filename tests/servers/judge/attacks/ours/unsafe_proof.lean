import JudgeProblem

unsafe def submission : Goal := submission
