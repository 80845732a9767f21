package main

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/standard"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// comparison holds the flags shared by compare and its subcommands.
type comparison struct {
	conclude.Options
	files sidefile.Files
	// paths is another spelling of the arguments.
	paths []string
	// hasHPAASide: a side is HPAA's.
	hasHPAASide bool
	// ops holds the values of --ops; the operators of a file are added.
	ops []string
	// order is the source of the execution order.
	order string
	// graphFiles lists files to recognise by content.
	graphFiles []string
}

// newComparison returns the defaults of all flags.
func newComparison() *comparison {
	o := &comparison{order: "auto"}
	o.Shape.AutoLayout = align.LayoutByValues
	o.Judge.Limits.Profile, o.Judge.Verdict.NaN = limits.ProfileHPAA, limits.NaNStrict
	o.Judge.Verdict.HF32, o.Judge.Verdict.Flow = limits.HF32Auto, limits.FlowAuto
	o.Slack, o.Check, o.Unshard = 1.5, conclude.CheckSuspects, plan.UnshardAuto
	return o
}

func (o *comparison) bothSideFlags() []cmdFlag {
	return slices.Concat([]cmdFlag{
		{"cpu|g|cpu-dir|golden", textValue(&o.Ref), "`PATH` of the reference: a file or a folder", groupChoice, topicMsaccucmp},
		{"npu|m|npu-dir", textValue(&o.NPU), "`PATH` of the NPU data: a file or a folder", groupChoice, topicMsaccucmp},
		morePaths(&o.paths),
	}, sideFlags(&o.RefRounds, &o.NPURounds), []cmdFlag{o.workersFlag(), containerFlag(&o.Version)})
}

// workersFlag is the flag for the number of workers of a comparison.
func (o *comparison) workersFlag() cmdFlag {
	return jobsFlag(&o.Workers, "`N` workers; default: one per CPU, at most 16")
}

func (o *comparison) judgeFlags() []cmdFlag {
	v, l := &o.Judge.Verdict, &o.Judge.Limits
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	finite := func(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
	return []cmdFlag{
		{"verdict", choice(&v.Mode, limits.VerdictModes()), "`RULE` that decides: evidence of a fault, or limits; default: limits if any are given, else evidence", groupVerdict, topicLimits},
		{"profile", profileValue(&l.Profile), "`NAME` of a set of limits; hpaa, dtype (by element type), torch, exact", groupVerdict, topicLimits},
		{"atol", optionalNumber(&l.Atol, 0), "absolute limit `A`; hpaa: 0.005", groupVerdict, topicLimits},
		{"rtol", optionalNumber(&l.Rtol, 0), "limit relative to the reference `R`; hpaa: 0.2", groupVerdict, topicLimits},
		{"gate", gateSpelling(), "fail by `METRICS` of a whole tensor; cosine>=0.99, red<=0.01 (relative Euclidean distance), mean_rel<=0.01 (also undefined because a reference of zeros differs), sqnr>=30 (dB), ulp<=4 (of the NPU's type), with commas between them", groupVerdict, topicLimits},
		{"op-config|op-config-name", textValue(&o.files.OpConfig), "limits per operator in `FILE` (op_name,atol,rtol)", groupVerdict, topicLimits | topicHPAA},
		{"tol-mode", namedValue(&o.Judge.Mode, limits.TolModes(), metrics.IsClose, metrics.BothExceeded, metrics.EitherExceeded), "error `RULE`: isclose (beyond atol + rtol*|cpu|), both-exceeded, either-exceeded", groupVerdict, rareLevel | topicLimits | topicHPAA},
		{"nan-policy", choice(&v.NaN, limits.NaNPolicies()), "`POLICY` for NaN and infinities: strict, equal, hpaa (replaced as HPAA does), ignore (not counted; a tensor with no other elements fails)", groupVerdict, rareLevel | topicLimits | topicHPAA},
		{"max-error-ratio", decimalValue(&v.MaxErrorRatio, share, "want a share from 0 to 1"), "a tensor passes with at most this `SHARE` of error elements", groupVerdict, rareLevel | topicLimits},
		{"min-cos", optionalNumber(&v.Gates.MinCos, -1), "fail below this cosine `C`", groupVerdict, hiddenLevel | topicLimits},
		{"max-red", optionalNumber(&v.Gates.MaxRED, 0), "fail above this relative Euclidean distance `D`", groupVerdict, hiddenLevel | topicLimits},
		{"max-mean-rel", optionalNumber(&v.Gates.MaxMeanRel, 0), "fail above this mean relative error `E`, and where it is undefined because a reference of zeros differs", groupVerdict, hiddenLevel | topicLimits},
		{"min-sqnr", optionalNumber(&v.Gates.MinSQNR, math.Inf(-1)), "fail below this signal to noise ratio in `DB`", groupVerdict, hiddenLevel | topicLimits},
		{"max-ulp", optionalNumber(&v.Gates.MaxULP, 0), "fail above this distance in `ULPS` of the NPU's type", groupVerdict, hiddenLevel | topicLimits},
		{"int-tol", optionalNumber(&l.IntTol, 0), "limit for pairs of integers `N`", groupVerdict, rareLevel | topicLimits},
		{"accum", decimalValue(&l.Accum, finite, "want a number from 0"), "widen the profile's rtol by sqrt(`K`), K products added up per element", groupVerdict, rareLevel | topicLimits},
	}
}

// profileValue reads the name of a set of limits.
func profileValue(to *limits.Profile) *value[limits.Profile] {
	v := choice(to, limits.Profiles())
	byName := v.read
	v.read = func(text string) (limits.Profile, error) {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(text))) {
			return *to, &valueError{err: lang.Errorf(noLimitsFile), isRemoved: true}
		}
		return byName(text)
	}
	return v
}

