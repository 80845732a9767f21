package check

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// doubles serves numbers as a tensor of float64.
type doubles []float64

// ReadElements encodes the elements from first on.
func (d doubles) ReadElements(dst []byte, first int64) error {
	for i := range len(dst) / 8 {
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(d[first+int64(i)]))
	}
	return nil
}

// explain looks for a known pattern of errors in the first bad output of a WRONG operator, and makes its pictures, as
// compare does. The computed output serves as the reference.
func (x *execution) explain(ctx context.Context, op *recompute.Operator, v *recompute.Verdict) error {
	if v.Status != recompute.Wrong {
		return nil
	}
	x.row.setEvidence(v.Why)
	if v.Reason != recompute.ByCalcError && x.opt.forComparison {
		return nil
	}
	expected, err := recompute.ComputeExpected(ctx, op, v.Attributes)
	if err != nil || expected == nil {
		return err
	}
	for i, o := range v.Outputs {
		if o.Bad == 0 || expected.Values[i] == nil {
			continue
		}
		found, pictures, err := compareWithExpected(ctx, op.Outputs[i], expected.Values[i], x.opt.forComparison)
		if x.row.Outputs[i].Pictures = pictures; err == nil && len(found) > 0 && v.Reason == recompute.ByCalcError {
			x.row.Reason, x.row.Facts = found[0].Code, found[0].Facts
			x.row.setEvidence(found[0].Evidence)
		}
		return err
	}
	return nil
}

// pictureBins are the limits of compare for histograms.
var pictureBins = metrics.BinLimits{Min: 1, Max: 128}

// compareWithExpected compares a tensor with the expected values and returns the patterns that it finds, and pictures
// unless noPictures is set.
func compareWithExpected(ctx context.Context, t *recompute.Tensor, expected doubles, noPictures bool) ([]finding.Finding, *metrics.Pictures, error) {
	total, count := 0.0, 0.0
	for _, v := range expected {
		if v-v == 0 {
			total, count = total+float64(v*v), count+1
		}
	}
	near := map[tensor.DType]float64{tensor.Float16: 0x1p-9, tensor.BFloat16: 0x1p-6, tensor.Float32: 0x1p-11}[t.DType]
	request := metrics.Request{Shape: t.Shape, RefDType: tensor.Float64, NPUDType: t.Stored, Top: 1, // the place of the pictures' window
		Limits: metrics.Limits{Rtol: near, Atol: near * math.Sqrt(total/max(1, count))}}
	result, err := metrics.Compare(ctx, request, expected, t.Source)
	if err != nil {
		return nil, nil, err
	}
	found, _, err := diagnose.Examine(ctx, diagnose.Tensors{Result: result, Request: request, Ref: expected, NPU: t.Source})
	found = finding.WithoutCode(found, finding.Bias)
	if noPictures || err != nil {
		return found, nil, err
	}
	pictures, err := new(metrics.Pool).Pictures(ctx, request, result, metrics.PictureRequest{Bins: pictureBins, Sample: true}, expected, t.Source)
	if err == nil {
		pictures.Keep(false)
	}
	return found, pictures, err
}

// setEvidence sets the evidence of a WRONG operator: how many elements, and the further evidence in more.
func (o *Operator) setEvidence(more lang.Sentence) {
	for i := range o.Outputs {
		t := &o.Outputs[i]
		if t.Bad == 0 || t.FirstBad == nil || len(t.Elems) == 0 {
			continue
		}
		w := t.Elems[0]
		npu := lang.Text{EN: formatNumber(*w.NPU), ZH: formatNumber(*w.NPU)}
		if *w.NPU == *w.Computed { // different integers that are equal as float64
			npu = lang.Say("%s away from it", formatNumber(t.Worst)).Text()
		}
		text := lang.Say("%s beyond the bound, first at %d %s; the worst, at %d %s: computed %v, NPU %v",
			lang.CountText(int(t.Bad), "element"), t.FirstBad.Offset, tensor.Shape(t.FirstBad.Coord), w.Offset, tensor.Shape(w.Coord), formatNumber(*w.Computed), npu)
		o.setEvidenceText(text, more)
		return
	}
	switch {
	case !o.Evidence.IsZero():
	case o.Reason == recompute.ByShape:
		o.setEvidenceText(more, lang.Sentence{})
	default:
		o.setEvidenceText(lang.Say("%s within the bound, but the errors are not distributed like rounding", lang.CountText(len(o.Outputs), "output")), more)
	}
}

func (o *Operator) setEvidenceText(text, more lang.Sentence) {
	if !more.IsZero() {
		text = lang.Join([]lang.Sentence{text, more}, lang.Text{EN: "; "})
	}
	o.Evidence, o.EvidenceZH = text, text.Text().Chinese()
}

// formatNumber formats a number for people: integers with all of their digits.
func formatNumber(x tensor.Number) string {
	bits := 32
	if v := float64(x); v == math.Trunc(v) {
		bits = 64
	}
	return strconv.FormatFloat(float64(x), 'g', -1, bits)
}
