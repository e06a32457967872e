import JudgeProblem

partial def submission : Goal := submission
