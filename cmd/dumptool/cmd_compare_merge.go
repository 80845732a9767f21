package main

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dumptool/internal/compare"
	"dumptool/internal/compare/record"
	"dumptool/internal/config"
	"dumptool/internal/shard"
)

// divergence is the format that takes a second pass over the tensors, which shards make
// only if it is asked for.
const divergence = "msaccucmp"

// mergeCompared makes the reports of comparisons.
func mergeCompared(m *merging) error {
	o, err := mergedOptions(m.cmd.Flags(), m.docs[0].Options)
	if err != nil {
		return err
	}
	reports := make([]*record.Report, len(m.docs))
	for i := range m.docs {
		if reports[i], err = compare.ReadReport(m.docs[i].Path); err != nil {
			return err
		}
	}
	if o.KLD && !asked(m.docs[0].Options, divergence) {
		return hintf(usagef("--format %s: the documents have no divergence of Kullback and Leibler", divergence), "give --format %s to the shards", divergence)
	}
	o.Axes = m.a.streams.OutWidth > 0
	rep, err := o.Merge(m.docs, reports, m.origin)
	if err != nil {
		return incompletef("%w", err)
	}
	keepPictures(rep, o.Pictures)
	o.Pictures = nil
	if err := o.write(m.cmd.Context(), m.a, comparedRun{nil, nil, rep}); err != nil {
		return err
	}
	return m.a.conclude(o.Outcome(rep))
}

// mergedOptions are the options of the documents of comparisons, with the flags of a merge
// in place of theirs.
func mergedOptions(flags *pflag.FlagSet, options []shard.Option) (*compareOptions, error) {
	o := newCompareOptions()
	cmd := &cobra.Command{Use: "compare"}
	cmd.SetGlobalNormalizationFunc(normalizeFlag)
	o.define(cmd)
	own := cmd.Flags()
	for _, x := range options {
		if f := own.Lookup(x.Name); f != nil {
			if err := setFlag(f, config.Value{Source: "options of the documents", Text: x.Value, List: x.Values}); err != nil {
				return nil, err
			}
		}
	}
	var failed error
	flags.Visit(func(f *pflag.Flag) {
		to := own.Lookup(f.Name)
		if to == nil || f.Name == "json" {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			failed = cmp.Or(failed, to.Value.(pflag.SliceValue).Replace(list.GetSlice()))
		} else {
			failed = cmp.Or(failed, to.Value.Set(f.Value.String()))
		}
	})
	if f := flags.Lookup("json"); f != nil && f.Changed {
		o.output.formats = []string{"json"}
	}
	if err := cmp.Or(failed, o.output.check(), o.checkFailures(), o.chooseOps(), o.output.resolve(&o.Options)); err != nil {
		return nil, err
	}
	o.nameStandard()
	return o, compareError(o.LoadBaseline())
}

// asked reports whether a format is among those of the options.
func asked(options []shard.Option, format string) bool {
	for _, x := range options {
		if x.Name == "format" {
			for _, name := range x.Values {
				if name == format {
					return true
				}
			}
		}
	}
	return false
}

// keepPictures drops the pictures of rows that one run would not have drawn.
func keepPictures(rep *record.Report, opt *compare.PictureOptions) {
	kept := map[int]bool{}
	if opt != nil {
		for _, i := range rep.PictureRows(opt.Kept) {
			kept[i] = true
		}
	}
	for i := range rep.Rows {
		if !kept[i] {
			rep.Rows[i].Pictures = nil
		}
	}
}
