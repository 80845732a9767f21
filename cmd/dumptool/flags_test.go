package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/dumpdir"
)

// sameFlags lists the flags of every command that reads dumps, oneSide the flags of commands that
// compare two runs.
var (
	sameFlags = []string{"dump-path", "rank", "step", "graph", "model", "ops"}
	oneSide   = []string{"ref-rank", "ref-step", "ref-graph", "ref-model", "npu-rank", "npu-step", "npu-graph", "npu-model"}
)

// readers are the commands that read dumps.
var readers = []string{
	"check", "convert", "inspect", "find", "overflow analyze", "overflow decode", "overflow scan", "overflow watch", "compare", "compare detail", "compare determinism",
}

// others are the commands that read no runs of dumps, or only list them.
var others = []string{
	"PATH...", "show", "cluster slurm", "cluster kubernetes", "cluster volcano", "cluster local", "cluster merge", "convert merge", "merge", "overflow status", "overflow scan merge", "overflow analyze merge", "compare judge", "compare checkpoints", "compare merge", "report", "hpaa import", "run-npu-data-analysis", "perf", "config new", "config check", "config explain", "version", "completion", "help",
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
		if finds := strings.Contains(cmd.Long, exitMeanings[exitFinding]); finds && cmd.Flags().Lookup("exit-zero") == nil && !isGroup(cmd) && path != "cluster local" {
			t.Errorf("%s has an exit status for what it finds and no --exit-zero", path)
		}
		switch {
		case slices.Contains(readers, path):
			wanted := sameFlags
			if cmd.Flags().Lookup("cpu") != nil {
				wanted = slices.Concat(sameFlags, oneSide)
			}
			for _, name := range wanted {
				// Records do not name their operators, detail is about one operator, and find finds
				// them.
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

// TestFlagsMeanTheSame checks that a flag has the same kind of value, the same shorthand
// and the same other names in all commands.
func TestFlagsMeanTheSame(t *testing.T) {
	t.Parallel()
	differ := map[string]string{
		"baseline": "a document of compare, or tables of perf",
		"fail-on":  "statuses of tensors, or findings of perf",
		"format":   "one, or several",
		"groups":   "a file of groups of ranks, or those of a convolution",
		"out":      "a folder, or the one file of a command",
		"parallel": "axes of the mesh of ranks, or shards at a time",
		"shape":    "of one file, or of nodes",
		"version":  "of a container, or of dumptool",
		"wait":     "a time, or a share of cycles",
	}
	kinds := map[string]map[string]string{}
	a, _ := testApp(t)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		if strings.HasPrefix(cmd.CommandPath(), "dumptool config new") { // its flags are keys of files
			return
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			kind, _ := pflag.UnquoteUsage(f)
			kind = strings.Join([]string{kind, f.Shorthand, strings.Join(f.Annotations[aliasKey], " ")}, ", ")
			if kinds[f.Name] == nil {
				kinds[f.Name] = map[string]string{}
			}
			kinds[f.Name][kind] = cmd.CommandPath()
		})
	})
	for name, of := range kinds {
		if _, may := differ[name]; len(of) > 1 != may {
			t.Errorf("--%s has the kinds of values %v", name, of)
		}
	}
}

// isGroup reports whether a command only holds others.
func isGroup(cmd *cobra.Command) bool { return cmd.HasSubCommands() && !takesArguments(cmd) }

func TestRoundFlags(t *testing.T) {
	t.Parallel()
	round := func(rank, step string) *dumpdir.Round {
		return &dumpdir.Round{At: dumpdir.Coordinates{Rank: rank, Step: step, Model: "net"}}
	}
	run := &dumpdir.Run{Rounds: []*dumpdir.Round{round("0", "1"), round("0", "2"), round("1", "1"), round("1", "2"), round("1", "3")}}
	const all = "0.1 0.2 1.1 1.2 1.3"
	tests := map[string]struct{ args, ref, npu string }{
		"none":            {"", all, all},
		"both":            {"--rank 1 --step 2-3", "1.2 1.3", "1.2 1.3"},
		"several":         {"--step 1|3", "0.1 1.1 1.3", "0.1 1.1 1.3"},
		"one side":        {"--ref-rank 0 --ref_step=1", "0.1", all},
		"overruled":       {"-step 1 --npu-step 2 --rank 1", "1.1", "1.2"},
		"overruled first": {"--npu-step 2 --rank 1 -step 1", "1.1", "1.2"},
		"each":            {"--rank 0:1 --step 1|2:3", "0.1 0.2", "1.3"},
		"each overruled":  {"--npu-rank 0 --rank 0:1 --step 1", "0.1", "0.1"},
		"one side's rest": {"--rank :1", all, "1.1 1.2 1.3"},
		"model":           {"--model other|net --npu-model other", all, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ref, npu dumpdir.Selection
			cmd := &cobra.Command{Use: "compare"}
			cmd.SetGlobalNormalizationFunc(normalizeFlag)
			addFlags(cmd, sideFlags(&ref, &npu)...)
			if err := cmd.ParseFlags(rewriteArgs(cmd, strings.Fields(tt.args)).args); err != nil {
				t.Fatal(err)
			}
			for _, side := range []struct {
				name, want string
				s          dumpdir.Selection
			}{{"ref", tt.ref, ref}, {"npu", tt.npu, npu}} {
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
		"--npu-graph=,": `"" in ","`,
		"--step=1:x":    `"x" in "x" is neither a number nor a range`,
		"--model=a||b":  `"a||b" has an empty name`,
	} {
		flags := pflag.NewFlagSet("compare", pflag.ContinueOnError)
		addFlagsTo(flags, sideFlags(new(dumpdir.Selection), new(dumpdir.Selection))...)
		if err := flags.Parse([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}
