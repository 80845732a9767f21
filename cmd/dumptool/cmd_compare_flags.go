package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/compare"
	"dumptool/internal/compare/engine"
)

// number is a flag that may be left out: nil then.
type number struct {
	value *float64
	least float64
}

func (n *number) String() string {
	if n.value == nil {
		return ""
	}
	return strconv.FormatFloat(*n.value, 'g', -1, 64)
}

// Set implements the value of a flag.
func (n *number) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < n.least {
		if math.IsInf(n.least, -1) {
			return fmt.Errorf("want a number")
		}
		return fmt.Errorf("want a number from %g", n.least)
	}
	n.value = &v
	return nil
}

// Type implements the value of a flag.
func (n *number) Type() string { return "float" }

// judgeFlags are the flags that decide what is good.
type judgeFlags struct {
	profile, tolMode, nanPolicy string
	atol, rtol, intTol          number
	accum                       float64
	maxErrorRatio               float64
	minCos, maxRED, maxMeanRel  number
	minSQNR, maxULP             number
	opConfig                    string
}

func (o *judgeFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.profile, "profile", string(compare.ProfileHPAA), "`NAME` of a set of limits: hpaa, dtype (by element type), torch, exact")
	flags.Var(&o.atol, "atol", "absolute limit `A`; hpaa: 0.005")
	flags.Var(&o.rtol, "rtol", "limit relative to the reference `R`; hpaa: 0.2")
	flags.StringVar(&o.tolMode, "tol-mode", "isclose", "error `RULE`: isclose (beyond atol + rtol*|cpu|), both-exceeded, either-exceeded")
	flags.StringVar(&o.nanPolicy, "nan-policy", string(compare.NaNStrict), "`POLICY` for NaN and infinities: strict, equal, hpaa (replaced as HPAA does), ignore (left out; a tensor of which nothing is left fails)")
	flags.StringVar(&o.opConfig, "op-config", "", "limits per operator in `FILE` (op_name,atol,rtol)")
	alias(flags, "op-config", "op-config-name")
	flags.Float64Var(&o.maxErrorRatio, "max-error-ratio", 0, "`SHARE` of error elements that still passes")
	o.minCos.least, o.minSQNR.least = -1, math.Inf(-1)
	flags.Var(&o.minCos, "min-cos", "fail below this cosine `C`")
	flags.Var(&o.maxRED, "max-red", "fail above this relative Euclidean distance `D`")
	flags.Var(&o.maxMeanRel, "max-mean-rel", "fail above this mean relative error `E`, and where it is undefined because a reference of zeros differs")
	flags.Var(&o.minSQNR, "min-sqnr", "fail below this signal to noise ratio in `DB`")
	flags.Var(&o.maxULP, "max-ulp", "fail above this distance in `ULPS` of the NPU's type")
	flags.Var(&o.intTol, "int-tol", "limit for pairs of integers `N`")
	flags.Float64Var(&o.accum, "accum", 0, "widen the profile's rtol by sqrt(`K`), K products added up per element")
	completeValues(cmd, "profile", names(compare.Profiles()))
	completeValues(cmd, "nan-policy", names(compare.NaNPolicies()))
	completeValues(cmd, "tol-mode", compare.TolModes())
}

// names turns a list of names of any type into strings.
func names[S ~string](all []S) []string {
	var list []string
	for _, s := range all {
		list = append(list, string(s))
	}
	return list
}

// resolve checks the flags.
func (o *judgeFlags) resolve(opt *compare.JudgeOptions) error {
	profile, err := oneOf("--profile", o.profile, compare.Profiles())
	if err != nil {
		return err
	}
	policy, err := oneOf("--nan-policy", o.nanPolicy, compare.NaNPolicies())
	if err != nil {
		return err
	}
	mode, err := oneOf("--tol-mode", o.tolMode, compare.TolModes())
	if err != nil {
		return err
	}
	opt.Mode = engine.Mode(slices.Index(compare.TolModes(), mode))
	switch {
	case !(o.maxErrorRatio >= 0 && o.maxErrorRatio <= 1):
		return usagef("--max-error-ratio %g: want a share from 0 to 1", o.maxErrorRatio)
	case !(o.accum >= 0) || math.IsInf(o.accum, 0):
		return usagef("--accum %g: want a number from 0", o.accum)
	}
	opt.Limits = compare.LimitOptions{Profile: profile, Atol: o.atol.value, Rtol: o.rtol.value, IntTol: o.intTol.value, Accum: o.accum}
	opt.Verdict = compare.VerdictOptions{NaN: policy, MaxErrorRatio: o.maxErrorRatio, Gates: compare.Gates{
		MinCos: o.minCos.value, MaxRED: o.maxRED.value, MaxMeanRel: o.maxMeanRel.value, MinSQNR: o.minSQNR.value, MaxULP: o.maxULP.value,
	}}
	return nil
}

