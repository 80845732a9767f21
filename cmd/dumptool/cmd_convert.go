package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/convert"
	"dumptool/internal/dumpdir"
	"dumptool/internal/find"
	"dumptool/internal/report"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

type convertOptions struct {
	convert.Options
	paths, ops []string
	find       string
	custom     string
	flat       bool
	json       jsonFlag
	abortStale time.Duration
	shards     shardOptions
}

func newConvertCommand(a *app) *cobra.Command {
	opts := &convertOptions{Options: convert.Options{Type: convert.Npy, Out: ".", LayoutOptions: convert.LayoutOptions{ShapeOf: shapeOfGraph}}}
	cmd := &cobra.Command{
		Use:   "convert -d PATH -out DIR",
		Short: "convert device dumps to host files",
		Long: `convert writes every tensor of the dump files at PATH - a file, a list of files
with commas between them, or a folder - as a file in DIR. Without -f, tensors
keep the layout of the device; with -f, they are converted to a host layout such
as NCHW, without padding. Overflow records become JSON.

-t pt writes files that torch.load reads. -t safetensors writes one file for
each dump, DUMP.safetensors, with all of its tensors. There bfloat16 and float8
are kept; .npy and .pt store them as float32.

-t h5 copies operators of an HDF5 file of torch.utils.dumper (all, or the choice
of --ops) to the new file of -out. NAMES of --ops may be Op for all executions,
Op/12 for one execution, or a tensor. -t h5copy prints the commands that do the
same with HDF5's own tool.

Folders are searched with all their subfolders, and the tree appears again in DIR.
Files that are no dumps are counted and left alone. A failure is reported, listed
in DIR/convert_failed_file_list.txt unless PATH is a single file, and does not
stop the rest.

With --shard it converts a part of the files; 'dumptool merge DIR' then writes
the list of failures from the files that the shards left in DIR.`,
		Example: `  dumptool convert -d Conv2D.conv1.58.16.1624605159829577 -out out -f NCHW
  dumptool convert -d dumps -out out -f NCHW -j 8
  dumptool convert -d MatMul.fc.59.16.1624605159829999 -out out -f ND -o 0 -s 2,3,10,20
  dumptool convert -d Weight.w.60.16.1624605159829999 -out out -f NCHW --original-format HWCN
  dumptool convert -d dumps -out out -t txt
  dumptool convert -d dump.h5 -out picked.h5 -t h5 --ops AddmmBackward/4`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConvert(cmd, a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	a.shardable[cmd] = opts
	cmd.AddCommand(newMergeSubcommand(a, mergeConverts))
	return cmd
}

// addFlags adds the flags. Their results are files, not reports.
func (o *convertOptions) addFlags(cmd *cobra.Command) {
	target := layoutName(&o.Target)
	target.known = layoutsByGroup()
	json := o.json.flag("print one JSON object for each input file, with the written files")
	addFlags(cmd, slices.Concat([]cmdFlag{pathFlag(&o.paths, "dump `PATH`: a file, a list of files, or a folder")}, roundFlags(&o.Rounds), []cmdFlag{
		outFlag(&o.Out, "output folder `DIR`"), json,
		opsFlag(&o.ops), findFlag(&o.find), containerFlag(&o.Version),
		{"no-recursive", boolSwitch(&o.flat), "do not search subfolders", groupChoice, 0},
		{"output-tensor|o", tensorNumberValue(&o.Output), "convert output `N` only; for a single file", groupChoice, 0},
		{"input-tensor|i", tensorNumberValue(&o.Input), "convert input `N` only; for a single file", groupChoice, 0},
		{"format|f", target, "target `FORMAT`, such as NCHW or ND", groupPairing, 0},
		{"shape|s", shapeValue(&o.Shape), "host `SHAPE` in the order of the target, such as 1,3,224,224; for a single file", groupPairing, 0},
		{"original-format", axisOrder(&o.Order), "axis `ORDER` of the original shapes, where several would fit", groupPairing, 0},
		{"c0", countValue(&o.C0), "channel block of a device layout to make; default: by element type", groupPairing, 0},
		{"groups", countValue(&o.Groups), "groups of FRACTAL_Z tensors; default: from the file", groupPairing, 0},
		{"hidden-size", countValue(&o.HiddenSize), "hidden size of RNN layouts", groupPairing, 0},
		{"input-size", countValue(&o.InputSize), "input size of RNN layouts", groupPairing, 0},
		{"custom-script-path|c", textValue(&o.custom), "folder `DIR` with converters of your own in DIR/format_convert", groupPairing, 0},
		{"type|t", choice(&o.Type, convert.Types), fillUsage("output `TYPE`: %s", toStrings(convert.Types)), groupPairing, 0},
		{"skip-existing", boolSwitch(&o.SkipExisting), "keep output files that are there already", groupChoice, 0},
		{abortStaleFlag, durationValue(&o.abortStale), "first remove unfinished uploads below -out that are older than `AGE`, such as 24h", groupMore, 0},
		jobsFlag(&o.Workers, "`N` files converted at a time; default: one per CPU and one more"),
	}, o.shards.listFlags())...)
}

func runConvert(cmd *cobra.Command, a *app, opts *convertOptions, args []string) error {
	ctx := cmd.Context()
	paths := convert.SplitPaths(append(opts.paths, args...))
	if opts.abortStale != 0 {
		if err := a.abortStale(opts.Out, opts.abortStale); err != nil || len(paths) == 0 {
			return err
		}
	}
	opt := &opts.Options
	spec, err := opts.resolve(a, paths)
	switch {
	case err != nil:
		return err
	case spec.IsSharded() && opt.Type.Extracts():
		return usagef("-t %s copies from one file: it cannot be used with --shard", opt.Type)
	case opt.Type.Extracts():
		return opts.extract(ctx, a, paths)
	}
	in, err := opts.open(cmd, a, args, spec)
	if err != nil || spec.IsSharded() && opts.shards.isFinished(a, convert.DocumentPath(opt.Out, spec), &opt.Origin, isConverted) {
		return err
	}
	sum, err := withProgress(a, "converting", func(observe func(batch.Event)) (convert.Summary, error) {
		return convert.Run(ctx, *opt, in, observe, func(r *convert.Result) error { return a.printConverted(r, opts.json) })
	})
	switch {
	case err != nil:
		return err
	case spec.IsSharded(): // its document lists failures
		a.printShardWritten(spec, convert.DocumentPath(opt.Out, spec))
		return nil
	}
	return a.conclude(sum.Outcome(convert.InputsOf(in), opt.Out))
}

// resolve checks the flags for the given paths, and reads the files that they name.
func (o *convertOptions) resolve(a *app, paths []string) (spec shard.Spec, err error) {
	if err := o.check(paths); err != nil {
		return spec, err
	}
	if o.Ops, err = readOps(o.ops); err != nil {
		return spec, err
	}
	return o.shards.resolve(a, o.Out)
}

// open lists the files, and sets the origin of the document.
func (o *convertOptions) open(cmd *cobra.Command, a *app, args []string, spec shard.Spec) (in *dumpdir.Run, err error) {
	ctx, paths := cmd.Context(), convert.SplitPaths(append(o.paths, args...))
	if o.Only, err = a.findDumps(ctx, o.find, find.Options{Paths: paths, Rounds: o.Rounds, Workers: o.Workers}); err != nil {
		return nil, err
	}
	in, warnings, err := o.Open(ctx, paths, o.flat)
	if err != nil {
		return nil, err
	}
	warn(a, warnings)
	o.Origin = o.shards.newOrigin(cmd, args, spec, in.Listing())
	return in, nil
}

// makeOrigin implements shardable.
func (o *convertOptions) makeOrigin(cmd *cobra.Command, a *app, args []string) (shard.Origin, error) {
	spec, err := o.resolve(a, convert.SplitPaths(append(o.paths, args...)))
	if err == nil {
		_, err = o.open(cmd, a, args, spec)
	}
	return o.Origin, err
}

// isConverted reports whether the document of a shard has no failures.
func isConverted(d *shard.Document) bool {
	var done convert.Document
	return d.Decode(&done) == nil && done.Summary.Failed == 0
}

// printConverted prints the messages about a file, and its result as JSON if asked for.
func (a *app) printConverted(r *convert.Result, json jsonFlag) error {
	a.printMessages(r.Messages())
	if !bool(json) || r.NotDump {
		return nil
	}
	return ignoreClosedPipe(printResult(a, json.format(), r, report.Options{}))
}

// check checks the flags against each other.
func (o *convertOptions) check(paths []string) (err error) {
	switch {
	case len(paths) == 0:
		return usagef("no dump given: -d PATH is needed")
	case o.Input != nil && o.Output != nil:
		return usagef("-i and -o exclude each other")
	case o.Target == nil && (o.Input != nil || o.Output != nil || o.Shape != nil || o.custom != ""):
		return usagef("-o, -i, -s and -c need a target format (-f)")
	case o.custom == "":
		return nil
	case o.Type == convert.Safetensors:
		return usagef("-c converts each tensor into a file: it cannot be used with -t safetensors")
	}
	if o.Custom, err = convert.NewCustom(o.custom); err != nil {
		return usagef("-c: %v", err)
	}
	return nil
}

// shapeValue reads a shape such as 2,3,4; empty means none.
func shapeValue(to *tensor.Shape) *value[tensor.Shape] {
	return parsedValue(to, func(text string) (tensor.Shape, error) {
		text = strings.ReplaceAll(text, " ", "")
		if !numbersForm().MatchString(text) {
			return nil, wantf("want numbers with commas between them, such as 1,3,224,224")
		}
		var shape tensor.Shape
		for part := range strings.SplitSeq(text, ",") {
			d, err := strconv.ParseInt(part, 10, 64)
			if err != nil || d <= 0 {
				return nil, wantf("%s is no dimension, want at least 1", part)
			}
			shape = append(shape, d)
		}
		return shape, nil
	})
}

// tensorNumberValue reads the number of a tensor; empty means nil.
func tensorNumberValue(to **int) *value[*int] {
	return parsedValue(to, func(text string) (*int, error) {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, wantf("want the number of a tensor, from 0")
		}
		return new(int(n)), nil
	})
}

// extract copies operators out of an HDF5 file.
func (o *convertOptions) extract(ctx context.Context, a *app, paths []string) error {
	x := convert.Extraction{Out: o.Out, Ops: o.Ops}
	switch {
	case len(paths) != 1:
		return usagef("-t %s is for one HDF5 file, there are %d paths", o.Type, len(paths))
	case o.Target != nil || o.SkipExisting || bool(o.json) || o.find != "":
		return usagef("-t %s copies the stored data of one file: it cannot be used with -f, --skip-existing, --json or --find", o.Type)
	}
	x.In = paths[0]
	var err error
	if o.Type == convert.H5Copy {
		if x.Out == "." {
			x.Out = "output.h5"
		}
		err = a.printCommands(&x)
	} else {
		err = a.writeExtract(ctx, &x)
	}
	if errors.Is(err, convert.ErrNotHDF5) {
		return usagef("-t %s is for HDF5 files: %s is not one", o.Type, x.In)
	}
	return err
}

// writeExtract writes the operators to a new file.
func (a *app) writeExtract(ctx context.Context, x *convert.Extraction) error {
	if x.Out == "." {
		return usagef("-t %s needs the name of the new file: -out FILE", convert.H5)
	}
	if _, err := store.Lstat(x.Out); err == nil {
		return usagef("-out %s exists already: -t %s wants the name of a new file", x.Out, convert.H5)
	}
	done, err := x.Write(ctx)
	if err != nil {
		return err
	}
	return a.conclude(x.Outcome(done))
}

// printCommands prints shell commands that write the operators to a new file.
func (a *app) printCommands(x *convert.Extraction) error {
	commands, left, err := x.Commands()
	if err != nil {
		return err
	}
	for _, c := range commands {
		if _, err := fmt.Fprintln(a.out, c); err != nil {
			return ignoreClosedPipe(err)
		}
	}
	return a.conclude(x.CommandOutcome(commands, left))
}

// shapeOfGraph returns the shape of a tensor on the host by the graphs that MindSpore saved beside the dumps, and the
// file of the graph; nil if they do not have it.
func shapeOfGraph(ctx context.Context, file string, t *tensorfile.Tensor) (shape tensor.Shape, graph string) {
	path, err := store.Abs(file)
	if err != nil || store.IsRemote(file) {
		return nil, ""
	}
	root := store.Dir(path)
	for !dumpdir.HasGraphs(root) {
		if root == store.Dir(root) {
			return nil, ""
		}
		root = store.Dir(root)
	}
	query, err := find.ParseQuery(path, find.File)
	if err != nil {
		return nil, ""
	}
	answer, err := find.Run(ctx, query, find.Options{Paths: []string{root}, NoFiles: true, Workers: 1})
	if err != nil || len(answer.Results) != 1 {
		return nil, ""
	}
	op, ok := answer.Results[0].(*find.Operator)
	switch {
	case !ok || op.IR == "":
		return nil, ""
	case t.Kind == tensor.Input && t.Index < len(op.Inputs):
		shape = op.Inputs[t.Index].Host
	case t.Kind == tensor.Output && t.Index < len(op.Outputs):
		shape = op.Outputs[t.Index].Host
	}
	if slices.Contains(shape, -1) {
		return nil, ""
	}
	return shape, string(op.IR)
}
