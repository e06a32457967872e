#!/bin/bash
#SBATCH --job-name=least.1
#SBATCH --comment=least.1
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --no-requeue
#SBATCH --chdir=/jobs/key
#SBATCH --output=/jobs/key/slurm.log
#SBATCH --open-mode=append

export PATH

exec /opt/ekiden/bin/python -I run_job.py --id "$SLURM_JOB_ID" --restarts "${SLURM_RESTART_COUNT:-0}"