// gates lists the metrics with a gate, and their flags.
var gates = []struct{ metric, op, flag string }{
	{"cosine", ">=", "min-cos"}, {"red", "<=", "max-red"}, {"mean_rel", "<=", "max-mean-rel"}, {"sqnr", ">=", "min-sqnr"}, {"ulp", "<=", "max-ulp"},
}

// gateForm matches the limit of a metric.
var gateForm = lang.Pattern(`^\s*([a-z_-]+)\s*([<>]=)\s*(\S+)\s*$`)

// gateSpelling is another spelling of the limits of metrics.
func gateSpelling() *spelling {
	flags := func() (names []string) {
		for _, g := range gates {
			names = append(names, g.flag)
		}
		return names
	}
	return &spelling{others: flags, read: func(text string) (names, values []string, err error) {
		for part := range strings.SplitSeq(text, ",") {
			m := gateForm().FindStringSubmatch(strings.ToLower(part))
			found := len(names)
			for _, g := range gates {
				if m != nil && strings.ReplaceAll(m[1], "-", "_") == g.metric && m[2] == g.op {
					names, values = append(names, g.flag), append(values, m[3])
				}
			}
			if len(names) == found {
				return nil, nil, &valueError{element: part, err: lang.Errorf("want a limit such as cosine>=0.99, red<=0.01, mean_rel<=0.01, sqnr>=30 or ulp<=4")}
			}
		}
		return names, values, nil
	}}
}