// oneOf finds a value among those that a flag knows, in any letter case and
// with _ for -.
func oneOf[S ~string](flag, value string, known []S) (S, error) {
	plain := strings.ReplaceAll(strings.ToLower(value), "_", "-")
	for _, k := range known {
		if string(k) == plain {
			return k, nil
		}
	}
	return "", usagef("%s %s: want one of %s", flag, value, strings.Join(names(known), ", "))
}

// pairFlags are the flags about what is compared with what.
type pairFlags struct {
	nameMap           string
	fusion            string
	skipKeys, exclude []string
	ops               []string
	opsFrom           string
	round             string
	inputs            bool
}

func (o *pairFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.nameMap, "map-node-dict", "", "names that differ: `TEXT` such as '{\"cpu_name\":\"npu_name\"}', or @FILE")
	flags.StringVarP(&o.fusion, "fusion", "f", "", "fusion-rule `FILE` (JSON of the offline model)")
	alias(flags, "fusion", "fusion-rule-file")
	flags.StringArrayVar(&o.skipKeys, "skip-keys", nil, "skip operators whose name contains one of `KEYS`, with commas between them")
	flags.StringArrayVar(&o.exclude, "exclude-node-list", nil, "skip operators of these `NAMES`, or re:PATTERN")
	flags.StringVar(&o.round, "round", "all", "of several rounds of one tensor compare `WHICH`: all, first, last, or a number from 0")
	flags.BoolVar(&o.inputs, "inputs", false, "compare the inputs in dumps too; default: if the reference has inputs")
}

// addOps adds the flags that choose operators.
func (o *pairFlags) addOps(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.ops, "ops", nil, "compare operators of these `NAMES` only")
	flags.StringVar(&o.opsFrom, "ops-from", "", "compare operators of the names in `FILE` only, one a line")
}

// shapeFlags are the flags about shapes and axis orders.
type shapeFlags struct {
	force, crop, auto bool
	transpose         []string
	refFormat         string
	originalFormat    string
	maxElements       int64
	strictDType       bool
	refDType          string
	binDType          string
}

func (o *shapeFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.force, "force-compare", false, "compare tensors of one size and different shapes too")
	flags.BoolVar(&o.crop, "crop-padding", false, "compare the common part where the NPU tensor is longer on one axis and zero there")
	flags.BoolVar(&o.auto, "auto-layout", false, "permute the axes where one known permutation gives the reference's shape")
	flags.StringArrayVar(&o.transpose, "transpose", nil, "permute the axes of an NPU tensor: `OP=PERM`, such as conv1=0,3,1,2")
	flags.StringVar(&o.refFormat, "ref-format", "", "axis `ORDER` of the reference, such as NHWC; default: as shapes and dumps tell")
	flags.StringVar(&o.originalFormat, "original-format", "", "axis `ORDER` of the original shapes in dumps, where several would fit")
	flags.Int64Var(&o.maxElements, "max-elems", 0, "compare the first `N` elements only; such tensors cannot pass")
	flags.BoolVar(&o.strictDType, "strict-dtype", false, "different element types are a failure")
	flags.StringVar(&o.refDType, "ref-dtype", "", "element `TYPE` of raw files of the reference whose names tell none; default: that of the NPU tensor")
	flags.StringVar(&o.binDType, "bin-dtype", "", "element `TYPE` of raw files of the NPU whose names tell none; default: that of the reference")
	types := []string{"float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"}
	completeValues(cmd, "ref-dtype", types)
	completeValues(cmd, "bin-dtype", types)
	orders := []string{"NCHW", "NHWC", "HWCN", "CHWN", "NCDHW", "NDHWC", "DHWCN", "DHWNC"}
	completeValues(cmd, "ref-format", orders)
	completeValues(cmd, "original-format", orders)
}

// orderFlags are the flags about the execution order and the graph.
type orderFlags struct {
	order       string
	runtimeFile string
	orderFile   string
	consumers   string
}

// orders are the sources of the execution order.
var orders = []string{"auto", "runtime", "csv", "fusion", "timestamp", "name"}

