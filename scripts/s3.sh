#!/bin/sh
# Runs what needs a server for object storage, versitygw, which it starts on a loopback
# address in a temporary folder and stops again.
#
#   sh scripts/s3.sh COMMAND...
#
# COMMAND finds the server's address in TEST_S3_ENDPOINT and its keys in
# AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The server has the bucket dumptool-test.
# VERSITYGW is the program, .tools/versitygw if it is not given; it is built when it is
# not there, which takes a minute or two. S3_ADDRESS is where it
# listens, 127.0.0.1:17070 if it is not given.
set -eu

version=v1.8.0
root=$(cd "$(dirname "$0")/.." && pwd)
gateway=${VERSITYGW:-$root/.tools/versitygw}
address=${S3_ADDRESS:-127.0.0.1:17070}

work=$(mktemp -d)
server=
stop() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || :
		wait "$server" 2>/dev/null || :
	fi
	chmod -R u+w "$work"
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

if [ ! -x "$gateway" ]; then
	echo "building versitygw $version into $(dirname "$gateway")"
	mkdir -p "$(dirname "$gateway")"
	# Its modules are many and nobody else's: they go away again.
	GOMODCACHE=$work/modules GOBIN=$work/bin GOFLAGS='-trimpath -modcacherw' CGO_ENABLED=0 \
		"${GO:-go}" install -ldflags '-s -w' "github.com/versity/versitygw/cmd/versitygw@$version"
	mv "$work/bin/versitygw" "$gateway"
	rm -rf "$work/modules"
fi

# start runs the server, with more arguments of its posix back end, until it answers.
start() {
	ROOT_ACCESS_KEY=$AWS_ACCESS_KEY_ID ROOT_SECRET_KEY=$AWS_SECRET_ACCESS_KEY \
		"$gateway" --quiet --keep-alive --port "$address" posix "$@" "$work/data" >"$work/log" 2>&1 &
	server=$!
	tries=0
	while kill -0 "$server" 2>/dev/null && [ $tries -lt 100 ]; do
		if "$work/answers" "http://$address/"; then
			return
		fi
		tries=$((tries + 1))
		sleep 0.1
	done
	return 1
}

# Whether a server answers, whatever it says: without curl, which need not be there.
cat >"$work/answers.go" <<'EOF'
package main

import (
	"net/http"
	"os"
)

func main() {
	resp, err := http.Get(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	resp.Body.Close()
}
EOF
"${GO:-go}" build -o "$work/answers" "$work/answers.go"

unset AWS_PROFILE AWS_SESSION_TOKEN AWS_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_CA_BUNDLE
AWS_ACCESS_KEY_ID=AKIAIOSFODNN4F2Q AWS_SECRET_ACCESS_KEY=of-the-tests AWS_EC2_METADATA_DISABLED=true
TEST_S3_ENDPOINT=http://$address
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_EC2_METADATA_DISABLED TEST_S3_ENDPOINT

mkdir -p "$work/data/dumptool-test" "$work/sidecar"
# ETags are kept in extended attributes, where the file system has them.
start || start --sidecar "$work/sidecar" || { cat "$work/log"; exit 1; }
"$@"
