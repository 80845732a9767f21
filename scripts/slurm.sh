#!/bin/bash
# Runs what "dumptool cluster slurm" prints on a real Slurm of one node, started by hand
# without systemd and stopped again: array and merge; then the same with a task that
# is killed, found by what is missing and repaired. The reports are those of one run.
# It needs root and Debian's slurm-wlm and munge. Everything is in a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in munged slurmctld slurmd sbatch; do
	PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || {
		echo "$program is missing (Debian: apt-get install -y --no-install-recommends slurm-wlm munge)"
		exit 1
	}
done
[ "$(id -u)" = 0 ] || { echo 'it needs root'; exit 1; }
export PATH=$PATH:/usr/sbin

work=$(mktemp -d)
servers=()
finish() {
	local status=$?
	if [ $status != 0 ]; then tail -n 20 "$work"/*.log 2>/dev/null || true; fi
	for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${servers[@]}"; do wait "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT
chmod 755 "$work"

host=$(hostname -s)
mkdir "$work/state" "$work/spool" "$work/bin" "$work/munge"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
cat >"$work/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000
PartitionName=main Nodes=$host Default=YES State=UP
CONF
export SLURM_CONF=$work/slurm.conf

munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
	--log-file="$work/munge.log" --seed-file="$work/munge/seed" >"$work/munged.log" 2>&1 &
servers+=($!)
for _ in $(seq 100); do [ -S "$work/munge/socket" ] && break; sleep 0.1; done
slurmctld -D -f "$SLURM_CONF" >"$work/slurmctld.log" 2>&1 &
servers+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" >"$work/slurmd.log" 2>&1 &
servers+=($!)
for _ in $(seq 300); do
	[ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && break
	sleep 0.2
done
sinfo
sbatch --version

# While the file "hang" is there, shard 2 hangs.
CGO_ENABLED=0 go build -o "$work/dumptool" ./cmd/dumptool
cat >"$work/bin/dumptool" <<WRAP
#!/bin/bash
if [ -e "$work/hang" ] && [ "\${SLURM_ARRAY_TASK_ID-}" = 2 ]; then sleep 600; fi
exec "$work/dumptool" "\$@"
WRAP
chmod 755 "$work/bin/dumptool"
export PATH=$work/bin:$PATH

# ended JOB... waits until the jobs have ended.
ended() {
	for _ in $(seq 600); do
		[ -z "$(squeue -h -j "$1" 2>/dev/null)" ] && return
		sleep 0.2
	done
	squeue
	echo "job $1 does not end"
	return 1
}

# state JOB prints how a job ended.
state() { scontrol show job "$1" | grep -o 'JobState=[A-Z]*\|ExitCode=[0-9:]*' | paste -sd ' '; }

network=$PWD/testdata/network
cd "$work"
for rank in 0 1 2 3; do
	mkdir -p "npu/rank$rank"
	cp "$network"/npu/* "npu/rank$rank"
done
compare=(compare --cpu "$network/cpu" --npu "$work/npu" --pictures 0 --format text,json,csv,html)
dumptool "${compare[@]}" --run 7 -out one >one.txt || [ $? = 1 ]

echo '== four shards and the merge'
dumptool cluster slurm -n 4 --cpus 1 --memory 100Mi --merge-memory 200Mi --run 7 -- "${compare[@]}" -out report >submit.sh
SECONDS=0
answer=$(bash submit.sh)
merge=${answer##* }
ended "$merge"
echo "$answer: $(state "$merge") after $SECONDS s"
diff -r one report
echo 'the reports are those of one run'

echo '== a task is killed'
rm -r report report.shards
touch hang
answer=$(bash submit.sh)
merge=${answer##* }
shards=${answer#shards }
shards=${shards%%[,;]*}
for _ in $(seq 300); do # the others first
	[ "$(find report.shards/7 -name compare.json 2>/dev/null | wc -l)" = 3 ] && break
	sleep 0.2
done
scancel "${shards}_2"
ended "$merge"
echo "$answer: $(state "$merge")"
tail -n 1 "slurm-$merge.out"
test ! -e report
echo "missing: $(dumptool merge report.shards/7 --missing)"

echo '== repair'
rm hang
answer=$(bash submit.sh repair)
merge=${answer##* }
ended "$merge"
echo "$answer: $(state "$merge")"
diff -r one report
echo 'the reports are those of one run'
