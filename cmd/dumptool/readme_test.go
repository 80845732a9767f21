package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestReadme runs the commands of every console block of the README, in order
// and in one folder, and compares what they print with what stands there.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, commands := readmeScript(string(text))
	if commands < 3 {
		t.Fatalf("the README has %d commands to run", commands)
	}
	path := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(path, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: []string{path},
		Setup: func(env *testscript.Env) error {
			data, err := filepath.Abs(filepath.Join("..", "..", "testdata"))
			if err != nil {
				return err
			}
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/.config")
			return os.Symlink(data, filepath.Join(env.WorkDir, "testdata"))
		},
	})
}

// readmeScript makes a test script of the console blocks: a line that starts
// with "$ " is a command, the lines below it are its output.
func readmeScript(readme string) (script string, commands int) {
	var steps, files strings.Builder
	inBlock := false
	for line := range strings.Lines(readme) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = strings.TrimSpace(line) == "```console"
		case !inBlock:
		case isCommand:
			commands++
			fmt.Fprintf(&steps, "exec sh -c '%s 2>&1 || :'\ncmp stdout want%d\n", strings.TrimSpace(command), commands)
			fmt.Fprintf(&files, "-- want%d --\n", commands)
		default:
			files.WriteString(line)
		}
	}
	return steps.String() + files.String(), commands
}
