#!/bin/sh
# Shows on the sample data what dumptool does.
#
#   sh scripts/demo.sh [BIN]
#
# BIN is the program, bin/dumptool if it is not given. The demo works in a
# temporary folder and removes it; nothing else is written.
set -eu

bin=${1:-$(dirname "$0")/../bin/dumptool}
if [ ! -x "$bin" ]; then
	echo "demo.sh: no program $bin: run make build first" >&2
	exit 2
fi
bin=$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")
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

say() { printf '\n# %s\n' "$*"; }

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

say 'Three files that an NPU left behind: a convolution, a gradient, an overflow record.'
run 'dumptool inspect --stats dumps'

say 'The weight alone, in the order of the model, as text.'
run 'dumptool convert -d dumps/Conv2D.* -out text -f NCHW -i 1 -t txt'
run 'head -n 3 text/*'

say 'Everything as numpy arrays, without the padding of the device; the record as JSON.'
run 'dumptool convert -d dumps -out out -f NCHW'
run 'dumptool inspect --stats out/Conv2D.*.output.0.*.npy'
run 'ls -l out'

say 'The record says which operator overflowed first; here is why.'
finds 'dumptool overflow analyze -d dumps'

say 'A small network ran on a host (arrays) and on an NPU (dumps): where does the NPU go wrong?'
finds 'dumptool compare --cpu network/cpu --npu network/npu -out report'
run 'ls report'

say 'The operator that is to blame, element by element.'
finds 'dumptool compare detail --op conv2 --topn 5 --cpu network/cpu --npu network/npu'

say 'No golden run, but the inputs were dumped: which operator computed wrong?'
finds 'dumptool check operators'
