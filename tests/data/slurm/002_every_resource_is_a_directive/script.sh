#!/bin/bash
# Prove them all
#SBATCH --mail-type=END
#SBATCH --dependency=afterok:17
#SBATCH --job-name=all.3
#SBATCH --comment=all.3
#SBATCH --account=math
#SBATCH --partition=gpu
#SBATCH --qos=long
#SBATCH --constraint="[rack1|rack2]&ssd"
#SBATCH --reservation=friday
#SBATCH --exclude=n7,n[10-12]
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=3850M
#SBATCH --gres=gpu:lovelace_l40:2
#SBATCH --time=2-00:00:00
#SBATCH --signal=B:USR2@120
#SBATCH --requeue
#SBATCH --chdir=/jobs/key
#SBATCH --output=/jobs/key/slurm.log
#SBATCH --open-mode=append

export PATH
export LEAN_THREADS=4
export PATH=/opt/lean/bin:/usr/bin:/bin

exec /opt/ekiden/bin/python -I run_job.py --id "$SLURM_JOB_ID" --restarts "${SLURM_RESTART_COUNT:-0}"