func (o *orderFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.order, "order", "auto", "`SOURCE` of the execution order: runtime, csv, fusion, timestamp, name, or auto: the first there is")
	flags.StringVar(&o.runtimeFile, "node-runtime-filename", "", "times of operators in `FILE`, as HPAA's node_runtime.file")
	flags.StringVar(&o.orderFile, "order-file", "", "execution order in `FILE`, one operator a line, as MindSpore's ms_execution_order_graph_0.csv")
	completeValues(cmd, "order", orders)
}

// addConsumers adds the flag of the graph, which serves the diagnosis.
func (o *orderFlags) addConsumers(flags *pflag.FlagSet) {
	flags.StringVar(&o.consumers, "consumer-map", "", "inputs of operators in `FILE`, as HPAA's consumer_map_dict.file")
	alias(flags, "consumer-map", "consumer-map-filename")
}

// baselineFlags are the flags about an earlier run and about the exit status.
type baselineFlags struct {
	file      string
	update    bool
	slack     float64
	coverage  string
	failOn    []string
	failFast  bool
	exitZero  bool
	showGraph bool
	maxBins   int
	minBins   int
}

func (o *baselineFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.file, "baseline", "", "failures in `FILE` are known: only new and worse ones fail")
	flags.BoolVar(&o.update, "update-baseline", false, "write what this run found to the file of --baseline")
	flags.Float64Var(&o.slack, "baseline-slack", 1.5, "a known failure may grow by this `FACTOR`")
	flags.StringVar(&o.coverage, "require-coverage", "", "fail unless this `SHARE` of the reference is compared: all, 90%, 0.9, or a number of tensors")
	flags.StringSliceVar(&o.failOn, "fail-on", []string{"fail", "shape", "dtype", "ambiguous"},
		"`STATUSES` that fail: fail, shape, dtype, ambiguous, warn, partial, skip, unmatched-ref, unmatched-npu")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop after the first failure in execution order")
	flags.BoolVar(&o.exitZero, "exit-zero", false, "accuracy failures do not change the exit status")
	flags.BoolVar(&o.showGraph, "show-graph", false, "accepted for old scripts: plots are not drawn")
	flags.IntVar(&o.maxBins, "max-bins", 128, "accepted for old scripts: bins of plots")
	flags.IntVar(&o.minBins, "min-bins", 1, "accepted for old scripts: bins of plots")
	for _, name := range []string{"show-graph", "max-bins", "min-bins"} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
}

// failStatuses are the names of --fail-on.
var failStatuses = map[string]compare.Status{
	"fail": compare.Fail, "shape": compare.ShapeMismatch, "dtype": compare.DTypeMismatch, "ambiguous": compare.Ambiguous,
	"warn": compare.Warn, "partial": compare.Partial, "skip": compare.Skip,
	"unmatched-ref": compare.UnmatchedRef, "unmatched-npu": compare.UnmatchedNPU,
}

// compareOutput are the flags about the reports.
type compareOutput struct {
	out                string
	formats            []string
	extraColumns, bom  bool
	diffCount, topN    int
	diffOrder, version string
	// args are the flags that the user set, for the JSON report.
	args []string
}

// compareFormats are the formats of a comparison's report.
var compareFormats = []string{"text", "csv", "json", "junit", "md", "msaccucmp"}

func (o *compareOutput) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "write the reports to folder `DIR`")
	alias(flags, "out", "output")
	flags.StringSliceVar(&o.formats, "format", nil, "`FORMATS` of the reports: text, csv, json, junit, md, msaccucmp; default: text, with -out csv and json")
	flags.StringVar(&o.version, "hpaa-version", "", "columns of cpu_vs_npu.csv: `successor` adds cos_sim")
	flags.BoolVar(&o.extraColumns, "extra-columns", false, "add columns of our own to cpu_vs_npu.csv")
	flags.BoolVar(&o.bom, "bom", false, "start CSV files with a byte order mark, for Excel")
	flags.IntVar(&o.diffCount, "diff-cnt", 128, "at most `N` error elements in the CSV of an operator")
	flags.StringVar(&o.diffOrder, "diff-order", "index", "`ORDER` of these elements: index or worst")
	flags.IntVar(&o.topN, "topn", 20, "keep the worst `N` elements of bad tensors")
	completeValues(cmd, "format", compareFormats)
	completeValues(cmd, "diff-order", []string{"index", "worst"})
}

// neutralFlags do not change what a report says.
var neutralFlags = []string{"jobs", "out", "format", "quiet", "verbose", "log-format", configFlag}

// given lists the flags that were set, in the order of their names, but for
// those that do not change what a report says.
func given(flags *pflag.FlagSet) []string {
	var list []string
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(neutralFlags, f.Name) {
			list = append(list, "--"+f.Name+"="+f.Value.String())
		}
	})
	return list
}
