package dumptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// HardNames returns names of files and operators that a shell, a terminal or a list of names may
// misread.
func HardNames() []string {
	return []string{"a;touch${IFS}x", "it's", "$(touch x)", "`touch x`", "a\nb", "end\n", "-name", "--ops", "a,b", "@file", "re:.*", "[a]", "(a)",
		"a b", " a", "*", "~", "=a", "a\"b", `a\b`, "%s!", "\x1b[31m", "\u202egnp", "张量", "&&x", "a|b", "#a"}
}

// stubs lists the programs in printed commands.
var stubs = []string{"dumptool", "tar", "mkdir"}

// ShellArgs returns the arguments that sh passes to the program of a printed command, and fails if
// the shell runs or writes anything else.
func ShellArgs(t testing.TB, line string) []string {
	t.Helper()
	bin, work := t.TempDir(), t.TempDir()
	for _, program := range stubs {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\nprintf '%s\\0' \"$@\"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = work, []string{"PATH=" + bin}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%s: wrote %v, %v", line, left, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
