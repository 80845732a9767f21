#!/bin/bash
# Made by: dumptool cluster slurm -n 100 --run 7f3a90c2 -- compare --cpu s3://golden/run7 --npu s3://dumps/run7 -out s3://results/run7/report
#
#   bash submit.sh           submits all of it
#   bash submit.sh repair    submits the shards that are missing, and the merge, again
set -euo pipefail

array=0-99
after=()
if [ "${1-}" = repair ]; then
	array=$(dumptool compare merge --run 7f3a90c2 --missing s3://results/run7/report.shards/7f3a90c2)
fi

if [ -n "$array" ]; then
	shards=$(sbatch --parsable --job-name=dumptool-shards --array="$array" --requeue --cpus-per-task=4 --mem=1G <<'END'
#!/bin/bash
exec dumptool compare --cpu=s3://golden/run7 --npu=s3://dumps/run7 --run 7f3a90c2 -out s3://results/run7/report.shards/7f3a90c2 --shard auto/100 --resume -j "${SLURM_CPUS_PER_TASK:-1}"
END
)
	after=("--dependency=afterany:${shards%;*}")
fi
merge=$(sbatch --parsable --job-name=dumptool-merge ${after[@]+"${after[@]}"} --mem=8G <<'END'
#!/bin/bash
exec dumptool compare merge --run 7f3a90c2 -out s3://results/run7/report s3://results/run7/report.shards/7f3a90c2
END
)
echo "shards ${shards-none}, merge $merge"
