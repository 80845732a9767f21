package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/dumpdir"
)

// sameFlags are the flags that every command has that reads dumps, and sideFlags
// those of commands that compare two runs.
var (
	sameFlags = []string{"dump-path", "rank", "step", "graph", "model", "ops"}
	sideFlags = []string{"ref-rank", "ref-step", "ref-graph", "ref-model", "npu-rank", "npu-step", "npu-graph", "npu-model"}
)

// readers are the commands that read dumps.
var readers = []string{
	"convert", "inspect", "find", "overflow analyze", "overflow decode", "overflow scan", "overflow watch", "compare", "compare detail", "compare determinism",
}

// others are the commands that read no dumps.
var others = []string{
	"cluster slurm", "cluster kubernetes", "cluster volcano", "cluster local", "convert merge", "merge", "overflow status", "overflow scan merge", "overflow analyze merge", "compare judge", "compare merge", "report", "hpaa import", "run-npu-data-analysis", "perf", "config new", "config check", "config explain", "config convert", "version", "completion", "help",
}

// TestSameFlags checks that commands that read dumps have the same flags. A new
// command has to be in one of the lists.
func TestSameFlags(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		path := strings.Join(commandPath(cmd), " ")
		if flag := cmd.Flags().Lookup; flag("format") != nil && flag("json") == nil && path != "convert" {
			t.Errorf("%s has --format and no --json", path)
		}
		if finds := strings.Contains(cmd.Long, exitMeanings[exitFound]); finds && cmd.Flags().Lookup("exit-zero") == nil && !isGroup(cmd) && path != "config convert" && path != "cluster local" {
			t.Errorf("%s has an exit status for what it finds and no --exit-zero", path)
		}
		switch {
		case slices.Contains(readers, path):
			wanted := sameFlags
			if cmd.Flags().Lookup("cpu") != nil {
				wanted = slices.Concat(sameFlags, sideFlags)
			}
			for _, name := range wanted {
				// Records do not name their operators, detail is about one, and find
				// finds them.
				noOps := name == "ops" && (path == "overflow decode" || path == "compare detail" || path == "find")
				if cmd.Flags().Lookup(name) == nil && !noOps {
					t.Errorf("%s has no --%s", path, name)
				}
			}
		case !slices.Contains(others, path) && !isGroup(cmd):
			t.Errorf("%s: does it read dumps?", path)
		}
	})
}

// isGroup reports whether a command only holds others.
func isGroup(cmd *cobra.Command) bool { return cmd.HasSubCommands() && !takesArguments(cmd) }

func TestRoundFlags(t *testing.T) {
	t.Parallel()
	round := func(rank, step string) *dumpdir.Round {
		return &dumpdir.Round{At: dumpdir.Coordinates{Rank: rank, Step: step, Model: "net"}}
	}
	run := &dumpdir.Run{Rounds: []*dumpdir.Round{round("0", "1"), round("0", "2"), round("1", "1"), round("1", "2"), round("1", "3")}}
	tests := map[string]struct{ args, all, ref, npu string }{
		"none":      {"", "0.1 0.2 1.1 1.2 1.3", "0.1 0.2 1.1 1.2 1.3", "0.1 0.2 1.1 1.2 1.3"},
		"both":      {"--rank 1 --step 2-3", "1.2 1.3", "1.2 1.3", "1.2 1.3"},
		"several":   {"--step 1|3", "0.1 1.1 1.3", "0.1 1.1 1.3", "0.1 1.1 1.3"},
		"one side":  {"--ref-rank 0 --ref_step=1", "0.1 0.2 1.1 1.2 1.3", "0.1", "0.1 0.2 1.1 1.2 1.3"},
		"overruled": {"-step 1 --npu-step 2 --rank 1", "1.1", "1.1", "1.2"},
		"model":     {"--model other|net --npu-model other", "0.1 0.2 1.1 1.2 1.3", "0.1 0.2 1.1 1.2 1.3", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o dumpFlags
			cmd := &cobra.Command{Use: "compare"}
			cmd.SetGlobalNormalizationFunc(normalizeFlag)
			o.add(cmd, sidesFlag)
			if err := cmd.ParseFlags(rewriteArgs(cmd, strings.Fields(tt.args)).args); err != nil {
				t.Fatal(err)
			}
			ref, npu := o.sides()
			for _, side := range []struct {
				name, want string
				s          dumpdir.Selection
			}{{"all", tt.all, o.selection()}, {"ref", tt.ref, ref}, {"npu", tt.npu, npu}} {
				var got []string
				for _, r := range run.Select(side.s) {
					got = append(got, r.At.Rank+"."+r.At.Step)
				}
				if strings.Join(got, " ") != side.want {
					t.Errorf("%s: got %s, want %s", side.name, got, side.want)
				}
			}
		})
	}
}

func TestBadRoundFlags(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"--rank=x":      `invalid argument "x" for "--rank" flag: "x" in "x" is neither a number nor a range`,
		"--step=3-1":    `"3-1" in "3-1"`,
		"--npu-graph=,": `"," in ","`,
		"--model=a||b":  `"a||b" has an empty name`,
	} {
		var o dumpFlags
		flags := pflag.NewFlagSet("compare", pflag.ContinueOnError)
		sidesFlag(&o, flags)
		if err := flags.Parse([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}
