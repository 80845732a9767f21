package dumpconf

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/lang"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"8":         {Major: 8},
		"8.0":       {Major: 8},
		"8.0.RC3":   {Major: 8, Candidate: 3},
		"8.0.rc1":   {Major: 8, Candidate: 1},
		"8.0.0":     {Major: 8},
		"8.2.RC1.2": {Major: 8, Minor: 2, Candidate: 1},
		"2.3.1":     {Major: 2, Minor: 3},
		"r2.4":      {Major: 2, Minor: 4},
	} {
		if got, err := ParseVersion(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "0", "8.x", "8.RC1", "8.", "-1.0", "8.-1"} {
		if got, err := ParseVersion(text); err == nil || got != (Version{}) {
			t.Errorf("%q is %+v, want an error", text, got)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	order := []string{"1.9", "2.0.RC1", "2.0.RC2", "2.0", "2.3", "2.10", "8.0.RC3", "8.0", "8.2", ""}
	for i, a := range order {
		for j, b := range order {
			if got := version(t, a).IsBefore(version(t, b)); got != (i < j) {
				t.Errorf("%q before %q is %v", a, b, got)
			}
		}
	}
	for text, want := range map[string]string{"8.0.rc3": "8.0.RC3", "2.3.1": "2.3", "": "newest"} {
		if got := version(t, text).String(); got != want {
			t.Errorf("%q prints as %q, want %q", text, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	keys := aclDump.names()
	for word, want := range map[string]string{
		"dump_paht":      "dump_path",
		"dumppath":       "dump_path",
		"DumpPath":       "dump_path",
		"dump-op-switch": "dump_op_switch",
		"dump_lvel":      "dump_level",
		"dump_stpe":      "dump_step",
		"dumps_stats":    "dump_stats",
		"layer":          "",
		"x":              "",
		"":               "",
	} {
		if got := lang.Nearest(word, keys); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestProducts(t *testing.T) {
	for soc, want := range map[string][]bool{ // A2, A3, without NPU
		"":              {false, false, false},
		"A2":            {true, false, false},
		"Atlas A2":      {true, false, false},
		"Ascend910B3":   {true, false, false},
		"Ascend910_93":  {false, true, false},
		"Ascend910_939": {false, true, false},
		"Ascend910C":    {false, true, false},
		"atlas-a3":      {false, true, false},
		"Ascend310P3":   {false, false, false},
		"Ascend910A":    {false, false, false},
		"CPU":           {false, false, true},
		"gpu":           {false, false, true},
	} {
		o := Options{SoC: soc}
		if got := []bool{o.isA2(), o.isA3(), o.hasNoNPU()}; !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", soc, got, want)
		}
	}
}

func TestStringers(t *testing.T) {
	for got, want := range map[string]string{
		Error.String():       "error",
		SchemaGE.String():    "ge",
		TypeUints.String():   "an array of non-negative integers",
		KernelRegex.String(): "a regular expression",
	} {
		if got != want {
			t.Errorf("name %q, want %q", got, want)
		}
	}
}

func TestParseKernel(t *testing.T) {
	for text, want := range map[string]Kernel{
		"Conv2D":                   {Kind: KernelType, Pattern: "Conv2D"},
		"":                         {Kind: KernelType},
		" Conv 2D ":                {Kind: KernelType, Pattern: "Conv2D"},
		`"Conv2D"`:                 {Kind: KernelType, Pattern: "Conv2D"},
		"Default/Conv-op12":        {Kind: KernelName, Pattern: "Default/Conv-op12"},
		"Conv-op12":                {Kind: KernelName, Pattern: "Conv-op12"},
		"Conv-o12":                 {Kind: KernelType, Pattern: "Conv-o12"},
		"a/b":                      {Kind: KernelName, Pattern: "a/b"},
		"name-regex(Default/.+)":   {Kind: KernelRegex, Pattern: "Default/.+"},
		"name-regex( a b )":        {Kind: KernelRegex, Pattern: "ab"},
		"name-regex()":             {Kind: KernelRegex},
		"name-regex((a))":          {Kind: KernelRegex, Pattern: "(a)"},
		"name-regex(a":             {Kind: KernelType, Pattern: "name-regex(a", Unclosed: true},
		"name-regex(a/b":           {Kind: KernelName, Pattern: "name-regex(a/b", Unclosed: true},
		"Name-Regex(a)":            {Kind: KernelType, Pattern: "Name-Regex(a)"},
		"x name-regex(a)":          {Kind: KernelType, Pattern: "xname-regex(a)"},
		"Default/name-regex(a)-op": {Kind: KernelName, Pattern: "Default/name-regex(a)-op"},
	} {
		if diff := cmp.Diff(want, ParseKernel(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestStatFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]PathState{
		dir:                        PathUsable,
		file:                       PathNotDir,
		filepath.Join(dir, "none"): PathMissing,
		filepath.Join(file, "sub"): PathMissing,
	}
	for path, want := range tests {
		if got := StatFolder(path); got != want {
			t.Errorf("%s: state %v, want %v", path, got, want)
		}
	}
}
