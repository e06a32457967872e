import JudgeProblem

set_option autoImplicit true

theorem submission (proof : Gοal) : Gοal := proof
