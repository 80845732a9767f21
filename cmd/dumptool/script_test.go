package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this binary also be the command dumptool, which the scripts
// run as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dumptool": main})
}

// TestScripts runs testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// The settings of whoever runs the tests stay out of them.
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/.config")
			// A race detector would make every process wait for a second.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
	})
}
