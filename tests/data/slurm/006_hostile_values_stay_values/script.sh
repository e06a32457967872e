#!/bin/bash
# $(touch /tmp/x) `id`;   #SBATCH
#SBATCH --job-name=hostile.1
#SBATCH --comment=hostile.1
#SBATCH --partition="été main"
#SBATCH --constraint="a\"b\\c'd #e $(f)"
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --no-requeue
#SBATCH --chdir="/jobs/100% \"of\" $HOME 'it' {}"
#SBATCH --output="/jobs/100%% \"of\" $HOME 'it' {}/slurm.log"
#SBATCH --open-mode=append

export PATH
export DOLLAR='$(touch gone) $HOME `id`'
export EMPTY=''
export LINES=$'one\x0d\x0a#SBATCH --account=other\x0a\'"\\\''
export MATHS='∀ x ∈ ℕ, x ≠ 𝑥'
export TAB=$'a\x09b'

exec /opt/ekiden/bin/python -I run_job.py --id "$SLURM_JOB_ID" --restarts "${SLURM_RESTART_COUNT:-0}"
