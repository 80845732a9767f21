package diagnose

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
)

// factual gives the findings of a row their facts, where the pattern has not.
func (r *row) factual(findings []record.Finding) []record.Finding {
	for i := range findings {
		f := &findings[i]
		if len(f.Facts) > 0 {
			continue
		}
		switch f.Code {
		case record.CalcError:
			f.Facts = r.calculationFacts()
		case record.Accumulated:
			f.Facts = r.meanRelFacts()
			if bound, ok := r.accumulatedBound(); ok {
				f.Facts = f.Facts.Number("allowed", bound)
			}
		case record.LayerInputBad:
			f.Facts = r.inputFacts()
		default:
			f.Facts = ResultFacts(f.Code, r.result())
		}
	}
	return findings
}

// ResultFacts are the facts of a reason that the metrics of a row have, none for other
// reasons and for a row that was not compared.
func ResultFacts(code record.Code, r *metrics.Result) (f record.Facts) {
	if r == nil {
		return nil
	}
	switch code {
	case record.OverflowFP16, record.NPUNaN:
		f = f.Int("count", npuNonFinite(r))
		if first := r.Mismatch.First; first != nil {
			f = f.Int("first", first.Offset)
		}
		if r.Ref.Min.Defined {
			f = f.Number("largest_ref", largestRef(r))
		}
	case record.Bias:
		if r.Bias.Defined && r.BiasZ.Defined {
			f = f.Number("share", (1+math.Abs(r.Bias.Value))/2).Number("z", r.BiasZ.Value).Int("count", r.BiasCount)
		}
	case record.Scale:
		if r.Scale.Defined && r.ScaleResidual.Defined {
			f = f.Number("scale", r.Scale.Value).Number("residual", r.ScaleResidual.Value)
		}
	case record.Margin:
		if r.Margin.Defined {
			f = f.Number("margin", r.Margin.Value)
		}
	}
	return f
}

// calculationFacts are those of an error of calculation: the axis along which the errors
// are uneven, and how they jump from those of the inputs.
func (r *row) calculationFacts() (f record.Facts) {
	if u := r.source.Uneven; u != nil {
		f = f.Int("axis", int64(u.Axis)).Int("size", u.Size).Int("first", u.From).Int("end", u.To)
		if float64(u.Half) >= minHalfRatio {
			f = f.Number("half", float64(u.Half)).Number("rel", float64(u.RelHalf)).Int("limit", minHalfRatio)
		} else {
			f = f.Number("peak", float64(u.Peak)).Number("rel", float64(u.RelPeak)).Int("limit", minPeakRatio)
		}
		f = f.Number("run_share", float64(u.To-u.From)/float64(u.Size))
		if tile := tileOf(u); tile > 1 {
			f = f.Int("tile", tile)
		}
	}
	f = append(f, r.meanRelFacts()...)
	if in, res := r.numbers().pearson, r.result(); res != nil && in.Defined && res.Pearson.Defined {
		f = f.Number("pearson_in", in.Value).Number("pearson_out", res.Pearson.Value)
	}
	if in := r.resolved().rows; len(in) > 0 {
		f = f.Int(record.InputRow, int64(in[0].index))
	}
	return f
}

// meanRelFacts are the mean relative errors of the inputs and of the row.
func (r *row) meanRelFacts() (f record.Facts) {
	if in, res := r.numbers().meanRel, r.result(); res != nil && in.Defined && res.MeanRel.Defined {
		f = f.Number("mean_rel_in", in.Value).Number("mean_rel_out", res.MeanRel.Value)
	}
	return f
}

// inputFacts are those of the first bad input.
func (r *row) inputFacts() (f record.Facts) {
	inputs := r.resolved()
	if i := slices.IndexFunc(inputs.rows, (*row).failed); i >= 0 {
		in := inputs.rows[i]
		f = f.Int(record.InputRow, int64(in.index))
		if res := in.result(); res != nil {
			f = f.Int("errors", res.StrictErrors()).Int("total", res.Total)
		}
	}
	return f.Flag("inferred", inputs.inferred)
}
