package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFusionText: -f takes a graph as protobuf text, and one of other operators is
// not used.
func TestFusionText(t *testing.T) {
	t.Parallel()
	network := filepath.Join("..", "..", "testdata", "network")
	for _, test := range []struct {
		text, source, warning string
	}{
		{`graph { op { name: "conv1" id: 0 } op { name: "relu1" id: 1 input: "conv1:0" } op { name: "conv2" id: 2 input: "relu1:0" } }`, "fusion graph", ""},
		{`graph { op { name: "bert/a" } op { name: "bert/b" input: "bert/a:0" } }`, "unknown", "0 of its 2 operators occur in this run"},
		{`{"graph": [{"op": [{"name": "bert/a"}]}]}`, "unknown", "0 of its 1 operators occur in this run"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "ge_proto_00001_Build.txt")
		writeTo(t, path, []byte(test.text))
		r := runArgs(t, "compare", "--cpu", filepath.Join(network, "cpu"), "--npu", filepath.Join(network, "npu"), "-f", path, "--out", filepath.Join(dir, "out"))
		var inputs string
		for line := range strings.Lines(r.out) {
			if strings.HasPrefix(line, "Inputs") {
				inputs = line
			}
		}
		all := strings.Join(strings.Fields(r.out), " ")
		if r.code != exitFound || !strings.Contains(inputs, test.source) || !strings.Contains(all, test.warning) || test.warning == "" && strings.Contains(all, "occur in") {
			t.Errorf("%s: exit %d, %s", test.text, r.code, r.out)
		}
	}
}
