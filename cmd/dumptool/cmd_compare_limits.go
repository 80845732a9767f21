package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/compare/metrics"
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
	verdict                     string
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
	flags.StringVar(&o.verdict, "verdict", "", "what fails by `RULE`: evidence of a fault, or limits; default: evidence, but limits where any are given")
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
	harmless(flags, "verdict", "profile", "atol", "rtol", "tol-mode", "nan-policy", "max-error-ratio",
		"min-cos", "max-red", "max-mean-rel", "min-sqnr", "max-ulp", "int-tol", "accum")
	completeValues(cmd, "verdict", names(compare.VerdictModes()))
	completeValues(cmd, "profile", names(compare.Profiles()))
	completeValues(cmd, "nan-policy", names(compare.NaNPolicies()))
	completeValues(cmd, "tol-mode", compare.TolModes())
}

// resolve turns the flags into options.
func (o *judgeFlags) resolve(options *compare.Options) error {
	opt := &options.Judge
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
	opt.Mode = metrics.Mode(slices.Index(compare.TolModes(), mode))
	switch {
	case !(o.maxErrorRatio >= 0 && o.maxErrorRatio <= 1):
		return usagef("--max-error-ratio %g: want a share from 0 to 1", o.maxErrorRatio)
	case !(o.accum >= 0) || math.IsInf(o.accum, 0):
		return usagef("--accum %g: want a number from 0", o.accum)
	}
	opt.Limits = compare.LimitOptions{Profile: profile, Atol: o.atol.value, Rtol: o.rtol.value, IntTol: o.intTol.value, Accum: o.accum}
	modes := append([]compare.VerdictMode{""}, compare.VerdictModes()...)
	verdict, err := oneOf("--verdict", o.verdict, modes)
	if err != nil {
		return err
	}
	opt.Verdict = compare.VerdictOptions{Mode: verdict, NaN: policy, MaxErrorRatio: o.maxErrorRatio, Gates: compare.Gates{
		MinCos: o.minCos.value, MaxRED: o.maxRED.value, MaxMeanRel: o.maxMeanRel.value, MinSQNR: o.minSQNR.value, MaxULP: o.maxULP.value,
	}}
	return nil
}
