package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/hpaa"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

func newHPAACommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "hpaa",
		Short: "join HPAA's raw pieces of NPU tensors",
		Long: `hpaa import joins the raw pieces of tensors that HPAA's driver writes to the
folder dump_data below $DUMP_MEMORY_PATH. dumptool compare then compares the
arrays.`,
	})
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	cmd.AddCommand(newHPAAImportCommand(a))
	return cmd
}

// newNPUAnalysisCommand returns hpaa import under the name of HPAA's script.
func newNPUAnalysisCommand(a *app) *cobra.Command {
	cmd := newHPAAImportCommand(a)
	cmd.Use = strings.Replace(cmd.Use, cmd.Name(), cmd.Aliases[0], 1)
	cmd.Aliases = cmd.Aliases[1:]
	cmd.Hidden = true
	return cmd
}

type hpaaImportOptions struct {
	hpaa.Options
	source                   hpaa.Source
	result, runtime          string
	nameMap, like, nodeNames string
	ignoreOthers             bool
	json                     jsonFlag
}

func newHPAAImportCommand(a *app) *cobra.Command {
	opts := &hpaaImportOptions{Options: hpaa.Options{Filter: new(dumpdir.NodeFilter)}}
	cmd := &cobra.Command{
		Use:     "import [DIR] --pieces FILE | --piece-pattern PATTERN",
		Aliases: []string{"run-npu-data-analysis", "run_npu_data_analysis", "run_npu_data_analysis.py"},
		Short:   "join HPAA's raw pieces to tensors",
		Long: `import decodes the pieces of tensors in DIR/dump_data, joins the pieces of each
output, and writes the output as an .npy array to DIR/npu and logs to
DIR/result, as HPAA's run_npu_data_analysis.py does. DIR is $DUMP_MEMORY_PATH by
default.

The raw format is not public, so you describe the pieces in one of two ways:

--pieces FILE has a JSON object for each piece, or is a CSV table with the same
columns. file and node are required. The others are output, piece (position
along the axis), round, dtype, shape, encoding, skip (bytes of header), axis,
model_shape (crops padding) and time.

--piece-pattern PATTERN is a template of the paths below dump_data, such as
{node}@{output}.{piece:hex}.dat; it may also contain {round}, {card}, {dtype},
{shape}, {axis}, {time}, {n} and {*}. The pattern successor is experimental: it
is inferred from the only published names of such files.

A property that the description lacks comes from --dtype, --shape, --encoding or
--skip, or from the reference run of --like.

Encodings: bin; hex (two digits for each byte, in memory order); hex0x (hex with
0x); words16, words32, words64 (numbers, most significant digit first); npy;
auto (the only encoding that fits the size and the beginning of the file).

Nothing is deleted. The outputs of a node with a broken piece are not written.
Every piece is in exactly one place: an array, a line of a log, or the list of
other files in the messages and in --json.`,
		Example: `  dumptool hpaa import --pieces pieces.jsonl
  dumptool hpaa import /data/test_1 --piece-pattern '{node}@{output}.{piece:hex}.dat' --encoding hex --dtype float16 --like /data/test_1/cpu`,
		Args: maxArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("perf-all-nodes") {
				a.infof("--perf-all-nodes is for performance tables: use it with dumptool perf")
			}
			return runHPAAImport(cmd.Context(), a, opts, args)
		},
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	return cmd
}

