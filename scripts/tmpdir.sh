#!/bin/sh
# Prints the folder for temporary files of tests: $TMPDIR, else /dev/shm where that is in
# memory, has room and lets programs run, else /tmp. Tests make and remove files by ten
# thousands; ext4 looks at each one that was removed in the last seconds before it makes
# another one, which costs more than what is tested.
set -eu

memory=/dev/shm
wanted=4000000 # KiB

# has_room checks that the folder is in memory, and that there is enough of it.
has_room() {
	room=$(df -Pk "$memory" 2>/dev/null | awk '$1 == "tmpfs" { print $4 }')
	free=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo 2>/dev/null)
	[ "${room:-0}" -ge $wanted ] && [ "${free:-0}" -ge $wanted ]
}

# runs_programs checks that what is written there can be run.
runs_programs() {
	try=$(mktemp "$memory/dumptool.XXXXXX" 2>/dev/null) || return 1
	printf '#!/bin/sh\n' >"$try"
	status=0
	{ chmod +x "$try" && "$try"; } 2>/dev/null || status=1
	rm -f "$try"
	return $status
}

if [ -n "${TMPDIR:-}" ]; then
	echo "$TMPDIR"
elif has_room && runs_programs; then
	echo "$memory"
else
	echo /tmp
fi
