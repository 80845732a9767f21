package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestReadme runs every console block of the READMEs as one shell session each,
// in order and in one folder, and compares what they print with what stands
// there.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "README.zh.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", name))
			if err != nil {
				t.Fatal(err)
			}
			script, commands := readmeScript(string(text))
			if commands < 3 {
				t.Fatalf("it has %d commands to run", commands)
			}
			path := filepath.Join(t.TempDir(), "readme.txtar")
			if err := os.WriteFile(path, []byte(script), 0o666); err != nil {
				t.Fatal(err)
			}
			testscript.Run(t, testscript.Params{Files: []string{path}, Setup: readmeSetup})
		})
	}
}

func readmeSetup(env *testscript.Env) error {
	data, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
	if err != nil {
		return err
	}
	env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/.config")
	env.Setenv("LC_ALL", "C")
	return os.Symlink(data, filepath.Join(env.WorkDir, "testdata"))
}

// readmeScript makes a test script of the console blocks: a line that starts
// with "$ " is a command, the lines below it are its output.
func readmeScript(readme string) (script string, commands int) {
	var steps, files, session, want strings.Builder
	inBlock, blocks := false, 0
	for line := range strings.Lines(readme) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case inBlock && strings.HasPrefix(line, "```"):
			inBlock = false
			fmt.Fprintf(&steps, "exec sh block%d\ncmp stdout want%d\n", blocks, blocks)
			fmt.Fprintf(&files, "-- block%d --\nexec 2>&1\n%s:\n-- want%d --\n%s", blocks, session.String(), blocks, want.String())
		case !inBlock:
			if inBlock = strings.TrimSpace(line) == "```console"; inBlock {
				blocks++
				session.Reset()
				want.Reset()
			}
		case isCommand:
			commands++
			session.WriteString(command)
		default:
			want.WriteString(line)
		}
	}
	return steps.String() + files.String(), commands
}