func (o *hpaaImportOptions) addFlags(cmd *cobra.Command) {
	src, allNodes := &o.source, true // whether the flag is given counts
	encoding := parsedValue(&o.Encoding, hpaa.ParseEncoding)
	encoding.known = toStrings(hpaa.Encodings)
	addFlags(cmd, slices.Concat([]cmdFlag{
		outFlag(&o.Out, "write the arrays to `DIR`; default: npu"),
		o.json.flag("print one JSON object for each tensor, with the fate of its pieces"),
		{"pieces", textValue(&src.Description), "the pieces are described in `FILE`: JSON Lines or CSV", groupChoice, 0},
		{"piece-pattern", parsedValue(&src.Pattern, hpaa.ParsePattern), "`PATTERN` of the paths of the pieces, such as {node}@{output}.{piece:hex}.dat", groupChoice, 0},
		{"npu-dir", textValue(&src.Dir), "folder of the pieces in `DIR`; default: dump_data", groupChoice, 0},
		{"round", importRounds(&o.Rounds), "import `WHICH` of several rounds of one output: all, first, last, or a number", groupChoice, 0},
		{"allow-outside", boolSwitch(&src.AllowOutside), "accept pieces outside of the folder of their description", groupChoice, 0},
		{"ignore-others", boolSwitch(&o.ignoreOthers), "files that do not fit the pattern do not change the exit status", groupCI, 0},
	}, nodeFlags(&o.nameMap, &o.Filter.SkipKeys, &o.Filter.Exclude), []cmdFlag{
		{"nodename-log", textValue(&o.nodeNames), "use the node names of another run, from its dump_memory_nodename.log in `FILE`", groupPairing, 0},
		{"encoding", encoding, "`ENCODING` of pieces whose description has none; default: auto", groupPairing, 0},
		{"skip", integerValue(&o.Skip, 0, math.MaxInt64, "want a number from 0"), "bytes of header of pieces whose description has none", groupPairing, 0},
		{"dtype", elementType(&o.DType), "element `TYPE` of pieces whose description has none, such as float16", groupPairing, 0},
		{"shape", keyedValues(&o.Shapes, pieceShape), "shape of pieces whose description has none: `NODE=SHAPE`, such as conv1=2,3,5; without NODE= of all", groupPairing, 0},
		{"like", textValue(&o.like), "take unknown types and shapes from the run in `PATH`, such as cpu: its shapes divided by the number of pieces", groupPairing, 0},
		{"default-concat-dim", integerValue(&o.Axis, -1, math.MaxInt, "want an axis from 0, or -1 for the first whose length is not 1"), "join pieces whose description has no axis on this `AXIS`; -1: the first whose length is not 1", groupPairing, 0},
		{"result", textValue(&o.result), "write the logs to `DIR`; default: result", groupReports, 0},
		{"node-runtime-filename", textValue(&o.runtime), "write the order of the nodes to `FILE`, if times are known; default: node_runtime.file beside the logs", groupReports, 0},
		{"md5", boolSwitch(&o.Sums), "write md5.csv with the digest of every piece", groupReports, 0},
		{"perf-all-nodes", boolSwitch(&allNodes), "for dumptool perf; here it changes nothing", groupMore, 0},
		jobsFlag(&o.Workers, "`N` nodes joined at a time; default: one per CPU"),
	})...)
	makeExclusive(cmd, "pieces", "piece-pattern")
}

// opPerf is the environment variable that controls HPAA's driver: 1 keeps only performance data, 2
// also tensors.
const opPerf = "DUMP_OP_PERF"

// runHPAAImport joins the pieces of a run.
func runHPAAImport(ctx context.Context, a *app, o *hpaaImportOptions, args []string) error {
	if err := o.findFolders(a, args); err != nil {
		return err
	}
	if err := o.read(ctx); err != nil {
		return err
	}
	found, err := o.source.Find()
	if err != nil {
		return o.notFoundError(a, err)
	}
	if lacking := o.IncompletePieces(found); len(lacking) > 0 {
		return usagef("the shape and the element type of %s are unknown: give them in the description, by --shape and --dtype, or by --like", lang.FirstNames(lacking))
	}
	r, err := withProgress(a, "importing", func(observe func(batch.Event)) (*hpaa.Result, error) {
		o.Observe = observe
		return hpaa.Import(ctx, found, o.Options)
	})
	if err != nil {
		return err
	}
	return o.conclude(a, r)
}

// findFolders finds the folders of the run and checks the description of the pieces.
func (o *hpaaImportOptions) findFolders(a *app, args []string) error {
	src, root := &o.source, a.getenv(memoryPath)
	if root != "" && len(args) == 0 && (!store.IsAbs(root) || utf8.RuneCountInString(root) > 50) {
		a.warnf("%s=%s: the driver of the device takes absolute paths of at most 50 characters only", memoryPath, root)
	}
	switch {
	case len(args) > 1:
		return usagef("unexpected argument %q", args[1])
	case len(args) == 1:
		root = args[0]
	case root != "":
	case src.Description != "":
		root = store.Dir(src.Description)
	case src.Dir != "":
		root = store.Dir(store.Clean(src.Dir))
	default:
		return usagef("no folder given: DIR is needed, or $%s", memoryPath)
	}
	src.Top, src.Dir = root, cmp.Or(src.Dir, store.Join(root, "dump_data"))
	o.Out = cmp.Or(o.Out, store.Join(root, "npu"))
	o.result = cmp.Or(o.result, store.Join(root, "result"))
	o.runtime = cmp.Or(o.runtime, store.Join(o.result, sidefile.RuntimeName))
	src.Skip = []string{o.Out, o.result}
	switch {
	case src.Pattern != nil || src.Description != "":
		return checkExists(root)
	case a.getenv(opPerf) == "1":
		return a.noTensorsError()
	}
	return hintf(usagef("the content of %s is unknown: the raw format is not public", src.Dir),
		"describe the pieces by --pieces FILE or --piece-pattern PATTERN")
}