func (o *comparison) pairFlags() []cmdFlag {
	return append(nodeFlags(&o.files.NameMap, &o.Pair.SkipKeys, &o.Pair.Exclude),
		cmdFlag{"graph-file", textList(&o.graphFiles), "`FILE` with the data flow or the execution order; recognised by its content: an execution order of MindSpore, a map of consumers of HPAA, the graph of an offline model (JSON or ge_proto_*.txt), or a graph of MindSpore or folder of graphs", groupFacts, topicOrder | topicHPAA | topicMsaccucmp},
		cmdFlag{"fusion|f|fusion-rule-file", textValue(&o.files.Fusion), "fusion-rule `FILE`: the graph of the offline model as JSON, or as text (ge_proto_*.txt)", groupFacts, hiddenLevel},
		cmdFlag{"round", roundValue(&o.Pair.Rounds), "compare `WHICH` of several rounds of one tensor: all, first, last, or a number from 0", groupPairing, rareLevel},
		cmdFlag{"unshard", choice(&o.Unshard, plan.Unshards()), "compare tensors of several ranks with their part of a reference of one rank, found by values, `WHEN`: auto where the ranks are sharded, off", groupPairing, rareLevel},
		cmdFlag{"match-rows", textValue(&o.files.Rows), "compare the rows that both sides have, of runs with another batch, padding or token layout, `BY`: auto (equal token ids), off, or a file with lines REF,NPU of row numbers from 0; default: off", groupPairing, rareLevel},
		cmdFlag{"stems", parsedValue(&o.Stems, parseStems), "both sides are in one folder: `A,B` are the beginnings or ends of file names, A for the reference, B for the NPU", groupPairing, rareLevel},
		cmdFlag{"pair", namedValue(&o.Pair.NamesOnly, []string{"rules", "names"}, false, true), "pair tensors by `WHAT`: rules (equal names; what remains, by the spellings of exporters, the names that ATC joins, the places of modules), or names (equal names only)", groupPairing, rareLevel},
		cmdFlag{"fuzzy", boolSwitch(&o.Pair.Fuzzy), "pair msprobe calls without a partner by their order, ignoring their numbers", groupPairing, rareLevel},
		cmdFlag{"mask", textValue(&o.Mask), "tensor `NAME` beside log_probs: its zeros mark padding, which does not count; default: response_mask, if present", groupVerdict, rareLevel},
		cmdFlag{"inputs", boolSwitch(&o.Pair.Inputs), "compare the inputs in dumps too; default: if the reference has inputs", groupPairing, rareLevel})
}

// parseStems reads the stems of both sides.
func parseStems(text string) (stems [2]string, err error) {
	a, b, ok := strings.Cut(text, ",")
	if !ok || a == "" || b == "" || a == b {
		return stems, wantf("want A,B, two different texts, such as ref_,npu_")
	}
	return [2]string{a, b}, nil
}

// stemsFlag chooses the files of the NPU in a folder of both sides.
func stemsFlag(to *dumpdir.Stem) cmdFlag {
	read := func(text string) (dumpdir.Stem, error) {
		stems, err := parseStems(text)
		return dumpdir.Stem{Own: stems[1], Other: stems[0]}, err
	}
	return cmdFlag{"stems", parsedValue(to, read), "for a folder with both sides, like --stems of compare: only files whose names begin or end with B, by `A,B`", groupChoice, rareLevel}
}

// roundValue chooses among several rounds of one tensor.
func roundValue(to *plan.Rounds) *value[plan.Rounds] {
	return &value[plan.Rounds]{to: to, kind: "string", givenText: "all", known: []string{"all", "first", "last"}, read: func(text string) (plan.Rounds, error) {
		switch strings.ToLower(text) {
		case "all", "":
			return plan.Rounds{}, nil
		case "first":
			return plan.Rounds{First: true}, nil
		case "last":
			return plan.Rounds{Last: true}, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return plan.Rounds{}, wantf("want all, first, last or a number from 0")
		}
		return plan.Rounds{Number: &n}, nil
	}}
}

// operatorFlags lists the flags that choose operators or explain missing ones.
func (o *comparison) operatorFlags() []cmdFlag {
	return []cmdFlag{
		opsFlag(&o.ops),
		{"ops-from", textValue(&o.files.Ops), "only operators of the names in `FILE`, one a line", groupChoice, hiddenLevel},
		{"result", textValue(&o.files.Logs), "folder `DIR` with the logs of 'hpaa import', which say why the NPU lacks tensors; default: the folder of the reports", groupFacts, rareLevel | topicHPAA},
	}
}

