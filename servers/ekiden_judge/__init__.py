"""Verdicts on answers to equational-implication problems."""

from ekiden_judge.answers import Answer, ReadAnswers, SkippedLine, read_answers
from ekiden_judge.cache import CachedChecker, ResultStore
from ekiden_judge.checker import Checker, CheckItem, CheckResult, check_each, check_one
from ekiden_judge.cross import CrossChecker
from ekiden_judge.diagnostics import Diagnostic
from ekiden_judge.errors import JudgeConfigurationError, JudgeError, JudgeInfrastructureError
from ekiden_judge.exact import ExactChecker
from ekiden_judge.explain import Explanation, explain
from ekiden_judge.judge import MARATHON_LIMITS, Entry, Limits, judge_answer, judge_batch, judge_line, verify_answer
from ekiden_judge.manifest import MAX_MANIFEST_BYTES, read_problems
from ekiden_judge.policy import DefaultPolicy
from ekiden_judge.problem import Problem, ProofPolicy
from ekiden_judge.strict_json import StrictJsonError
from ekiden_judge.verdict import STATUSES, ErrorCode, Status, Verdict, harness_error, not_attempted

__all__ = [
    "MARATHON_LIMITS",
    "MAX_MANIFEST_BYTES",
    "STATUSES",
    "Answer",
    "CachedChecker",
    "CheckItem",
    "CheckResult",
    "Checker",
    "CrossChecker",
    "DefaultPolicy",
    "Diagnostic",
    "Entry",
    "ErrorCode",
    "ExactChecker",
    "Explanation",
    "JudgeConfigurationError",
    "JudgeError",
    "JudgeInfrastructureError",
    "Limits",
    "Problem",
    "ProofPolicy",
    "ReadAnswers",
    "ResultStore",
    "SkippedLine",
    "Status",
    "StrictJsonError",
    "Verdict",
    "check_each",
    "check_one",
    "explain",
    "harness_error",
    "judge_answer",
    "judge_batch",
    "judge_line",
    "not_attempted",
    "read_answers",
    "read_problems",
    "verify_answer",
]
