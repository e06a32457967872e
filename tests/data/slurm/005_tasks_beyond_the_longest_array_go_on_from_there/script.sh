#!/bin/bash
#SBATCH --job-name=many.1-1000
#SBATCH --comment=many.1-1000
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --array=0-499
#SBATCH --no-requeue
#SBATCH --chdir=/jobs/key
#SBATCH --output=/jobs/key/tasks/slurm-1000-%a.log
#SBATCH --open-mode=append

export PATH

exec /opt/ekiden/bin/python -I run_job.py --id "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" --restarts "${SLURM_RESTART_COUNT:-0}" --task "$((SLURM_ARRAY_TASK_ID + 1000))"