func (o *comparison) shapeFlags() []cmdFlag {
	s := &o.Shape
	return []cmdFlag{
		{"auto-layout", makeOptional("true", namedValue(&s.AutoLayout, []string{"auto", "true", "false", "off"}, align.LayoutByValues, align.LayoutByShape, align.LayoutOff, align.LayoutOff)),
			"permute the axes of NPU tensors `WHEN`: auto if exactly one permutation makes the values agree, true if one known permutation has the reference's shape, off", groupPairing, rareLevel | topicLayouts},
		{"transpose", keyedValues(&s.Transpose, parsePermutation), "permute the axes of an NPU tensor: `OP=PERM`, such as conv1=0,3,1,2", groupPairing, rareLevel | topicLayouts},
		{"ref-format", axisOrder(&s.RefFormat), "axis `ORDER` of the reference, such as NHWC; default: from shapes and dumps", groupPairing, rareLevel | topicLayouts},
		{"npu-format", axisOrder(&s.NPUFormat, "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ", "NDC1HWC0", "FRACTAL_Z_3D"), "`LAYOUT` of arrays and raw files of the NPU whose names have none, such as NC1HWC0", groupPairing, rareLevel | topicLayouts},
		{"original-format", axisOrder(&s.OriginalFormat), "axis `ORDER` of the original shapes in dumps, where several would fit", groupPairing, rareLevel | topicLayouts},
		{"crop-padding", boolSwitch(&s.CropPadding), "compare the common part where the NPU tensor is longer on one axis and zero there", groupPairing, rareLevel | topicLayouts},
		{"force-compare", boolSwitch(&s.Force), "compare tensors of one size and different shapes too", groupPairing, rareLevel | topicLayouts},
		{"strict-dtype", boolSwitch(&s.StrictDType), "different element types are a failure", groupPairing, rareLevel | topicLayouts},
		{"ref-dtype", elementType(&s.RefDType), "element `TYPE` of reference raw files whose names have none; default: the type of the NPU tensor", groupPairing, rareLevel | topicLayouts},
		{"bin-dtype|npu-dtype", elementType(&s.NPUDType), "element `TYPE` of NPU raw files whose names have none; default: the type of the reference", groupPairing, rareLevel | topicLayouts},
		{"max-elems", integerValue(&s.MaxElements, 0, math.MaxInt64, "want a number from 1, or 0 for all"), "compare the first `N` elements only; such tensors cannot pass", groupChoice, rareLevel | topicLayouts},
	}
}

// parsePermutation reads OP=PERM, the axis permutation of an operator.
func parsePermutation(text string) (op string, perm []int, err error) {
	i := strings.LastIndexByte(text, '=')
	axes := strings.Trim(text[i+1:], "()[] ")
	if i < 1 || !numbersForm().MatchString(axes) {
		return "", nil, wantf("want OP=PERM, such as conv1=0,3,1,2")
	}
	for part := range strings.SplitSeq(axes, ",") {
		axis, err := strconv.Atoi(part)
		if err != nil {
			return "", nil, err
		}
		perm = append(perm, axis)
	}
	for axis := range perm {
		if !slices.Contains(perm, axis) {
			return "", nil, lang.Errorf("axis %d is missing, want each of 0 to %d once", axis, len(perm)-1)
		}
	}
	return text[:i], perm, nil
}

// orderSources lists the sources of the execution order.
var orderSources = []string{"auto", "dump.json", "runtime", "csv", "ir", "fusion", "consumers", "statistics", "sequence", "timestamp", "id", "number", "name"}

func (o *comparison) orderFlags() []cmdFlag {
	return []cmdFlag{
		{"order", choice(&o.order, orderSources), fillUsage("`SOURCE` of the execution order: %s, or auto: the first one available", orderSources[1:]), groupFacts, rareLevel | topicOrder},
		{"node-runtime-filename", textValue(&o.files.Runtime), "times of operators in `FILE`, as HPAA's node_runtime.file", groupFacts, rareLevel | topicOrder | topicHPAA},
		{"order-file", textValue(&o.files.Execution), "execution order in `FILE`, one operator a line, as MindSpore's ms_execution_order_graph_0.csv", groupFacts, hiddenLevel},
	}
}

