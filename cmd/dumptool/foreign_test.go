package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestForeign: every command says what a file of another program is, and nothing of
// what its readers looked for.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ head, want string }{
		"notes.db":                 {"SQLite format 3\x00", "an SQLite database: dumptool has no use for it"},
		"net.safetensors.1":        {"\x40\x00\x00\x00\x00\x00\x00\x00{\"w\":{}}", "a safetensors file: dumptool reads it if its name ends in .safetensors"},
		"ge_proto_00001_Build.txt": {"graph {\n  op {\n    name: 'a'\n  }\n}\n", "a graph as text (protobuf): use it with -f of compare"},
		"libascendcl.so":           {"\x7fELF\x02\x01\x01\x00", "an ELF program or library: dumptool has no use for it"},
		"noise":                    {"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", "and none of the other files that dumptool knows"},
	} {
		dir := t.TempDir()
		path, out := filepath.Join(dir, name), filepath.Join(dir, "out")
		writeTo(t, path, []byte(test.head))
		for _, args := range [][]string{
			{"inspect", path}, {"convert", "-d", path, "-out", out}, {"overflow", "scan", path}, {"overflow", "decode", path},
			{"compare", "--cpu", path, "--npu", path, "--out", out},
		} {
			if args[0] == "compare" && strings.HasSuffix(name, ".txt") {
				continue // numbers may be in it
			}
			r := runArgs(t, args...)
			all := strings.Join(strings.Fields(r.out+r.err), " ")
			if r.code != exitIncomplete || !strings.Contains(all, test.want) || strings.Contains(all, "header length") {
				t.Errorf("%s: exit %d: %s%s", strings.Join(args, " "), r.code, r.out, r.err)
			}
		}
	}
	// A file that claims to be a dump is a broken one.
	path := filepath.Join(t.TempDir(), "Add.add.1.2.1624605159829022")
	writeTo(t, path, []byte("SQLite format 3\x00"))
	if r := runArgs(t, "inspect", path); r.code != exitIncomplete || !strings.Contains(r.err, "header length") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	// Side files are read by other readers.
	network := filepath.Join("..", "..", "testdata", "network")
	path = filepath.Join(t.TempDir(), "model.om")
	writeTo(t, path, []byte("IMOD\x00\x01\x00\x00"))
	for _, flag := range []string{"-f", "--op-config", "--consumer-map"} {
		r := runArgs(t, "compare", "--cpu", filepath.Join(network, "cpu"), "--npu", filepath.Join(network, "npu"), flag, path, "--out", filepath.Join(t.TempDir(), "out"))
		if all := strings.Join(strings.Fields(r.out+r.err), " "); !strings.Contains(all, "the file is an offline model (.om): atc --mode=1 makes JSON of it") {
			t.Errorf("%s: exit %d: %s%s", flag, r.code, r.out, r.err)
		}
	}
}
