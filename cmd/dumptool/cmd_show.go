package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/lang"
	"dumptool/internal/report"
	"dumptool/internal/safefile"
	"dumptool/internal/show"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

type showOptions struct {
	show.Options
	format string
}

func newShowCommand(a *app) *cobra.Command {
	opts := &showOptions{Options: show.Options{Window: [2]int64{8, 8}, Limits: metrics.Limits{Atol: 0.005, Rtol: 0.2}}}
	cmd := &cobra.Command{
		Use:   "show FILE[:output:K]",
		Short: "show values of a tensor in the terminal",
		Long: `show prints a window of a tensor's values, rows and columns with their indices:
the last two axes at the place of --at; all other axes are fixed at this place. A
tensor in a device layout is shown in its original layout, or in the layout of
-f; --raw shows it as it is stored. FILE:NAME is one tensor of a file with named
tensors.

With --cpu the values of a reference follow below, and both are shown in the axis
order of the reference. * marks elements beyond the limits, ! elements that are
NaN or infinite on one side only. Without --at the window is around the worst
element, or without --cpu at the first one.`,
		Example: `  dumptool show Conv2D.conv1.58.16.1624605159829577 --at 0,3,4,4
  dumptool show Conv2D.conv1.58.16.1624605159829577:output:0 --cpu golden/conv1.npy
  dumptool show weights.npz:fc.weight --window 4x16 --format json`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no tensor given: FILE is needed")
			}
			return runShow(cmd.Context(), a, opts, args[0])
		},
	}
	cmd.Long += exitStatus(exitInterrupted)
	target := layoutName(&opts.Target)
	addFlags(cmd,
		cmdFlag{"cpu|g|cpu-dir|golden", textValue(&opts.Reference), "`PATH` of the reference's file, with :output:K where it has several tensors, or of its run", groupChoice, 0},
		cmdFlag{"at", indexValue(&opts.At), "the place `I,J,...`; default: the worst one, else the first", groupChoice, 0},
		cmdFlag{"window", windowValue(&opts.Window), "at most `HxW` rows and columns", groupReports, 0},
		cmdFlag{"target-format|f", target, "target `FORMAT`, such as NCHW or ND; default: the original one", groupPairing, 0},
		cmdFlag{"raw", boolSwitch(&opts.Raw), "the elements as they are stored, in the layout of the device", groupPairing, 0},
		cmdFlag{"atol", decimalValue(&opts.Limits.Atol, isValidLimit, "want a finite number from 0"), "absolute limit `A` of marked elements", groupVerdict, 0},
		cmdFlag{"rtol", decimalValue(&opts.Limits.Rtol, isValidLimit, "want a finite number from 0"), "relative limit `R` of marked elements", groupVerdict, 0})
	formatFlag[*show.Window](cmd, &opts.format)
	return cmd
}

func isValidLimit(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// indexValue reads the index of an element on each axis.
func indexValue(to *[]int64) *value[[]int64] {
	return &value[[]int64]{to: to, kind: "string", read: func(text string) ([]int64, error) {
		all := []int64{}
		if text = strings.Trim(text, "()[] "); text == "" {
			return all, nil
		}
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
			if err != nil || n < 0 {
				return nil, wantf("want indices from 0 with commas between them, such as 0,3,4,4")
			}
			all = append(all, n)
		}
		return all, nil
	}}
}

// maxWindow limits the rows and columns shown.
const maxWindow = 1024

// windowValue reads the number of rows and columns shown.
func windowValue(to *[2]int64) *value[[2]int64] {
	return &value[[2]int64]{to: to, kind: "string",
		show: func(w [2]int64) string { return fmt.Sprintf("%dx%d", w[0], w[1]) },
		read: func(text string) (w [2]int64, err error) {
			rows, columns, ok := strings.Cut(strings.ToLower(text), "x")
			for i, part := range []string{rows, columns} {
				n, err := strconv.ParseInt(part, 10, 64)
				if ok = ok && err == nil && n > 0 && n <= maxWindow; ok {
					w[i] = n
				}
			}
			if !ok {
				return w, wantf("want rows x columns from 1 to %d, such as 8x8", maxWindow)
			}
			return w, nil
		}}
}

// runShow shows a window of a tensor.
func runShow(ctx context.Context, a *app, opts *showOptions, name string) error {
	opts.Tensor = name
	switch {
	case opts.Raw && opts.Target != nil:
		return usagef("--raw shows the stored layout: it cannot be used with -f")
	case opts.Reference != "" && (opts.Raw || opts.Target != nil):
		return usagef("--cpu sets the axis order: it cannot be used with -f or --raw")
	}
	var err error
	if info, failed := store.Stat(opts.Reference); opts.Reference != "" && failed == nil && info.IsDir() {
		if opts.Reference, err = findPartner(ctx, name, opts.Reference); err != nil {
			return err
		}
	}
	w, err := show.Read(ctx, opts.Options)
	if wrong, ok := errors.AsType[*show.PlaceError](err); ok {
		return usagef("--at: %w", wrong)
	}
	if err != nil {
		return err
	}
	return printResult(a, opts.format, w, report.Options{})
}

// findPartner returns the tensor of a run with which compare pairs a tensor, as show takes it: in the folder of the run
// that has the place of the tensor's folder, else in the whole run.
func findPartner(ctx context.Context, name, run string) (string, error) {
	path, of, err := tensorfile.Split(name)
	if err != nil {
		return "", err
	}
	if path, err = store.Abs(path); err != nil { // rank and step are in the folders above
		return "", err
	}
	for _, folder := range []string{findEqualFolder(run, store.Dir(path)), run} {
		if partner, err := findPartnerIn(ctx, folder, path, of); partner != "" || err != nil && folder == run {
			return partner, err
		}
	}
	return "", lang.Errorf("%s has no tensor with the name of %s, or several: give its file to --cpu", run, name)
}

// findEqualFolder returns the folder of a run whose path below the run is the longest end of the path of another folder,
// and the run if there is none.
func findEqualFolder(run, folder string) string {
	found, below := run, ""
	for dir := folder; store.Dir(dir) != dir; dir = store.Dir(dir) {
		below = store.Join(store.Base(dir), below)
		place := store.Join(run, below)
		if info, err := store.Stat(place); err == nil && info.IsDir() && !safefile.IsSameFile(place, folder) {
			found = place
		}
	}
	return found
}

// findPartnerIn returns the partner of a tensor in a folder, empty for none. Without a selector it is the first output's,
// else the first input's, as show chooses.
func findPartnerIn(ctx context.Context, folder, path string, of tensorfile.Selector) (partner string, err error) {
	p, err := plan.New(ctx, plan.Options{Ref: folder, NPU: path, Pair: plan.PairOptions{Inputs: of.Kind == tensor.Input}})
	if err != nil {
		return "", err
	}
	defer p.ClosePools()
	for i := range p.Pairs {
		ref, npu := p.Pairs[i].Ref, p.Pairs[i].NPU
		if ref == nil || npu == nil || !of.IsZero() && of != selectorOf(npu) || partner != "" && npu.Kind != tensor.Output {
			continue
		}
		if partner = ref.Path; !ref.Single {
			partner = fmt.Sprintf("%s:%v", ref.Path, selectorOf(ref))
		}
		if npu.Kind == tensor.Output {
			break
		}
	}
	return partner, nil
}

// selectorOf returns what selects a tensor in its file.
func selectorOf(t *plan.Tensor) tensorfile.Selector {
	if t.Member != "" {
		return tensorfile.Selector{Name: t.Member}
	}
	return tensorfile.Selector{Kind: t.Kind, Index: t.Index}
}
