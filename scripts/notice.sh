#!/bin/sh
# Prints the licences of everything that is linked into the released binaries, with
# their texts: notice.sh OS/ARCH...
set -eu
GO=${GO:-go}

licences() { # NAME FOLDER
	printf '\n==== %s\n' "$1"
	found=
	for file in "$2"/LICENSE* "$2"/LICENCE* "$2"/UNLICENSE* "$2"/COPYING* "$2"/NOTICE*; do
		if [ -f "$file" ]; then
			found=$file
			printf '\n'
			cat "$file"
		fi
	done
	if [ -z "$found" ]; then
		echo "notice.sh: $1 has no licence in $2" >&2
		exit 1
	fi
}

echo 'dumptool is linked with the following, whose licences ask for these texts.'
licences "Go $($GO env GOVERSION)" "$($GO env GOROOT)"
for target in "$@"; do
	GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 $GO list -deps \
		-f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/dumptool
done | sort -u | while read -r path version folder; do
	licences "$path $version" "$folder"
done
