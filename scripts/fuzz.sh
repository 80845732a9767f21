#!/bin/sh
# Checks that all fuzz targets are fast enough to reach what they are for, then runs
# them, one after the other, also after one that fails.
#
#   sh scripts/fuzz.sh [TIME]
#
# TIME is how long each of them runs, 10s if it is not given; with 0 they are checked
# only. GO is the go command.
set -eu

go=${GO:-go}
time=${1:-10s}
log=$(mktemp)
targets=$(mktemp)
binary=$(mktemp)
trap 'rm -f "$log" "$targets" "$binary"' EXIT
trap 'exit 130' INT TERM

# measure PATTERN PACKAGE... runs the seeds of the targets that match, without the engine,
# those of a package in one process and one package after the other, and prints a line a
# target: the package, the name, the number of seeds, the mean and the worst time of a
# seed in milliseconds. Every seed runs four times and has the shortest of its times: what
# a process does once, and waiting for others on a busy machine, is not the target's.
measure() {
	if ! $go test -json -p 1 -vet=off -count=4 -run "$@" >"$log" 2>&1 </dev/null; then
		sed -n 's/.*"Output":"\(.*\)\\n"}$/\1/p; /^[^{]/p' "$log" >&2
		return 1
	fi
	# {"Time":"2026-01-02T15:04:05.678Z","Action":"run","Package":"p","Test":"FuzzA/seed#0"}
	awk -F'"' '
		$14 != "Test" { next }
		{ split($4, t, /[-T:Z+]/); now = ((t[3] * 24 + t[4]) * 60 + t[5]) * 60 + t[6]; depth = split($16, part, "/") }
		{ target = $12 " " part[1]; seed = $12 " " $16 }
		$8 == "run" && depth == 1 { seeds[target] += 0 }
		$8 == "run" { start[seed] = now }
		($8 == "pass" || $8 == "skip") && depth == 2 {
			spent = (now - start[seed]) * 1000
			if (!(seed in least)) { seeds[target]++; of[seed] = target }
			if (!(seed in least) || spent < least[seed]) least[seed] = spent
		}
		END {
			for (seed in least) {
				sum[of[seed]] += least[seed]
				if (least[seed] > worst[of[seed]]) worst[of[seed]] = least[seed]
			}
			for (name in seeds) printf "%s %d %.2f %.1f\n", name, seeds[name], sum[name] / (seeds[name] ? seeds[name] : 1), worst[name]
		}' "$log" | sort
}

# reaches says whether a line of measure is within the bounds: a target that is not
# spends its time elsewhere than in what it fuzzes.
reaches() { printf '%s\n' "$1" | awk '{ exit !($3 > 0 && $4 <= 2 && $5 <= 50) }'; }

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

packages=$($go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir pkg; do
	if grep -qs '^func Fuzz' "$dir"/*_test.go; then echo "$pkg"; fi
done)
if [ -n "$packages" ]; then
	# shellcheck disable=SC2086 # one argument a package
	measure '^Fuzz' $packages >"$targets"
fi
found=$(wc -l <"$targets")
if [ "$found" -eq 0 ]; then
	echo 'fuzz.sh: there are no fuzz targets'
	exit 1
fi

echo 'package, target, seeds, mean and worst time of a seed in ms'
slow=
while read -r pkg name rest; do
	echo "$pkg $name $rest"
	# One that is too slow is measured once more, alone.
	reaches "$pkg $name $rest" && continue
	again=$(measure "^$name\$" "$pkg")
	echo "$again (again)"
	reaches "$again" || slow="$slow $pkg:$name"
done <"$targets"
if [ -n "$slow" ]; then
	echo "fuzz.sh: no seeds, or more than 2 ms a seed or 50 ms for one:$slow"
	exit 1
fi
if [ "$time" = 0 ]; then
	exit 0
fi

cache=$($go env GOCACHE)/fuzz
failed=
built=
while read -r pkg name _; do
	echo "-- $pkg $name"
	if [ "$pkg" != "$built" ]; then # the targets of a package follow each other
		dir=$($go list -f '{{.Dir}}' "$pkg")
		$go test -c -vet=off -fuzz . -o "$binary" "$pkg"
		built=$pkg
	fi
	kept=$(inputs)
	status=0
	# Without the bound on making inputs smaller, a target does nothing else.
	(cd "$dir" && "$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" \
		-test.fuzzminimizetime 10x -test.fuzzcachedir "$cache/$pkg") >"$log" 2>&1 </dev/null || status=$?
	cat "$log"
	if [ "$status" = 0 ]; then
		continue
	elif cut_off; then
		echo 'cut off by the time limit, nothing found'
	else
		failed="$failed $pkg:$name"
		show_kept
	fi
done <"$targets"
if [ -n "$failed" ]; then
	echo "fuzz.sh: failed:$failed"
	exit 1
fi
echo "$found fuzz targets, nothing found"
