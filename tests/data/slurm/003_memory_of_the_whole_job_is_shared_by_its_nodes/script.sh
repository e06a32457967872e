#!/bin/bash
#SBATCH --job-name=wide.1
#SBATCH --comment=wide.1
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=3334M
#SBATCH --gres=gpu:1
#SBATCH --time=1-01:02:00
#SBATCH --no-requeue
#SBATCH --chdir=/jobs/key
#SBATCH --output=/jobs/key/slurm.log
#SBATCH --open-mode=append

export PATH

exec /opt/ekiden/bin/python -I run_job.py --id "$SLURM_JOB_ID" --restarts "${SLURM_RESTART_COUNT:-0}"