// noTensorsError returns the error for a run that kept only performance data.
func (a *app) noTensorsError() error {
	return a.conclude(batch.Outcomef(batch.Nothing, opPerf+"=1 keeps no tensors"))
}

// notFoundError returns the error for pieces that cannot be listed.
func (o *hpaaImportOptions) notFoundError(a *app, err error) error {
	var description *hpaa.DescriptionError
	switch {
	case errors.As(err, &description):
		return configError(safefile.WithPath(o.source.Description, err))
	case errors.Is(err, fs.ErrNotExist) && o.source.Description == "" && a.getenv(opPerf) == "1":
		return a.noTensorsError()
	case errors.Is(err, fs.ErrNotExist) && o.source.Description == "":
		return a.conclude(batch.Outcomef(batch.Nothing, "no piece found: %v", err))
	}
	return err
}

// read reads the files that the flags name.
func (o *hpaaImportOptions) read(ctx context.Context) (err error) {
	if o.Filter.Map, err = readNameMap(o.nameMap); err != nil {
		return err
	}
	if o.Names, err = readNodeNames(o.nodeNames); err != nil || o.like == "" {
		return err
	}
	if err := checkExists(o.like); err != nil {
		return err
	}
	o.Reference, err = hpaa.OpenReference(ctx, o.like)
	return err
}

// readNodeNames reads the names of another run; an empty path gives none.
func readNodeNames(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	file, err := safefile.Open(path)
	if err != nil {
		return nil, usagef("--nodename-log: %w", err)
	}
	defer file.Close()
	all, err := sidefile.ReadNames(file)
	if err != nil {
		return nil, usagef("--nodename-log: %w", safefile.WithPath(path, err))
	}
	return all, nil
}

// pieceShape reads the shape of one node, or of all.
func pieceShape(text string) (node string, shape tensor.Shape, err error) {
	i := strings.LastIndexByte(text, '=')
	shape, err = hpaa.ParseShape(text[i+1:])
	return text[:max(i, 0)], shape, err
}

// importRounds chooses the rounds to import.
func importRounds(to *hpaa.Rounds) *value[hpaa.Rounds] {
	return &value[hpaa.Rounds]{to: to, kind: "string", givenText: "last", known: []string{"all", "first", "last"}, read: func(text string) (hpaa.Rounds, error) {
		switch strings.ToLower(text) {
		case "all":
			return hpaa.Rounds{All: true}, nil
		case "first":
			return hpaa.Rounds{First: true}, nil
		case "last", "":
			return hpaa.Rounds{}, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return hpaa.Rounds{}, wantf("want all, first, last or a number from 0")
		}
		return hpaa.Rounds{Number: &n}, nil
	}}
}

// conclude writes the logs, prints the result and ends the import.
func (o *hpaaImportOptions) conclude(a *app, r *hpaa.Result) error {
	a.printMessages(r.Messages())
	var failed []error
	if len(r.Read) > 0 {
		inputs := []string{o.source.Description, o.nodeNames}
		var kept bool
		kept, failed = report.WriteImport(report.NewFolder(o.result, inputs...), r, o.runtime, inputs...)
		if kept && !safefile.IsSameFile(o.nodeNames, store.Join(o.result, sidefile.NodeNamesName)) {
			a.warnf("%s has other names and is left unchanged: the device may have written it", store.Join(o.result, sidefile.NodeNamesName))
		}
	}
	if o.json {
		if err := ignoreClosedPipe(printResult(a, o.json.format(), r, report.Options{})); err != nil {
			return err
		}
	}
	outcome := a.conclude(r.Outcome(o.Out, o.ignoreOthers))
	if len(failed) > 0 {
		a.report(outcome)
		return a.printReportsWritten(lang.Text{EN: "logs"}, o.result, failed)
	}
	return outcome
}
