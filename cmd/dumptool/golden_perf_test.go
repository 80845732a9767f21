package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestPerfGolden: perf gives the results of an independent program for every table, and the same
// for any number of workers.
func TestPerfGolden(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "perf")
	cases, err := os.ReadDir(root)
	cases = slices.DeleteFunc(cases, func(c os.DirEntry) bool { return c.Name() == "import" }) // pieces, for hpaa import
	if err != nil || len(cases) != 15 {
		t.Fatalf("%d cases, want 15: %v", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(root, c.Name())
			var want map[string]any
			readGolden(t, filepath.Join(dir, "expect.json"), &want)
			args := []string{"perf"}
			for _, arg := range want["args"].([]any) {
				args = append(args, arg.(string))
			}
			out, code := runIn(t, dir, append(args, "--json")...)
			if float64(code) != want["exit"] {
				t.Errorf("exit %d, want %v", code, want["exit"])
			}
			again, _ := runIn(t, dir, append(args, "--json", "-j", "4")...)
			if !bytes.Equal(out, again) {
				t.Error("-j changes the report")
			}
			var got map[string]any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			delete(want, "args")
			delete(want, "exit")
			for _, list := range []map[string]any{want, got} {
				list["problems"] = firsts(list["problems"])
			}
			sameValue(t, "report", got, want)
		})
	}
}

// firsts returns the first elements of lists: the lines of problems.
func firsts(lists any) any {
	all := []any{}
	problems, _ := lists.([]any)
	for _, p := range problems {
		all = append(all, p.([]any)[0])
	}
	return all
}

// runIn runs the program itself in a folder.
func runIn(t *testing.T, dir string, args ...string) (out []byte, code int) {
	t.Helper()
	out, _, code = runTold(t, dir, args...)
	return out, code
}

// runTold is runIn and returns stderr too.
func runTold(t *testing.T, dir string, args ...string) (out []byte, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("dumptool", args...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return bytes.HasPrefix([]byte(v), []byte("DUMP")) })
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+t.TempDir(), "LC_ALL=C")
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out, told.String(), cmd.ProcessState.ExitCode()
}

// sameValue compares JSON values: numbers to 1e-12, objects by the wanted keys.
func sameValue(t *testing.T, at string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s: %v, want an object", at, got)
			return
		}
		for key, v := range want {
			value, found := object[key]
			if !found {
				t.Errorf("%s has no %s", at, key)
				continue
			}
			sameValue(t, at+"."+key, value, v)
		}
		if name, ok := want["name"].(string); ok && name != object["name"] {
			t.Errorf("%s: %v, want %s", at, object["name"], name)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%s: %v, want %d elements", at, got, len(want))
			return
		}
		for i := range want {
			sameValue(t, fmt.Sprintf("%s[%d]", at, i), list[i], want[i])
		}
	case float64:
		x, ok := got.(float64)
		if !ok || math.Abs(x-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}
