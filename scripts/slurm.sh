#!/bin/bash
# Runs what "dumptool cluster slurm" prints on a real Slurm of one node, started by hand
# without systemd and stopped again: array and merge; the same again; a task that is killed;
# data that change; a node that is lost while shards run; an array that is too large. The
# reports are those of one run.
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
MaxArraySize=16
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
start_node() {
	slurmd -D -f "$SLURM_CONF" -N "$host" >>"$work/slurmd.log" 2>&1 &
	node=$!
	servers+=("$node")
}
start_node
for _ in $(seq 300); do
	[ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && break
	sleep 0.2
done
sinfo
sbatch --version

# While the file "hang" is there, shard 2 hangs, and says which its processes are.
CGO_ENABLED=0 go build -o "$work/dumptool" ./cmd/dumptool
cat >"$work/bin/dumptool" <<WRAP
#!/bin/bash
if [ -e "$work/hang" ] && [ "\${SLURM_ARRAY_TASK_ID-}" = 2 ]; then echo "\$\$ \$PPID" >"$work/hanging"; exec sleep 600; fi
exec "$work/dumptool" "\$@"
WRAP
chmod 755 "$work/bin/dumptool"
export PATH=$work/bin:$PATH

# waited SECONDS COMMAND... waits until a command succeeds.
waited() {
	local until=$((SECONDS + $1))
	shift
	while ! "$@"; do
		if [ $SECONDS -ge $until ]; then
			squeue
			echo "not within its time: $*"
			return 1
		fi
		sleep 0.2
	done
}
ended() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
complete() { [ "$(find report.shards/7 -name compare.json 2>/dev/null | wc -l)" = "$1" ]; }

# submitted runs the script and keeps the numbers of its jobs in shards and merge.
submitted() {
	local answer
	answer=$(bash submit.sh "$@")
	echo "$answer"
	shards=${answer#shards }
	shards=${shards%%,*}
	merge=${answer##* }
}

# state JOB prints how a job ended.
state() { scontrol show job "$1" | grep -o 'JobState=[A-Z]*\|ExitCode=[0-9:]*' | paste -sd ' '; }

# merged STATE EXIT waits for the merge and checks how it ended.
merged() {
	waited 180 ended "$merge"
	local got
	got=$(state "$merge")
	echo "merge: $got"
	[ "$got" = "JobState=$1 ExitCode=$2" ]
}

# same checks that the reports are those of one run.
same() {
	diff -r one report
	echo 'the reports are those of one run'
}

network=$PWD/testdata/network
cd "$work"
for rank in 0 1 2 3; do
	mkdir -p "npu/rank$rank"
	cp "$network"/npu/* "npu/rank$rank"
done
compare=(compare --cpu "$network/cpu" --npu "$work/npu" --pictures 0 --format text,json,csv,html)
one() {
	rm -rf one
	dumptool "${compare[@]}" --run 7 -out one >one.txt || [ $? = 1 ]
}
script=(dumptool cluster slurm -n 4 --cpus 1 --memory 100Mi --merge-memory 200Mi --sbatch '--partition=main --time=10' --sbatch "--comment='of a test'" --run 7)
one

echo '== four shards and the merge: faults are no failure of its job'
"${script[@]}" -- "${compare[@]}" -out report/ >submit.sh
SECONDS=0
submitted
merged COMPLETED 0:0
echo "after $SECONDS s"
same
tail -n 1 report.shards/7/logs/merge.out | grep 'the merge ended with exit status 1, which is no failure of its job: '
ls report.shards/7/logs
[ "$(find report.shards/7/logs -type f | wc -l)" = 5 ]
[ -z "$(find . -maxdepth 1 -name '*.out')" ]
[ ! -e report/report.shards ]
scontrol show job "$merge" | grep -E 'TimeLimit=00:10:00|Comment=of a test' | wc -l | grep -qx 2

echo '== the same again: nothing is missing'
submitted
[ "$shards" = none ]
merged COMPLETED 0:0
same

echo '== other data: all of it is made again'
cp "$network"/npu/Conv2D.conv2.* npu/rank1/"$(cd "$network/npu" && echo Conv2D.conv1.*)"
rm npu/rank2/Relu.*
one
submitted
[ "$shards" != none ]
merged COMPLETED 0:0
same

echo '== a task is killed: the merge names it, and writes nothing'
rm -r report report.shards
touch hang
submitted
waited 120 complete 3
scancel "${shards}_2"
merged FAILED 3:0
tail -n 1 report.shards/7/logs/merge.out | grep '1 of 4 shards is missing: 2 '
[ ! -e report ]
rm hang
submitted repair
merged COMPLETED 0:0
same

echo '== an outage: the node is lost while a shard runs; Slurm puts it back by itself'
rm -r report report.shards
rm -f hanging
touch hang
submitted
waited 120 test -s hanging
waited 120 complete 3
kill -9 "$node"
read -r task step <hanging
kill -9 "$step" "$task"
rm hang
node_down() { sinfo -h -o %T | grep -q 'down'; }
waited 120 node_down
start_node
merged COMPLETED 0:0
same

echo '== more shards than MaxArraySize: nothing is submitted'
"${script[@]}" -n 17 -- "${compare[@]}" -out other >submit.sh
before=$(squeue -h | wc -l)
if bash submit.sh 2>too-large; then exit 1; fi
cat too-large
grep -q 'arrays of at most 16 (MaxArraySize)' too-large
[ "$(squeue -h | wc -l)" = "$before" ]
[ ! -e other.shards ]
echo 'all as it should be'
