#!/bin/sh
# Shows on the sample data what dumptool does.
#
#   sh scripts/demo.sh [BIN]
#
# BIN is the program, bin/dumptool if it is not given. The demo works in a
# temporary folder and removes it; what stays is demo/report.html beside BIN, the
# page to look at.
set -eu

bin=${1:-$(dirname "$0")/../bin/dumptool}
if [ ! -x "$bin" ]; then
	echo "demo.sh: no program $bin: run make build first" >&2
	exit 2
fi
echo 'demo: a small network ran on a CPU and on an NPU; what dumptool says, in six steps'
bin=$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")
page=$(dirname "$bin")/demo/report.html
testdata=$(cd "$(dirname "$0")/../testdata" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cp -R "$testdata/sample" "$work/dumps"
cp -R "$testdata/network" "$work/network"
mkdir "$work/operators"
cp "$testdata"/golden/recompute/op53_relu6_f32_zero_block/Relu6.* "$testdata"/golden/recompute/op0_relu_f16_clean_bare/Relu.* "$work/operators"
cd "$work"

dumptool() { "$bin" "$@"; }

step=0
say() {
	step=$((step + 1))
	printf '\n# %d. %s\n' "$step" "$*"
}

# run shows a command as one types it, and runs it.
run() {
	printf '$ %s\n' "$1"
	eval "$1"
}

# finds shows a command that finds something, which its exit status 1 says.
finds() {
	printf '$ %s\n' "$1"
	status=0
	eval "$1" || status=$?
	if [ "$status" != 1 ]; then
		echo "demo.sh: exit status $status, want 1: something was found" >&2
		exit 1
	fi
}

say 'There is a reference (arrays of the CPU): which operator of the NPU went wrong first, and why?'
finds 'dumptool compare --cpu network/cpu --npu network/npu -out report'
run 'ls report'
run 'dumptool show network/npu/Conv2D.conv2.* --cpu network/cpu/conv2.npy --window 4x4'

say 'There is no reference, but the inputs were dumped: which operator does not compute what they say?'
finds 'dumptool check operators'

say 'Something overflowed: which operator was first?'
finds 'dumptool overflow analyze -d dumps'

say 'What is in the dumps, and what can be done with them?'
run 'dumptool dumps'
run 'dumptool inspect --stats dumps/Conv2D.*'

say 'Dumps as numpy arrays in the order of the model, without the padding of the device.'
run 'dumptool convert -d dumps -out out -f NCHW'
run 'ls out'
run 'dumptool inspect --stats out/Conv2D.*.output.0.*.npy'

say 'The next run: a configuration that dumps what overflows.'
run 'dumptool config new -q overflow --dump-path /data/dump'

mkdir -p "$(dirname "$page")"
cp report/report.html "$page"
printf '\nThat was the demo. The page of step 1, for a browser: %s\n' "$page"
