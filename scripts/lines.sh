#!/bin/sh
# Prints how many lines of Go code the program has, by package: without tests, generated
# code, comments and blank lines. The module tools is counted apart.
set -eu
cd "$(dirname "$0")/.."

count() { # TITLE [FILES OF GIT]
	title=$1
	shift
	git ls-files -- "$@" | grep -v -e '_test\.go$' -e '\.pb\.go$' | xargs awk -v title="$title" '
		/^[ \t]*($|\/\/)/ { next }
		{ folder = FILENAME; sub("/[^/]*$", "", folder); lines[folder]++; total++ }
		END {
			for (folder in lines) printf "%7d  %s\n", lines[folder], folder | "sort -k 2"
			close("sort -k 2")
			printf "%7d  %s\n", total, title
		}'
}

count 'in all' '*.go' ':!tools'
echo
count 'in all tools' 'tools/*.go'
