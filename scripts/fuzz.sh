#!/bin/sh
# Runs all fuzz targets, two side by side, also after one that fails.
#
#   sh scripts/fuzz.sh [TIME]
#
# TIME is how long each of them runs, on one processor, 10s if it is not given. A target
# without seeds fails; one that runs less than 100 inputs a second spends its time elsewhere
# than in what it fuzzes, and is named in the end. GO is the go command.
set -eu

go=${GO:-go}
time=${1:-10s}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
cache=$($go env GOCACHE)/fuzz

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

# speed is the number of inputs a second, by the last line about them; 0 if there is none.
speed() { sed -n 's/.*execs: [0-9]* (\([0-9]*\)\/sec).*/\1/p' "$log" | sort -n | tail -n 1 | grep . || echo 0; }

# run fuzzes the target $name of $pkg and prints what it said when it has ended.
run() {
	kept=$(inputs)
	status=0
	# Without the bound on making inputs smaller, a target does nothing else.
	(cd "$dir" && "$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" -test.parallel 1 \
		-test.fuzzminimizetime 10x -test.fuzzcachedir "$cache/$pkg") >"$log" 2>&1 </dev/null || status=$?
	[ "$(speed)" -ge 100 ] || echo "$pkg:$name" >>"$tmp/slow"
	{
		echo "-- $pkg $name"
		cat "$log"
		if grep -q 'gathering baseline coverage: 0/0 completed' "$log"; then
			echo 'it has no seeds'
			echo "$pkg:$name" >>"$tmp/failed"
		elif [ "$status" != 0 ] && cut_off; then
			echo 'cut off by the time limit, nothing found'
		elif [ "$status" != 0 ]; then
			echo "$pkg:$name" >>"$tmp/failed"
			show_kept
		fi
	} >"$log.said"
	cat "$log.said"
}

found=0
before=
last=
for dir in $($go list -f '{{.Dir}}' ./...); do
	grep -qs '^func Fuzz' "$dir"/*_test.go || continue
	pkg=$($go list -f '{{.ImportPath}}' "$dir")
	binary=$tmp/$(echo "$pkg" | tr / _).test
	$go test -c -vet=off -ldflags '-s -w' -fuzz . -o "$binary" "$pkg"
	for name in $(cd "$dir" && "$binary" -test.list '^Fuzz'); do
		found=$((found + 1))
		log=$tmp/$found.log
		[ -z "$before" ] || wait "$before"
		before=$last
		run &
		last=$!
	done
done
wait
if [ -s "$tmp/slow" ]; then
	echo "fuzz.sh: less than 100 inputs a second: $(tr '\n' ' ' <"$tmp/slow")"
fi
if [ -s "$tmp/failed" ]; then
	echo "fuzz.sh: failed: $(tr '\n' ' ' <"$tmp/failed")"
	exit 1
fi
if [ "$found" -eq 0 ]; then
	echo 'fuzz.sh: there are no fuzz targets'
	exit 1
fi
echo "$found fuzz targets, nothing found"
