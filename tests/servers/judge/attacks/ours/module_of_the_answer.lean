import JudgeProblem
import Submission

theorem submission : Goal := _root_.submission
