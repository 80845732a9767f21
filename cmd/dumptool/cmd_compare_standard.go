package main

import (
	"slices"

	"github.com/spf13/cobra"

	"dumptool/internal/compare"
	"dumptool/internal/compare/standard"
)

// standardFlags are the flags of the acceptance of single operators, and of what else a
// verdict takes from other runs.
type standardFlags struct {
	name, third, noise, hf32, flow string
}

func (o *standardFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.name, "standard", "", "judge single operators by the acceptance standard `NAME` instead: cann-eco, cann-mixed, cann-l0, cann-l1, cann-l2 (the last three need --third)")
	flags.StringVar(&o.third, "third", "", "`PATH` of a third-party result for --standard, paired with the reference as the NPU data is")
	flags.StringVar(&o.hf32, "hf32", string(compare.HF32Auto), "whether float32 products are made of inputs of 11 bits, HF32: auto (all of a kind show it; off with --standard), on, off")
	flags.Lookup("hf32").NoOptDefVal = string(compare.HF32On)
	flags.StringVar(&o.flow, "flow", string(compare.FlowAuto), "what says which operator feeds which: auto (files, else inputs with the elements of an earlier output: inputs of one side are read for it), files, none")
	harmless(flags, "standard", "hf32", "flow")
	flags.StringVar(&o.noise, "noise", "", "`PATH` of a second reference of a lower precision: how far it is from the first is the noise that the verdict allows")
	completeValues(cmd, "standard", names(standard.Names()))
	completeValues(cmd, "hf32", names(compare.HF32s()))
	completeValues(cmd, "flow", names(compare.FlowsFrom()))
}

// resolve turns the flags into options, in which the verdict is chosen already.
func (o *standardFlags) resolve(opt *compare.Options) error {
	hf32, err := oneOf("--hf32", o.hf32, compare.HF32s())
	if err != nil {
		return err
	}
	if opt.Judge.Verdict.Flow, err = oneOf("--flow", o.flow, compare.FlowsFrom()); err != nil {
		return err
	}
	opt.Judge.Verdict.HF32 = hf32
	if o.noise != "" {
		if o.name != "" {
			return usagef("--noise is for the verdict by evidence: it cannot stand beside --standard")
		}
		if err := exists(o.noise); err != nil {
			return err
		}
		opt.Second = o.noise
	}
	if o.name == "" {
		if o.third != "" {
			return usagef("--third needs --standard NAME")
		}
		return nil
	}
	name, err := oneOf("--standard", o.name, standard.Names())
	if err != nil {
		return err
	}
	switch {
	case opt.Judge.Verdict.Mode == compare.ByEvidence:
		return usagef("--standard %s stands in place of --verdict evidence: want one of them", name)
	case opt.Judge.Verdict.Gates != (compare.Gates{}):
		return usagef("--standard %s: gates such as --min-cos have no part in it", name)
	case name.NeedsThird() && o.third == "":
		return usagef("--standard %s needs --third PATH", name)
	case !name.NeedsThird() && o.third != "":
		return usagef("--standard %s needs no third result: --third is for %s", name, lastNames())
	}
	if o.third != "" {
		if err := exists(o.third); err != nil {
			return err
		}
	}
	opt.Third = o.third
	opt.Judge.Verdict.Mode = compare.ByLimits
	return o.named(opt)
}

// named sets the standard by its name.
func (o *standardFlags) named(opt *compare.Options) error {
	if o.name == "" {
		return nil
	}
	name, err := oneOf("--standard", o.name, standard.Names())
	opt.Standard = standard.Options{Name: name, HF32: o.hf32 == string(compare.HF32On)}
	return err
}

// lastNames are the standards that need a third result.
func lastNames() []standard.Name {
	return slices.DeleteFunc(standard.Names(), func(n standard.Name) bool { return !n.NeedsThird() })
}
