package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/batch"
	"dumptool/internal/convert"
	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// Flags that several commands have mean the same in all of them. They stand here,
// and those for the formats of reports in formats.go.

// pathFlag is the usual spelling of the arguments.
func pathFlag(to *[]string, usage string) cmdFlag {
	return cmdFlag{"dump-path|d|dump-file", texts(to), usage, choosing, ofTransport}
}

// morePaths is another spelling of the arguments.
func morePaths(to *[]string) cmdFlag {
	f := pathFlag(to, "another spelling of the argument `PATH`")
	f.is |= rare
	return f
}

// roundFlags choose rounds by their coordinates.
func roundFlags(to *dumpdir.Selection) []cmdFlag {
	return []cmdFlag{
		{"rank", rounds(&to.Rank, dumpdir.ParseNumbers), "only these `RANKS`, such as 0|3-5|10; devices are ranks", choosing, safe | ofRound},
		{"step|iteration", rounds(&to.Step, dumpdir.ParseNumbers), "only these `STEPS`, such as 0|3-5|10; iterations are steps", choosing, safe | ofRound},
		{"graph", rounds(&to.Graph, dumpdir.ParseNumbers), "only graphs, or models, of these `IDS`", choosing, safe | ofRound | rare},
		{"model|net", rounds(&to.Model, dumpdir.ParseNames), "only networks or models of these `NAMES`, with | between them", choosing, safe | ofRound | rare},
	}
}

// sideFlags choose rounds of both runs, and of one.
func sideFlags(ref, npu *dumpdir.Selection) (all []cmdFlag) {
	ofRef, ofNPU := roundFlags(ref), roundFlags(npu)
	for i, both := range roundFlags(new(dumpdir.Selection)) {
		name, _, _ := strings.Cut(both.names, "|")
		both.value = bothSides(ofRef[i].value.(*value[dumpdir.Choice]), ofNPU[i].value.(*value[dumpdir.Choice]))
		both.usage += "; REF:NPU for each side"
		all = append(all, both,
			cmdFlag{"ref-" + name, ofRef[i].value, "--" + name + " for the reference only", choosing, safe | ofRound | hidden},
			cmdFlag{"npu-" + name, ofNPU[i].value, "--" + name + " for the NPU data only", choosing, safe | ofRound | hidden})
	}
	return all
}

// opsFlag chooses operators of runs, as readOps reads them.
func opsFlag(to *[]string) cmdFlag {
	return cmdFlag{"ops", texts(to), "only operators of these `NAMES`; with commas between them, or re:PATTERN, or @file with one a line", choosing, safe | ofRow}
}

// readOps makes a set of the operators of --ops, and of more; nil for all.
func readOps(texts []string, more ...string) (*dumpdir.NameSet, error) {
	var lists []string
	for _, text := range texts {
		path, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			lists = append(lists, text)
			continue
		}
		in, err := (&sidefile.Files{Ops: path}).Load()
		if problem, ok := errors.AsType[*sidefile.FileError](err); ok {
			problem.Given = false // it is no --ops-from
			return nil, configError(fmt.Errorf("--ops: %w", problem))
		}
		more = append(more, in.Ops...)
	}
	set, err := namesOf(lists, more...)
	if err != nil {
		return nil, usagef("--ops: %w", err)
	}
	return set, nil
}

// findFlag chooses dumps by what find finds.
func findFlag(query *string) cmdFlag {
	return cmdFlag{"find", text(query), "only the dumps of what `QUERY` finds, as dumptool find does: resnet.py:88", choosing, ofRow}
}

// found are the dumps below paths that --find chooses, by their absolute paths; nil for
// all.
func (a *app) found(ctx context.Context, query string, opt find.Options) (map[string]bool, error) {
	if query == "" {
		return nil, nil
	}
	q, err := find.ParseQuery(query, find.Auto)
	if err != nil {
		return nil, usagef("--find: %v", err)
	}
	answer, err := find.Run(ctx, q, opt)
	switch {
	case find.IsUsage(err):
		return nil, asUsage(err)
	case err != nil:
		return nil, err
	}
	return answer.Chosen(), a.conclude(answer.ChosenOutcome())
}

