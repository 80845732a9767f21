#!/bin/bash
# Made by: dumptool cluster slurm -n 100 --run 7f3a90c2 -- compare --cpu s3://golden/run7 --npu s3://dumps/run7 -out s3://results/run7/report
#
#   bash submit.sh    submits the shards that are not complete, and the merge behind them.
#                     The same again repairs: what is complete stays.
set -euo pipefail

n=100
logs=dumptool-logs/7f3a90c2
if [ "${1-repair}" != repair ]; then
	echo "$0: argument $1: it takes none" >&2
	exit 2
fi
most=$(scontrol show config 2>/dev/null | sed -n 's/^MaxArraySize *= *\([0-9][0-9]*\)$/\1/p' || true)
if [ "$n" -gt "${most:-$n}" ]; then
	echo "$0: $n shards, and this Slurm has arrays of at most $most (MaxArraySize): make the script with -n $most or less" >&2
	exit 2
fi
if command -v dumptool >/dev/null; then
	array=$(dumptool cluster merge -n 100 --run 7f3a90c2 --missing -- compare --cpu=s3://golden/run7 --npu=s3://dumps/run7 --out=s3://results/run7/report)
else
	echo "$0: there is no dumptool here to say what is complete: all shards are submitted" >&2
	array=0-$((n - 1))
fi
mkdir -p "$logs"

after=()
if [ -n "$array" ]; then
	shards=$(sbatch --parsable --job-name=dumptool-shards --array="$array" --requeue --cpus-per-task=4 --mem=1G --output="${logs//%/%%}"/shard-%5a.out --open-mode=append <<'END'
#!/bin/bash
exec dumptool compare --cpu=s3://golden/run7 --npu=s3://dumps/run7 --run 7f3a90c2 -out s3://results/run7/report.shards/7f3a90c2 --shard auto/100 --resume -j "${SLURM_CPUS_PER_TASK:-1}"
END
)
	after=("--dependency=afterany:${shards%%;*}" --kill-on-invalid-dep=yes)
fi
merge=$(sbatch --parsable --job-name=dumptool-merge ${after[@]+"${after[@]}"} --cpus-per-task=1 --mem=8G --output="${logs//%/%%}"/merge.out --open-mode=append <<'END'
#!/bin/bash
exec dumptool cluster merge -n 100 --run 7f3a90c2 --exit-zero -- compare --cpu=s3://golden/run7 --npu=s3://dumps/run7 --out=s3://results/run7/report
END
)
echo "logs in $logs" >&2
echo "shards ${shards-none}, merge ${merge%%;*}"