// chooseOrder chooses the source of the execution order.
func (o *comparison) chooseOrder() error {
	if err := checkIR(o.IR); err != nil {
		return err
	}
	switch {
	case o.order == "auto" && o.files.Runtime != "": // a given file that knows no operator is a mistake
		o.OrderBy = dumpdir.ByRuntime
	case o.order == "csv" || o.order == "auto" && o.files.Execution != "":
		o.OrderBy = dumpdir.ByExecution
	case o.order != "auto":
		o.OrderBy = dumpdir.OrderSource(o.order)
	}
	switch {
	case o.order == "runtime" && o.SideFiles.Runtime == nil:
		return usagef("--order runtime needs --node-runtime-filename FILE")
	case o.order == "csv" && o.SideFiles.Execution == nil:
		return usagef("--order csv needs --order-file FILE")
	case o.order == "fusion" && o.SideFiles.Fusion == nil:
		return usagef("--order fusion needs --fusion FILE")
	}
	return nil
}

// graphFlags lists the flags for the data flow between operators, which the diagnosis uses.
func (o *comparison) graphFlags() []cmdFlag {
	ir := irFlag(&o.IR)
	ir.levels |= hiddenLevel
	return []cmdFlag{
		{"consumer-map|consumer-map-filename", textValue(&o.files.Consumers), "inputs of operators in `FILE`, as HPAA's consumer_map_dict.file", groupFacts, hiddenLevel},
		ir,
		{"flow", choice(&o.Judge.Verdict.Flow, limits.FlowSources()), "source of the data flow: auto (graph files, else inputs whose elements equal an earlier output, which reads the inputs of one side), files, none", groupFacts, rareLevel | topicOrder},
	}
}

// acceptanceFlags lists the flags for the acceptance of single operators, and for other runs that a
// verdict uses.
func (o *comparison) acceptanceFlags() []cmdFlag {
	return []cmdFlag{
		{"noise", textValue(&o.Second), "`PATH` of a second reference of lower precision; its distance from the first is the noise that the verdict allows", groupFacts, topicLimits},
		{"standard", choice(&o.Standard.Name, standard.Names()), "judge single operators by the acceptance standard `NAME` instead: cann-eco, cann-mixed, cann-l0, cann-l1, cann-l2 (the last three need --third)", groupVerdict, rareLevel | topicLimits},
		{"third", textValue(&o.Third), "`PATH` of a third-party result for --standard, paired with the reference like the NPU data", groupVerdict, rareLevel | topicLimits},
		{"check", choice(&o.Check, conclude.CheckModes()), "compute `OPERATORS` of the NPU again from their own dumped inputs: suspects (operators that the evidence suspects or cannot clear), all, none", groupVerdict, rareLevel | topicLimits},
		{"hf32", makeOptional(string(limits.HF32On), choice(&o.Judge.Verdict.HF32, limits.HF32Modes())), "`MODE` says whether float32 products use HF32, that is inputs rounded to 11 bits: auto (on if all products of a kind show it; off with --standard), on (also without MODE), off", groupVerdict, rareLevel | topicLimits},
	}
}

// chooseStandard checks the flags of acceptance. A standard replaces the verdict.
func (o *comparison) chooseStandard() error {
	name := o.Standard.Name
	switch {
	case name == "" && o.Third != "":
		return usagef("--third needs --standard NAME")
	case name != "" && o.Second != "":
		return usagef("--noise is for the verdict by evidence: it cannot be used with --standard")
	case name != "" && o.Judge.Verdict.Mode == limits.ByEvidence:
		return usagef("--standard %s replaces --verdict evidence: use only one of them", name)
	case name != "" && o.Judge.Verdict.Gates != (limits.Gates{}):
		return usagef("--standard %s does not use gates such as --min-cos", name)
	case name.NeedsThird() && o.Third == "":
		return usagef("--standard %s needs --third PATH", name)
	case !name.NeedsThird() && o.Third != "":
		needy := slices.DeleteFunc(standard.Names(), func(n standard.Name) bool { return !n.NeedsThird() })
		return usagef("--standard %s needs no third result: --third is for %s", name, needy)
	}
	for _, path := range []string{o.Second, o.Third} {
		if path == "" {
			continue
		}
		if err := checkExists(path); err != nil {
			return err
		}
	}
	if name != "" {
		o.Judge.Verdict.Mode = limits.ByLimits
	}
	o.nameStandard()
	return nil
}

