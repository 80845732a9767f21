package compare

import (
	"fmt"
	"math"
	"slices"
	"unique"

	"dumptool/internal/compare/align"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/compare/standard"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// planOptions say what is compared. Ref and NPU are needed, and so is a profile and a NaN
// policy; the zero value of everything else is useful.
type planOptions struct {
	// Ref and NPU are a file or a folder each, of which RefRounds and NPURounds
	// choose rounds.
	Ref, NPU             string
	RefRounds, NPURounds dumpdir.Selection
	SideOptions
	// Version is the dump container, 0 for what the file says.
	Version int

	Judge JudgeOptions
	// Standard is the acceptance standard that replaces the verdict, Third the path of the
	// third result that some standards need.
	Standard standard.Options
	Third    string
	// Second is the path of a second reference, of a lower precision than the first: its
	// distance from the first is noise that an NPU may have too. A run has a third result
	// or a second reference.
	Second string
	// SideFiles is what files say about the operators: limits, names, order and graph.
	// Without a map of consumers the graph of the compiler is used.
	SideFiles sidefile.Inputs
	Pair      PairOptions
	Shape     align.Options
	// Shard compares some rounds only, those of one of several shards.
	Shard shard.Spec
	// OrderBy is the source of the execution order.
	OrderBy dumpdir.OrderBy
	// Keep keeps the details of good rows too, and lets tensors be written after they were
	// compared: tensors of which only statistics are known are left out.
	Keep bool
	// Calls pairs the values of calls of msprobe.
	Calls bool
	// Unshard says whether tensors are compared with their part of a reference that is sharded
	// otherwise.
	Unshard Unshard
	RankOptions
	// Workers is the number of goroutines; 0 means GOMAXPROCS, at most 16.
	Workers int
	// Warnings are about the options; a report ends with them.
	Warnings []lang.Sentence
}

// executeOptions say what is measured of a pair and kept in its row.
type executeOptions struct {
	planOptions
	KeepOptions
	FailOptions
	// Pictures lets rows be read again for their pictures; nil for no pictures.
	Pictures *PictureOptions
	// Pool is the memory of computing metrics, which runs may share; nil for a new one.
	Pool *metrics.Pool
}

// Options are the options of a whole comparison.
type Options struct {
	executeOptions
	BaselineOptions
	SumOptions
	SelfOptions
	// Origin and Args are what made the report.
	Origin shard.Origin
	Args   []string
}

// maxWorkers is the most goroutines unless more are asked for.
const maxWorkers = 16

// Load reads the files about operators and the baseline, which need not be there if
// it is to be written. What a comparison can do without becomes a warning. The error
// is a *sidefile.FileError.
func (o *Options) Load(files sidefile.Files) error {
	in, err := files.Load()
	if err != nil {
		return err
	}
	o.SideFiles = *in
	for _, problem := range in.Problems {
		o.Warnings = append(o.Warnings, lang.Plain(problem.Error()))
	}
	if o.Ref != "" && safefile.SameFile(o.Ref, o.NPU) {
		o.Warnings = append(o.Warnings, lang.Sayf("--cpu and --npu are the same: %s", "--cpu 与 --npu 是同一路径：%s", o.Ref))
	}
	o.Judge.chooseMode(o.SideFiles.OpConfig)
	return o.LoadBaseline()
}

// Profile names a set of limits.
type Profile string

// The profiles.
const (
	// ProfileHPAA has one pair of limits for all types, as HPAA does.
	ProfileHPAA Profile = "hpaa"
	// ProfileDType goes by the less precise of the two element types: limits for
	// a single operator.
	ProfileDType Profile = "dtype"
	// ProfileTorch has the limits of torch.testing.assert_close.
	ProfileTorch Profile = "torch"
	// ProfileExact accepts equal classes and equal values only.
	ProfileExact Profile = "exact"
)

// Profiles lists the profiles.
func Profiles() []Profile { return []Profile{ProfileHPAA, ProfileDType, ProfileTorch, ProfileExact} }

// The limits of HPAA (manual of run_precision_analysis.py).
const (
	hpaaAtol = 0.005
	hpaaRtol = 0.2
)

// precision is what a profile says about an element type. rank orders the types
// from the most precise to the least.
type precision struct {
	dtype      tensor.DType
	rank       int
	rtol, atol float64
}

// torchRank is the rank of the least precise type that torch has limits for.
const torchRank = 3

// precisions are the floating-point types. The limits of the wider types are
// those of torch.testing.assert_close; those of the 8-bit types are a unit in the
// last place and the smallest subnormal.
var precisions = []precision{
	{tensor.Float64, 0, 1e-7, 1e-7}, {tensor.Complex128, 0, 1e-7, 1e-7},
	{tensor.Float32, 1, 1.3e-6, 1e-5}, {tensor.Complex64, 1, 1.3e-6, 1e-5},
	{tensor.Float16, 2, 1e-3, 1e-5}, {tensor.Complex32, 2, 1e-3, 1e-5},
	{tensor.BFloat16, 3, 1.6e-2, 1e-5},
	{tensor.Float8E4M3FN, 4, 1.0 / 8, 1.0 / 512},
	{tensor.HiFloat8, 5, 1.0 / 4, 1.0 / (1 << 16)}, {tensor.Float8E5M2, 5, 1.0 / 4, 1.0 / (1 << 16)},
	{tensor.Float6E2M3, 6, 1.0 / 8, 1.0 / 8}, {tensor.Float6E3M2, 7, 1.0 / 4, 1.0 / 16},
	{tensor.Float4E1M2, 8, 1.0 / 4, 1.0 / 4}, {tensor.Float4E2M1, 9, 1.0 / 2, 1.0 / 2},
	{tensor.Float8E8M0, 10, 1, 0},
}

// precisionOf returns the entry of a floating-point type; ok is false for
// integers and bool, which are exact.
func precisionOf(d tensor.DType) (precision, bool) {
	i := slices.IndexFunc(precisions, func(p precision) bool { return p.dtype == d })
	if i < 0 {
		return precision{}, false
	}
	return precisions[i], true
}

// LimitOptions say where the limits of a row come from: the configuration of
// the operator, then the command line, then the profile.
type LimitOptions struct {
	Profile Profile
	// Atol and Rtol are those of the command line, nil where it has none.
	Atol, Rtol *float64
	// IntTol is the limit for pairs of integers; nil for that of the profile.
	IntTol *float64
	// Accum widens the rtol of a profile by its square root: the number of
	// products that are added up in an element. 0 and 1 leave it.
	Accum float64
}

// limits returns the limits of a pair. config holds what op_config.csv says,
// nil where it says nothing.
func (o *LimitOptions) limits(ref, npu tensor.DType, configAtol, configRtol *float64) record.Limits {
	rtol, atol := o.profile(ref, npu)
	source := unique.Make("profile " + string(o.Profile)).Value() // all rows have it
	l := record.Limits{Atol: atol, Rtol: rtol, AtolSource: source, RtolSource: source}
	if o.Accum > 1 && rtol > 0 {
		l.Rtol *= math.Sqrt(o.Accum)
		l.RtolSource = fmt.Sprintf("%s x sqrt(%g)", source, o.Accum)
	}
	if _, float := precisionOf(ref); o.IntTol != nil && !float {
		if _, float := precisionOf(npu); !float {
			l = record.Limits{Atol: *o.IntTol, AtolSource: "int-tol", RtolSource: "int-tol"}
		}
	}
	if o.Atol != nil {
		l.Atol, l.AtolSource = *o.Atol, "command line"
	}
	if o.Rtol != nil {
		l.Rtol, l.RtolSource = *o.Rtol, "command line"
	}
	if configAtol != nil {
		l.Atol, l.AtolSource = *configAtol, "op_config"
	}
	if configRtol != nil {
		l.Rtol, l.RtolSource = *configRtol, "op_config"
	}
	return l
}

// profile returns the limits of the profile for a pair of types.
func (o *LimitOptions) profile(ref, npu tensor.DType) (rtol, atol float64) {
	switch o.Profile {
	case ProfileHPAA:
		return hpaaRtol, hpaaAtol
	case ProfileExact:
		return 0, 0
	}
	var known []precision
	for _, d := range []tensor.DType{ref, npu} {
		if p, ok := precisionOf(d); ok {
			known = append(known, p)
		}
	}
	if len(known) == 0 {
		return 0, 0
	}
	low := known[0]
	for _, p := range known[1:] {
		if p.rank > low.rank {
			low = p
		}
	}
	if o.Profile == ProfileTorch {
		// torch takes the larger of each, and is exact for all other types.
		for _, p := range known {
			if p.rank <= torchRank {
				rtol, atol = max(rtol, p.rtol), max(atol, p.atol)
			}
		}
		return rtol, atol
	}
	return low.rtol, low.atol
}
