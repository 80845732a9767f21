package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sampleTree returns the command tree of sampleCommands.
func sampleTree(t testing.TB) *cobra.Command {
	t.Helper()
	a := &app{commands: sampleCommands(new(sampleOptions), func(context.Context, []string) error { return nil })}
	return newRootCommand(a)
}

func TestRewriteArgs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want, cmd, extra string }{
		"single dash":               {"convert -out dir", "convert --out dir", "dumptool convert", ""},
		"single dash, equals":       {"convert -out=dir", "convert --out=dir", "dumptool convert", ""},
		"double dash stays":         {"convert --out dir", "convert --out dir", "dumptool convert", ""},
		"underscore":                {"overflow analyze --cpu_dir x -cpu_dir=y", "overflow analyze --cpu-dir x --cpu-dir=y", "dumptool overflow analyze", ""},
		"long flag of shorthand":    {"convert -dump_path x", "convert --dump-path x", "dumptool convert", ""},
		"alias":                     {"convert -output-path x --target=y", "convert --out x --out=y", "dumptool convert", ""},
		"name before alias":         {"convert -output 1", "convert --output 1", "dumptool convert", ""},
		"shorthands stay":           {"convert -d x -o 1 -j4 -s=1,2", "convert -d x -o 1 -j4 -s=1,2", "dumptool convert", ""},
		"cluster stays":             {"convert -xyd path -out dir", "convert -xyd path --out dir", "dumptool convert", ""},
		"value is not a flag":       {"convert -d -out -out dir", "convert -d -out --out dir", "dumptool convert", ""},
		"value of cluster":          {"convert -xd -out x", "convert -xd -out x", "dumptool convert", ""},
		"value of long flag":        {"convert --out -out -stats", "convert --out -out --stats", "dumptool convert", ""},
		"negative number":           {"overflow analyze -n -1 -top_n -1", "overflow analyze -n -1 --top-n -1", "dumptool overflow analyze", ""},
		"stop at dashes":            {"convert -stats -- -out x", "convert --stats -- -out x", "dumptool convert", ""},
		"dashes as value":           {"convert -out -- -stats", "convert --out -- --stats", "dumptool convert", ""},
		"python booleans":           {"convert -stats=True --stats=FALSE -out=True", "convert --stats=true --stats=false --out=True", "dumptool convert", ""},
		"python boolean apart":      {"convert -stats True --stats false file True", "convert --stats=true --stats=false file True", "dumptool convert", ""},
		"flag after argument":       {"convert file -out x convert -stats", "convert file --out x convert --stats", "dumptool convert", ""},
		"inherited":                 {"overflow -quiet analyze -log_format json", "overflow --quiet analyze --log-format json", "dumptool overflow analyze", ""},
		"global before command":     {"-log-format json -quiet convert", "--log-format json --quiet convert", "dumptool convert", ""},
		"local before command":      {"--out x convert -stats", "--out x convert --stats", "dumptool convert", ""},
		"alias of command":          {"of analyze -top-n 1", "of analyze --top-n 1", "dumptool overflow analyze", ""},
		"help":                      {"convert -help", "convert --help", "dumptool convert", ""},
		"other command's flag":      {"overflow analyze -stats", "overflow analyze -stats", "dumptool overflow analyze", ""},
		"unknown flags stay":        {"convert -nosuch --nosuch -é= -Q", "convert -nosuch --nosuch -é= -Q", "dumptool convert", ""},
		"bad syntax stays":          {"convert --=x ---out -=out -", "convert --=x ---out -=out -", "dumptool convert", ""},
		"unknown command":           {"convrt -out x", "convrt -out x", "dumptool", "convrt"},
		"unknown in group":          {"overflow analyse -out x", "overflow analyse -out x", "dumptool overflow", "analyse"},
		"forgotten command":         {"-d x y", "-d x y", "dumptool", ""},
		"completion is cobra's":     {"__complete convert -out", "__complete convert -out", "dumptool", ""},
		"completion without text":   {"__completeNoDesc convert -out", "__completeNoDesc convert -out", "dumptool", ""},
		"nothing":                   {"", "", "dumptool", ""},
		"group alone":               {"overflow", "overflow", "dumptool overflow", ""},
		"shorthand value of itself": {"convert -doutput -out x", "convert -doutput --out x", "dumptool convert", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := strings.Fields(tt.in)
			got := rewriteArgs(sampleTree(t), in)
			if diff := cmp.Diff(strings.Fields(tt.want), got.args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if got.cmd.CommandPath() != tt.cmd || got.extra != tt.extra {
				t.Errorf("command %q, extra word %q, want %q, %q", got.cmd.CommandPath(), got.extra, tt.cmd, tt.extra)
			}
			if !slices.Equal(in, strings.Fields(tt.in)) {
				t.Errorf("the arguments of the caller became %q", in)
			}
		})
	}
}

// TestNoCluster: no rewrite changes the meaning of combined shorthands without values. No long flag
// consists of only such letters.
func TestNoCluster(t *testing.T) {
	t.Parallel()
	a, _ := testApp(t)
	walk(newRootCommand(a), func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		flags := cmd.Flags()
		flags.VisitAll(func(f *pflag.Flag) {
			for _, name := range append([]string{f.Name}, f.Annotations[aliasKey]...) {
				if spelledByShorthands(flags, name) {
					t.Errorf("%s: -%s is a cluster of shorthands and the flag --%s", cmd.CommandPath(), name, f.Name)
				}
				if len(name) < 2 {
					t.Errorf("%s: the long flag %q is as short as a shorthand", cmd.CommandPath(), name)
				}
				if found := longFlag(flags, name); found != f {
					t.Errorf("%s: -%s means --%s and --%s", cmd.CommandPath(), name, found.Name, f.Name)
				}
			}
		})
	})
}