// nameStandard tells a standard whether HF32 is on.
func (o *comparison) nameStandard() {
	o.Standard.HF32 = o.Standard.Name != "" && o.Judge.Verdict.HF32 == limits.HF32On
}

// failStatuses maps the names of --fail-on.
var failStatuses = map[string]record.Status{
	"fail": record.Fail, "shape": record.ShapeMismatch, "dtype": record.DTypeMismatch, "ambiguous": record.Ambiguous,
	"rounding": record.Rounding, "warn": record.Warn, "partial": record.Partial, "rows": record.Rows, "skip": record.Skip,
	"unmatched-ref": record.UnmatchedRef, "unmatched-npu": record.UnmatchedNPU,
}

// failNames lists the names of failStatuses in the order of messages.
var failNames = []string{"fail", "shape", "dtype", "ambiguous", "rounding", "warn", "partial", "rows", "skip", "unmatched-ref", "unmatched-npu"}

// parseFailStatus reads a name of --fail-on.
func parseFailStatus(name string) (record.Status, error) {
	status, ok := failStatuses[strings.ReplaceAll(strings.ToLower(name), "_", "-")]
	if !ok {
		last := len(failNames) - 1
		return status, wantf("want %s or %s", strings.Join(failNames[:last], ", "), failNames[last])
	}
	return status, nil
}

// failureFlags lists the flags for the baseline and the exit status. Both depend on all rows of a run.
func (o *comparison) failureFlags() []cmdFlag {
	return []cmdFlag{
		{"fail-on", elementList(&o.FailOn, failNames, failNames[:4], parseFailStatus), fillUsage("`STATUSES` that fail; %s", failNames), groupCI, 0},
		{"exit-zero", boolSwitch(&o.ExitZero), "failures do not change the exit status", groupCI, 0},
		{"baseline", textValue(&o.BaselineFile), "failures in `FILE` are known; only new and worse ones fail", groupCI, 0},
		{updateFlag, boolSwitch(&o.UpdateBaseline), "write the findings of this run to the file of --baseline", groupCI, rareLevel},
		{"baseline-slack", decimalValue(&o.Slack, func(x float64) bool { return x >= 1 }, "want a factor from 1"), "a known failure may get worse by up to this `FACTOR`", groupCI, rareLevel},
		{"require-coverage", coverageValue(&o.Coverage), "fail unless this `SHARE` is compared; of the reference: all, 90%, 0.9, or a number of tensors", groupCI, 0},
	}
}

// updateFlag is a flag that shards leave to their merge.
const updateFlag = "update-baseline"

// coverageValue reads how much must be compared.
func coverageValue(to *conclude.RequiredCoverage) *value[conclude.RequiredCoverage] {
	return &value[conclude.RequiredCoverage]{to: to, kind: "string", read: func(text string) (conclude.RequiredCoverage, error) {
		r, ok := conclude.ParseRequired(text)
		if !ok {
			return r, wantf("want all, a share such as 0.9 or 90%%, or a number of tensors from 2")
		}
		return r, nil
	}}
}

// checkFailures checks that the flags about failures do not contradict each other.
func (o *comparison) checkFailures() error {
	switch {
	case len(o.FailOn) == 0:
		return usagef("--fail-on: no status given; --exit-zero keeps failures from the exit status")
	case o.UpdateBaseline && o.BaselineFile == "":
		return usagef("--update-baseline needs --baseline FILE")
	case o.FailFast && o.BaselineFile != "":
		return usagef("--fail-fast cannot be used with --baseline, which needs all failures of a run")
	}
	return nil
}
