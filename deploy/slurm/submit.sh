#!/bin/bash
# Made by: dumptool cluster slurm -n 100 -- compare --cpu s3://golden/run7 --npu s3://dumps/run7 -out s3://results/run7/report
#
#   bash submit.sh           submits all of it
#   bash submit.sh repair    submits the shards that are missing, and the merge, again
set -euo pipefail

array=0-99
after=()
if [ "${1-}" = repair ]; then
	array=$(dumptool compare parts s3://results/run7/report.shards/parts --plan s3://results/run7/report.shards/plan.jsonl --missing)
else
	plan=$(sbatch --parsable --job-name=dumptool-plan --mem=8G <<'END'
#!/bin/bash
exec dumptool compare plan --cpu=s3://golden/run7 --npu=s3://dumps/run7 -out s3://results/run7/report.shards/plan.jsonl
END
)
	after=("--dependency=afterok:${plan%;*}")
fi

if [ -n "$array" ]; then
	shards=$(sbatch --parsable --job-name=dumptool-shards --array="$array" ${after[@]+"${after[@]}"} --requeue --cpus-per-task=4 --mem=1G <<'END'
#!/bin/bash
exec dumptool compare --plan s3://results/run7/report.shards/plan.jsonl -out s3://results/run7/report.shards/parts --shard auto/100 -j "${SLURM_CPUS_PER_TASK:-1}"
END
)
	after=("--dependency=afterany:${shards%;*}")
fi
merge=$(sbatch --parsable --job-name=dumptool-merge ${after[@]+"${after[@]}"} --mem=8G <<'END'
#!/bin/bash
exec dumptool compare merge --plan s3://results/run7/report.shards/plan.jsonl -out s3://results/run7/report s3://results/run7/report.shards/parts
END
)
echo "shards ${shards-none}, merge $merge"