// spelledByShorthands reports whether every letter of name is a shorthand that
// takes no value.
func spelledByShorthands(flags *pflag.FlagSet, name string) bool {
	for i := range len(name) {
		if f := flags.ShorthandLookup(name[i : i+1]); f == nil || f.NoOptDefVal == "" {
			return false
		}
	}
	return true
}

func TestSpelledByShorthands(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.BoolP("aa", "a", false, "")
	flags.BoolP("ba", "b", false, "")
	flags.StringP("abc", "c", "", "")
	for name, want := range map[string]bool{"aa": true, "ba": true, "abc": false, "abd": false} {
		if got := spelledByShorthands(flags, name); got != want {
			t.Errorf("spelledByShorthands(%q) = %v, want %v", name, got, want)
		}
	}
}

func FuzzRewriteArgs(f *testing.F) {
	for _, seed := range []string{
		"convert -out dir -d x -- -out y", "overflow analyze -n -1 --cpu_dir=x", "-quiet of analyze -top_n=3",
		"__complete convert -o", "convert -xyd -out -stats=True --output_path a", "- -- --", "convert ---= -= -\xff",
		"convert -xyd=-out -stats True", "convert -stats -stats FALSE x",
	} {
		f.Add(strings.ReplaceAll(seed, " ", "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := strings.Split(text, "\n")
		got := rewriteArgs(sampleTree(t), in)
		rest := in
		for _, arg := range got.args {
			if len(rest) == 0 {
				t.Fatalf("%q became %q", in, got.args)
			}
			word := rest[0]
			rest = rest[1:]
			if !strings.HasPrefix(word, "-") && arg != word {
				t.Errorf("word %q became %q", word, arg)
			}
			if _, value, joined := strings.Cut(arg, "="); joined && !strings.Contains(word, "=") {
				if len(rest) == 0 || !strings.EqualFold(value, rest[0]) {
					t.Fatalf("%q became %q: %q has no such value", in, got.args, word)
				}
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			t.Errorf("%q became %q: %q is lost", in, got.args, rest)
		}
		again := rewriteArgs(sampleTree(t), got.args)
		if diff := cmp.Diff(got.args, again.args); diff != "" || again.extra != got.extra || again.cmd.Name() != got.cmd.Name() {
			t.Errorf("a second rewrite of %q changes it (-first +second):\n%s", in, diff)
		}

		// Words after the -- that ends the flags stay unchanged. Any earlier -- is the value of a
		// flag.
		root := sampleTree(t)
		guarded := rewriteArgs(root, append(slices.Clone(in), "x", "--", "--", "-out", "--cpu_dir=True", "-stats=True"))
		want := []string{"--", "-out", "--cpu_dir=True", "-stats=True"}
		if tail := guarded.args[len(guarded.args)-4:]; !slices.Equal(tail, want) {
			t.Errorf("behind %q, %q became %q", in, want, tail)
		}
	})
}

// TestFromTool rewrites the arguments of other tools.
func TestFromTool(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"compare a b", "compare a b"},
		{"msaccucmp compare -m npu -g cpu -f f.json -out o -alg all -overflow_detection", "compare --npu npu --cpu cpu --fusion f.json --out o --format msaccucmp,html"},
		{"msaccucmp.py compare --my_dump_path=npu -g cpu", "compare --npu npu --cpu cpu --format msaccucmp,html --out ."},
		{"msaccucmp convert -d x -out o -f NCHW", "convert -d x -out o -f NCHW"},
		{"msaccucmp overflow -d x -out o -n 2", "overflow analyze --dump-path x --out o --top-num 2"},
		{"msaccucmp file_compare -m a.npy -g b.npy -out o", "compare --npu a.npy --cpu b.npy --out o --format msaccucmp,html"},
		{"run_precision_analysis --cpu_dir=a --npu_dir b --show_graph=True", "compare --cpu_dir=a --npu_dir b --show_graph=True"},
		{"run_npu_data_analysis.py --npu_dir a --skip_keys=conv", "hpaa import --npu_dir a --skip_keys=conv"},
		{"msprobe -f pytorch compare -o out -c -s -dm m.yaml", "compare --out out --map-node-dict @m.yaml --format msprobe,html"},
	} {
		got, _, err := translateTool(strings.Fields(tt.in))
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, %v, want %s", tt.in, got, err, tt.want)
		}
	}
	for in, want := range map[string]string{
		"msprobe run_ut":              "msprobe run_ut is not known here; known: compare",
		"msprobe -f pytorch":          "msprobe: no command given; known: compare",
		"msaccucmp compare -q f":      "msaccucmp compare -q: pairs are found without rules of quantisation",
		"msaccucmp compare -zz f":     "msaccucmp compare -zz is not known here; known: -m, -g,",
		"msaccucmp compare -m":        "msaccucmp compare: -m needs a value",
		"msaccucmp compare x":         "msaccucmp compare x is not known here",
		"msaccucmp x":                 "msaccucmp x is not known here; known: compare, convert, overflow, file_compare",
		"msprobe compare -i nosuch.x": "no such file",
	} {
		if _, _, err := translateTool(strings.Fields(in)); err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitUsage {
			t.Errorf("%s: %v, want %q and exit status 2", in, err, want)
		}
	}
	for in, want := range map[string]string{"/usr/bin/msaccucmp.py compare": "msaccucmp compare", "./run_precision_analysis --atol 1": "run_precision_analysis --atol 1", "bin/dumptool version": "version"} {
		if got := strings.Join(toolArguments(strings.Fields(in)), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
