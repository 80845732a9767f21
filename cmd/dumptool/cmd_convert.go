package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/convert"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

type convertOptions struct {
	paths          []string
	out            string
	format         string
	shape          string
	input, output  string
	outType        string
	version        int
	custom         string
	workers        int
	noRecursive    bool
	skipExisting   bool
	originalFormat string
	c0, groups     int64
	hidden, inSize int64
	json           bool
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

A folder is walked with all its folders and its tree appears again in DIR. Files
that are no dumps are counted and left alone. What fails is reported, listed in
DIR/convert_failed_file_list.txt unless PATH is a single file, and does not stop
the rest.`,
		Example: `  dumptool convert -d Conv2D.conv1.58.16.1624605159829577 -out out -f NCHW
  dumptool convert -d dumps -out out -f NCHW -j 8
  dumptool convert -d MatMul.fc.59.16.1624605159829999 -out out -f ND -o 0 -s 2,3,10,20
  dumptool convert -d Weight.w.60.16.1624605159829999 -out out -f NCHW --original-format HWCN
  dumptool convert -d dumps -out out -t txt`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConvert(cmd.Context(), a, opts, args) },
	}
	cmd.Long += exitStatus(exitNothing, exitInterrupted)
	opts.addFlags(cmd.Flags())
	completeValues(cmd, "format", tensor.FormatNames())
	completeValues(cmd, "original-format", []string{"NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN", "DHWNC"})
	completeValues(cmd, "type", typeNames())
	return cmd
}

func (o *convertOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.paths, "dump-file", "d", nil, "dump `PATH`: a file, a list of files, or a folder")
	flags.StringVar(&o.out, "out", ".", "output folder `DIR`")
	alias(flags, "out", "output")
	flags.StringVarP(&o.format, "format", "f", "", "target `FORMAT`, such as NCHW or ND")
	flags.StringVarP(&o.shape, "shape", "s", "", "host `SHAPE` in the order of the target, such as 1,3,224,224; for a single file")
	flags.StringVarP(&o.output, "output-tensor", "o", "", "convert output `N` only; for a single file")
	flags.StringVarP(&o.input, "input-tensor", "i", "", "convert input `N` only; for a single file")
	flags.StringVarP(&o.outType, "type", "t", string(convert.Npy), "output `TYPE`: "+strings.Join(typeNames(), ", "))
	flags.IntVarP(&o.version, "version", "v", 0, "dump container `1|2`: protobuf or binary; default: as the file tells")
	flags.StringVarP(&o.custom, "custom-script-path", "c", "", "folder `DIR` with converters of your own in DIR/format_convert")
	flags.IntVarP(&o.workers, "jobs", "j", 0, "files converted at a time; default: one per CPU")
	flags.BoolVar(&o.noRecursive, "no-recursive", false, "do not look into the folders of a folder")
	flags.BoolVar(&o.skipExisting, "skip-existing", false, "keep output files that are there already")
	flags.StringVar(&o.originalFormat, "original-format", "", "axis `ORDER` of the original shapes, where several would fit")
	flags.Int64Var(&o.c0, "c0", 0, "channel block of a device layout to make; default: by element type")
	flags.Int64Var(&o.groups, "groups", 0, "groups of FRACTAL_Z tensors; default: as the file tells")
	flags.Int64Var(&o.hidden, "hidden-size", 0, "hidden size of RNN layouts")
	flags.Int64Var(&o.inSize, "input-size", 0, "input size of RNN layouts")
	flags.BoolVar(&o.json, "json", false, "print one JSON object a file with what was written")
}

func typeNames() []string {
	var names []string
	for _, t := range convert.Types {
		names = append(names, string(t))
	}
	return names
}

// completeValues lets the shell complete a flag with one of values.
func completeValues(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err)
	}
}

func runConvert(ctx context.Context, a *app, opts *convertOptions, args []string) error {
	paths := splitPaths(append(opts.paths, args...))
	if len(paths) == 0 {
		return usagef("no dump given: -d PATH is needed")
	}
	copt, err := opts.resolve()
	if err != nil {
		return err
	}
	in := tensorfile.Find(paths, tensorfile.FindOptions{NoRecursive: opts.noRecursive, Skip: copt.Out})
	for _, w := range in.Warnings {
		a.msg.Warnf("%s", w)
	}
	if !in.Alone() && (opts.input != "" || opts.output != "" || opts.shape != "") {
		a.msg.Warnf("-o, -i and -s are for a single file: not used")
		copt.Input, copt.Output, copt.Shape = nil, nil, nil
	}
	if opts.custom != "" {
		if copt.Custom, err = convert.NewCustom(opts.custom); err != nil {
			return usagef("-c: %v", err)
		}
		defer copt.Custom.Close()
		for _, w := range copt.Custom.Warnings() {
			a.msg.Warnf("%s", w)
		}
	}
	progress := a.msg.Progress("converting")
	defer progress.Close()
	var broken error
	sum, err := convert.Run(ctx, copt, in, progress.Observe, func(r convert.Result) {
		a.printConverted(&r)
		if opts.json && !r.NotDump && broken == nil {
			broken = json.NewEncoder(a.out).Encode(convertedJSON(&r))
		}
	})
	progress.Close()
	if broken != nil {
		return broken
	}
	return a.concludeConvert(copt, sum, err)
}

// splitPaths takes lists of paths with commas apart; a path that exists as it
// stands is one path.
func splitPaths(values []string) []string {
	var paths []string
	for _, v := range values {
		if _, err := os.Stat(v); err == nil || !strings.Contains(v, ",") {
			paths = append(paths, v)
			continue
		}
		for _, p := range strings.Split(v, ",") {
			if p != "" {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// resolve checks the options and turns them into those of a conversion.
func (o *convertOptions) resolve() (convert.Options, error) {
	c := convert.Options{
		Out: o.out, Version: o.version, C0: o.c0, Groups: o.groups, HiddenSize: o.hidden, InputSize: o.inSize,
		SkipExisting: o.skipExisting, Workers: o.workers, Type: convert.Type(strings.ToLower(o.outType)),
	}
	var err error
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
	case o.version < 0 || o.version > 2:
		return c, usagef("-v %d: want 1 or 2", o.version)
	case o.workers < 0:
		return c, usagef("-j %d: want at least 1, or 0 for one per CPU", o.workers)
	case o.c0 < 0 || o.groups < 0 || o.hidden < 0 || o.inSize < 0:
		return c, usagef("--c0, --groups, --hidden-size and --input-size must not be negative")
	}
	for _, t := range convert.Types {
		if c.Type == t {
			return c, nil
		}
	}
	return c, usagef("-t %s: want one of %s", o.outType, strings.Join(typeNames(), ", "))
}

// parseFormat reads a format name; an empty one is none.
func parseFormat(flag, name string) (*tensor.Format, error) {
	if name == "" {
		return nil, nil
	}
	f, ok := tensor.ParseFormat(name)
	if !ok {
		return nil, usagef("%s %s: no such format, want one such as NCHW, NHWC, HWCN, NCDHW, ND, NC1HWC0, FRACTAL_Z or FRACTAL_NZ", flag, name)
	}
	return &f, nil
}

var shapeForm = regexp.MustCompile(`^[0-9]+(,[0-9]+)*$`)

// parseShape reads a shape such as 2,3,4; an empty one is none.
func parseShape(text string) (tensor.Shape, error) {
	if text == "" {
		return nil, nil
	}
	text = strings.ReplaceAll(text, " ", "")
	if !shapeForm.MatchString(text) {
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

// printConverted reports what is to be said about one file.
func (a *app) printConverted(r *convert.Result) {
	if r.NotDump {
		a.msg.Log().Debug("not a dump", "file", r.Job.Path)
		return
	}
	for _, w := range r.Warnings {
		a.msg.Warnf("%s: %s", r.Job.Path, w)
	}
	if r.Err != nil && !errors.Is(r.Err, context.Canceled) {
		a.msg.Errorf("%s", withPath(r.Job.Path, r.Err))
	}
	for _, row := range r.Rows {
		for _, w := range row.Warnings {
			a.msg.Warnf("%s: %s %d: %s", r.Job.Path, row.Kind, row.Index, w)
		}
		if row.Err != nil && !errors.Is(row.Err, context.Canceled) {
			a.msg.Errorf("%s: %s %d: %v", r.Job.Path, row.Kind, row.Index, row.Err)
		}
	}
}

// withPath puts a path in front of an error that does not name it already, as
// those of the system do.
func withPath(path string, err error) string {
	var system *fs.PathError
	if errors.As(err, &system) && system.Path == path {
		return err.Error()
	}
	return fmt.Sprintf("%s: %v", path, err)
}

// concludeConvert prints the summary and returns the error of the run.
func (a *app) concludeConvert(opt convert.Options, sum convert.Summary, err error) error {
	if sum.Written > 0 || sum.Skipped > 0 {
		text := fmt.Sprintf("%s written to %s from %s", counted(sum.Written, "file"), opt.Out, counted(sum.Files+sum.Failed, "dump"))
		if sum.Skipped > 0 {
			text += fmt.Sprintf(", %d kept", sum.Skipped)
		}
		if sum.NotDumps > 0 {
			text += fmt.Sprintf(", %s left alone", counted(sum.NotDumps, "other file"))
		}
		a.msg.Infof("%s", text)
	}
	switch {
	case err != nil:
		return err
	case sum.Failed > 0 && sum.Failed+sum.Files == 1:
		return reported(incompletef("the dump was not converted completely"))
	case sum.Failed > 0:
		return incompletef("%d of %d dumps were not converted completely", sum.Failed, sum.Failed+sum.Files)
	case sum.Files == 0:
		return nothingf("no dump found among %s", counted(sum.NotDumps, "file"))
	}
	return nil
}

// counted prints a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// convertedFile is the JSON form of a converted file.
type convertedFile struct {
	File     string            `json:"file"`
	Outputs  []convertedOutput `json:"outputs"`
	Warnings []string          `json:"warnings,omitempty"`
	Error    string            `json:"error,omitempty"`
}

type convertedOutput struct {
	Kind     string   `json:"kind"`
	Index    int      `json:"index"`
	Path     string   `json:"path,omitempty"`
	Skipped  bool     `json:"skipped,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`
}

func convertedJSON(r *convert.Result) convertedFile {
	f := convertedFile{File: r.Job.Path, Outputs: []convertedOutput{}, Warnings: r.Warnings}
	if r.Err != nil {
		f.Error = r.Err.Error()
	}
	for _, row := range r.Rows {
		o := convertedOutput{Kind: row.Kind, Index: row.Index, Path: row.Path, Skipped: row.Skipped, Warnings: row.Warnings}
		if row.Err != nil {
			o.Path, o.Error = "", row.Err.Error()
		}
		f.Outputs = append(f.Outputs, o)
	}
	return f
}