// irFlag is for graphs of MindSpore.
func irFlag(to *string) cmdFlag {
	return cmdFlag{"ir", text(to), "graph of MindSpore in `PATH`, or folder of graphs, in place of those in the run; off: none", facts, ofRow}
}

// checkIR checks the flag for graphs of MindSpore.
func checkIR(ir string) error {
	if ir == "" || ir == dumpdir.NoIR {
		return nil
	}
	if _, err := store.Stat(ir); err != nil {
		return usagef("--ir: %v", err)
	}
	return nil
}

// jobsFlag is the number of workers.
func jobsFlag(to *int, usage string) cmdFlag {
	return cmdFlag{"jobs|j|max-cores", whole(to, 0, 1<<20, "want at least 1, or 0 for one per CPU"), usage, more, safe | ofTransport | rare}
}

// filesRead is the usage of jobsFlag for files that are only read.
const filesRead = "`N` files read at a time; default: one per CPU"

// containerFlag is the container of the dumps.
func containerFlag(to *int) cmdFlag {
	return cmdFlag{"version|v", whole(to, 0, 2, "want 1 or 2"), "dump container `1|2`: protobuf or binary; default: as the file says", choosing, safe | ofRow | rare}
}

// nodeFlags are those of HPAA's scripts that give operators other names and leave some
// out.
func nodeFlags(nameMap *string, skipKeys *[]string, exclude **dumpdir.NameSet) []cmdFlag {
	return []cmdFlag{
		{"skip-keys", nameLists(skipKeys), "skip operators whose name contains one of `KEYS`, with commas between them", pairing, safe | ofRow | rare | onHPAA},
		{"exclude-node-list", nameSet(exclude), "skip operators of these `NAMES`, or re:PATTERN", pairing, safe | ofRow | rare | onHPAA},
		{"map-node-dict", text(nameMap), "`TEXT` of names that differ; such as '{\"cpu_name\":\"npu_name\"}', or @FILE; @FILE.yaml is a data mapping of msprobe, npu_name: cpu_name", pairing, place | onHPAA},
	}
}

// readNameMap reads the names of --map-node-dict.
func readNameMap(text string) (*sidefile.NameMap, error) {
	files, err := (&sidefile.Files{NameMap: text}).Load()
	if err != nil {
		return nil, compareError(err)
	}
	return files.NameMap, nil
}

// outFlag is the place of the output.
func outFlag(flags *pflag.FlagSet, out *string, byDefault, usage string) {
	*out = cmp.Or(*out, byDefault)
	defineIn(nil, flags, cmdFlag{"out|output|output-dir", text(out), usage, reporting, ofTransport})
}

// exitZero keeps what was found from the exit status.
type exitZero bool

func (z *exitZero) add(flags *pflag.FlagSet, found string) {
	defineIn(nil, flags, cmdFlag{"exit-zero", yes((*bool)(z)), found + " do not change the exit status", ci, 0})
}

// of is an outcome as the flag wants it.
func (z exitZero) of(o batch.Outcome) batch.Outcome {
	if !z || o.Kind != batch.Found {
		return o
	}
	if !o.Shown {
		o.Messages = append(o.Messages, batch.Infof("%s", "%s", o.Text))
	}
	return batch.Outcome{Messages: o.Messages}
}

// jsonFlag asks for JSON in place of text.
type jsonFlag bool

func (j *jsonFlag) add(flags *pflag.FlagSet, usage string) {
	defineIn(nil, flags, cmdFlag{"json", yes((*bool)(j)), usage, reporting, safe})
}

// format is the name of the format.
func (j jsonFlag) format() string {
	if j {
		return "json"
	}
	return "text"
}

// checkOut refuses a file where the output is a folder.
func checkOut(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("out")
	if f == nil || !f.Changed {
		return nil
	}
	if kind, _ := pflag.UnquoteUsage(f); kind != "DIR" {
		return nil
	}
	if to := cmd.Flags().Lookup("type"); to != nil && convert.Type(to.Value.String()).Extracts() {
		return nil
	}
	out := f.Value.String()
	if info, err := os.Stat(out); err == nil && info.Mode().IsRegular() {
		return incompletef("%s is a file; -out wants a folder", out)
	}
	return nil
}
