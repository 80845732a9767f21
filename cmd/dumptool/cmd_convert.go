package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dumptool/internal/batch"
	"dumptool/internal/convert"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/shard"
	"dumptool/internal/tensor"
)

type convertOptions struct {
	dumps          dumpFlags
	out            string
	format         string
	shape          string
	input, output  string
	outType        string
	custom         string
	noRecursive    bool
	skipExisting   bool
	originalFormat string
	c0, groups     int64
	hidden, inSize int64
	json           jsonFlag
	abortStale     time.Duration
	shard          shardFlag
}

func newConvertCommand(a *app) *cobra.Command {
	opts := new(convertOptions)
	cmd := &cobra.Command{
		Use:   "convert -d PATH -out DIR",
		Short: "convert device dumps to host files",
		Long: `convert writes every tensor of the dump files at PATH - a file, a list of files
with commas between them, or a folder - as a file in DIR. Without -f tensors
keep the layout of the device; with -f they are brought into a host layout such
as NCHW, without padding. Overflow records become JSON.

-t pt writes files that torch.load reads. -t safetensors writes one file for each
dump, DUMP.safetensors, with all of its tensors; bfloat16 and float8 stay what they
are in it, where .npy and .pt have float32.

-t h5 copies operators of an HDF5 file of torch.utils.dumper, those of --ops or all,
to the new file that -out names. NAMES of --ops may be Op for all that it did, Op/12
for one execution, or a tensor. -t h5copy prints the commands that do the same with
HDF5's own tool.

A folder is walked with all its folders and its tree appears again in DIR. Files
that are no dumps are counted and left alone. What fails is reported, listed in
DIR/convert_failed_file_list.txt unless PATH is a single file, and does not stop
the rest.

With --shard it converts a part of the files; 'convert merge DIR' then writes that list
from what the shards left in DIR.`,
		Example: `  dumptool convert -d Conv2D.conv1.58.16.1624605159829577 -out out -f NCHW
  dumptool convert -d dumps -out out -f NCHW -j 8
  dumptool convert -d MatMul.fc.59.16.1624605159829999 -out out -f ND -o 0 -s 2,3,10,20
  dumptool convert -d Weight.w.60.16.1624605159829999 -out out -f NCHW --original-format HWCN
  dumptool convert -d dumps -out out -t txt
  dumptool convert -d dump.h5 -out picked.h5 -t h5 --ops AddmmBackward/4`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConvert(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd)
	cmd.AddCommand(newConvertMergeCommand(a))
	completeValues(cmd, "format", tensor.FormatNames())
	completeValues(cmd, "original-format", axisOrders)
	completeValues(cmd, "type", names(convert.Types))
	return cmd
}

func (o *convertOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.dumps.add(cmd, pathFlag("dump `PATH`: a file, a list of files, or a folder"),
		jobsFlag("files converted at a time; default: one per CPU and one more"), containerFlag, roundsFlag, opsFlag, findFlag)
	alias(flags, "dump-path", "dump-file")
	outFlag(flags, &o.out, ".", "output folder `DIR`")
	flags.StringVarP(&o.format, "format", "f", "", "target `FORMAT`, such as NCHW or ND")
	flags.StringVarP(&o.shape, "shape", "s", "", "host `SHAPE` in the order of the target, such as 1,3,224,224; for a single file")
	flags.StringVarP(&o.output, "output-tensor", "o", "", "convert output `N` only; for a single file")
	flags.StringVarP(&o.input, "input-tensor", "i", "", "convert input `N` only; for a single file")
	flags.StringVarP(&o.outType, "type", "t", string(convert.Npy), "output `TYPE`: "+strings.Join(names(convert.Types), ", "))
	flags.StringVarP(&o.custom, "custom-script-path", "c", "", "folder `DIR` with converters of your own in DIR/format_convert")
	flags.BoolVar(&o.noRecursive, "no-recursive", false, "do not look into the folders of a folder")
	flags.BoolVar(&o.skipExisting, "skip-existing", false, "keep output files that are there already")
	flags.StringVar(&o.originalFormat, "original-format", "", "axis `ORDER` of the original shapes, where several would fit")
	flags.Int64Var(&o.c0, "c0", 0, "channel block of a device layout to make; default: by element type")
	flags.Int64Var(&o.groups, "groups", 0, "groups of FRACTAL_Z tensors; default: as the file says")
	flags.Int64Var(&o.hidden, "hidden-size", 0, "hidden size of RNN layouts")
	flags.Int64Var(&o.inSize, "input-size", 0, "input size of RNN layouts")
	harmless(flags, "format", "shape", "output-tensor", "input-tensor", "type", "no-recursive", "original-format", "c0", "groups", "hidden-size", "input-size")
	o.json.add(flags, "print one JSON object a file with what was written")
	o.shard.add(flags)
	flags.DurationVar(&o.abortStale, abortStaleFlag, 0, "first remove what uploads below -out that are `AGE` old, such as 24h, have left behind")
}

func runConvert(ctx context.Context, a *app, opts *convertOptions, args []string) error {
	paths := convert.SplitPaths(append(opts.dumps.paths, args...))
	if opts.abortStale != 0 {
		if err := a.abortStale(opts.out, opts.abortStale); err != nil || len(paths) == 0 {
			return err
		}
	}
	opt, err := opts.resolve(paths)
	if err != nil {
		return err
	}
	spec, err := opts.shard.spec(a)
	switch {
	case err != nil:
		return err
	case spec.On() && opt.Type.Extracts():
		return usagef("-t %s copies from one file: not with --shard", opt.Type)
	case opt.Type.Extracts():
		return opts.extract(ctx, a, &opt, paths)
	}
	if opt.Only, err = opts.dumps.found(ctx, a, paths); err != nil {
		return err
	}
	in, warnings, err := opt.Open(ctx, paths, opts.noRecursive)
	if err != nil {
		return err
	}
	warn(a, warnings)
	if spec.On() {
		return opts.runPart(ctx, a, opt, in, spec)
	}
	sum, err := watched(a, "converting", func(observe func(batch.Event)) (convert.Summary, error) {
		return convert.Run(ctx, opt, in, observe, func(r *convert.Result) error { return a.converted(r, opts.json) })
	})
	return cmp.Or(err, a.conclude(sum.Outcome(convert.InputsOf(in), opt.Out)))
}

// runPart converts the files of a shard. What fails is listed in its part.
func (o *convertOptions) runPart(ctx context.Context, a *app, opt convert.Options, in *dumpdir.Run, spec shard.Spec) error {
	path, err := watched(a, "converting", func(observe func(batch.Event)) (string, error) {
		return convert.RunPart(ctx, opt, in, spec, toolName(), observe, func(r *convert.Result) error { return a.converted(r, o.json) })
	})
	if err == nil {
		a.partWritten(spec, path)
	}
	return err
}

// converted says what there is to say about a file, and prints its result as JSON.
func (a *app) converted(r *convert.Result, json jsonFlag) error {
	a.say(r.Messages())
	if !bool(json) || r.NotDump {
		return nil
	}
	return unlessClosed(printResult(a, json.format(), r, report.Options{}))
}

// resolve checks the flags and turns them into options.
func (o *convertOptions) resolve(paths []string) (convert.Options, error) {
	c := convert.Options{
		Out: o.out, Version: o.dumps.version, C0: o.c0, Groups: o.groups, HiddenSize: o.hidden, InputSize: o.inSize,
		SkipExisting: o.skipExisting, Workers: o.dumps.workers,
	}
	if len(paths) == 0 {
		return c, usagef("no dump given: -d PATH is needed")
	}
	err := o.dumps.check()
	if err != nil {
		return c, err
	}
	c.Rounds = o.dumps.selection()
	if c.Ops, err = o.dumps.opSet(); err != nil {
		return c, err
	}
	if c.Target, err = parseFormat("-f", o.format); err != nil {
		return c, err
	}
	if c.Order, err = parseFormat("--original-format", o.originalFormat); err != nil {
		return c, err
	}
	if c.Shape, err = parseShape(o.shape); err != nil {
		return c, err
	}
	if c.Output, err = parseIndex("-o", o.output); err != nil {
		return c, err
	}
	if c.Input, err = parseIndex("-i", o.input); err != nil {
		return c, err
	}
	switch {
	case c.Input != nil && c.Output != nil:
		return c, usagef("-i and -o exclude each other")
	case c.Target == nil && (c.Input != nil || c.Output != nil || c.Shape != nil || o.custom != ""):
		return c, usagef("-o, -i, -s and -c need a target format (-f)")
	case o.c0 < 0 || o.groups < 0 || o.hidden < 0 || o.inSize < 0:
		return c, usagef("--c0, --groups, --hidden-size and --input-size must not be negative")
	}
	if c.Type, err = oneOf("-t", o.outType, convert.Types); err != nil || o.custom == "" {
		return c, err
	}
	if c.Type == convert.Safetensors {
		return c, usagef("-c converts into a file a tensor: not with -t safetensors")
	}
	if c.Custom, err = convert.NewCustom(o.custom); err != nil {
		return c, usagef("-c: %v", err)
	}
	return c, nil
}

// numbersForm is numbers with commas between them.
var numbersForm = lang.Pattern(`^[0-9]+(,[0-9]+)*$`)

// parseShape reads a shape such as 2,3,4; an empty one is none.
func parseShape(text string) (tensor.Shape, error) {
	if text == "" {
		return nil, nil
	}
	text = strings.ReplaceAll(text, " ", "")
	if !numbersForm().MatchString(text) {
		return nil, usagef("-s %s: want numbers with commas between them, such as 1,3,224,224", text)
	}
	var shape tensor.Shape
	for _, part := range strings.Split(text, ",") {
		d, err := strconv.ParseInt(part, 10, 64)
		if err != nil || d <= 0 {
			return nil, usagef("-s %s: %s is no dimension, want at least 1", text, part)
		}
		shape = append(shape, d)
	}
	return shape, nil
}

// parseIndex reads the number of a tensor; an empty one is none.
func parseIndex(flag, text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return nil, usagef("%s %s: want the number of a tensor, from 0", flag, text)
	}
	i := int(n)
	return &i, nil
}
