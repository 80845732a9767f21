#!/bin/sh
# Runs all fuzz targets, one after the other, also after one that fails.
#
#   sh scripts/fuzz.sh [TIME]
#
# TIME is how long each of them runs, 10s if it is not given. GO is the go command.
set -eu

go=${GO:-go}
time=${1:-10s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM

# cut_off reports whether a target has failed because its time was up and for no
# other reason: a race in the fuzzing of Go before 1.27. The message is the same
# where an input that failed was being made smaller; that input is kept.
cut_off() {
	reason=$(awk '/^FAIL/ { exit } found { print } /^--- FAIL: / { found = 1 }' "$log" | tr -d '[:space:]')
	[ "$reason" = contextdeadlineexceeded ] && [ "$kept" = "$(inputs)" ]
}

# inputs lists the inputs that the target keeps.
inputs() { ls "$dir/testdata/fuzz/$name" 2>/dev/null || :; }

# show_kept prints the inputs that the target has not kept before.
show_kept() {
	for input in $(inputs); do
		if ! printf '%s\n' "$kept" | grep -qxF "$input"; then
			echo "testdata/fuzz/$name/$input:"
			cat "$dir/testdata/fuzz/$name/$input"
		fi
	done
}

found=0
failed=
pkgs=$($go list ./...)
for pkg in $pkgs; do
	list=$($go test -list '^Fuzz' "$pkg") || { printf '%s\n' "$list"; exit 1; }
	for name in $(printf '%s\n' "$list" | sed -n '/^Fuzz[^ ]*$/p'); do
		found=$((found + 1))
		echo "-- $pkg $name"
		dir=$($go list -f '{{.Dir}}' "$pkg")
		kept=$(inputs)
		status=0
		$go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 10x "$pkg" >"$log" 2>&1 || status=$?
		cat "$log"
		if [ "$status" = 0 ]; then
			continue
		elif cut_off; then
			echo 'cut off by the time limit, nothing found'
		else
			failed="$failed $pkg:$name"
			show_kept
		fi
	done
done
if [ "$found" = 0 ]; then
	echo 'fuzz.sh: there are no fuzz targets'
	exit 1
fi
if [ -n "$failed" ]; then
	echo "fuzz.sh: failed:$failed"
	exit 1
fi
echo "$found fuzz targets, nothing found"
