package record

import (
	"encoding/json"
	"fmt"

	"dumptool/internal/compare/metrics"
)

// jointBin is a bin of the joint histogram of |d| and |r|. In JSON it is a
// list: the bins of |d| and |r|, the count, and the least and the largest |d| and
// then |r| in it. Bin -1048576 holds zeros.
type jointBin metrics.JointBin

// MarshalJSON implements json.Marshaler.
func (b jointBin) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]any{b.Abs, b.Ref, b.Count, NumberOf(b.MinAbs), NumberOf(b.MaxAbs), NumberOf(b.MinRef), NumberOf(b.MaxRef)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *jointBin) UnmarshalJSON(data []byte) error {
	var minAbs, maxAbs, minRef, maxRef Number
	if err := unmarshalTuple(data, &b.Abs, &b.Ref, &b.Count, &minAbs, &maxAbs, &minRef, &maxRef); err != nil {
		return fmt.Errorf("joint histogram: %w", err)
	}
	if !minAbs.Defined || !maxAbs.Defined || !minRef.Defined || !maxRef.Defined {
		return fmt.Errorf("joint histogram: bin without its bounds in %s", excerpt(data))
	}
	b.MinAbs, b.MaxAbs, b.MinRef, b.MaxRef = minAbs.Value, maxAbs.Value, minRef.Value, maxRef.Value
	return nil
}

// axis shows how the differences spread along one axis.
type axis struct {
	Axis int   `json:"axis"`
	Size int64 `json:"size"`
	// Fold is the number of positions in a bin; the last one may have fewer.
	Fold int64     `json:"fold"`
	Bins []axisBin `json:"bins"`
}

// axisBin is a run of positions of an axis. In JSON it is a list: the
// elements, the errors (of the strict policy), the sums of |d| and of |d|/|r|.
type axisBin metrics.AxisBin

// MarshalJSON implements json.Marshaler.
func (b axisBin) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]any{b.Count, b.Errors, NumberOf(b.SumAbs), NumberOf(b.SumRel)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *axisBin) UnmarshalJSON(data []byte) error {
	var sumAbs, sumRel Number
	if err := unmarshalTuple(data, &b.Count, &b.Errors, &sumAbs, &sumRel); err != nil {
		return fmt.Errorf("axis profile: %w", err)
	}
	if !sumAbs.Defined || !sumRel.Defined {
		return fmt.Errorf("axis profile: bin without its sums in %s", excerpt(data))
	}
	b.SumAbs, b.SumRel = sumAbs.Value, sumRel.Value
	return nil
}

// unmarshalTuple reads a list of a fixed length.
func unmarshalTuple(data []byte, into ...any) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != len(into) {
		return fmt.Errorf("list of %d numbers, want %d: %s", len(parts), len(into), excerpt(data))
	}
	for i, p := range parts {
		if err := json.Unmarshal(p, into[i]); err != nil {
			return err
		}
	}
	return nil
}

// axisOf is a profile in JSON.
func axisOf(p *metrics.AxisProfile) axis {
	a := axis{Axis: p.Axis, Size: p.Size, Fold: p.Fold, Bins: make([]axisBin, len(p.Bins))}
	for i, bin := range p.Bins {
		a.Bins[i] = axisBin(bin)
	}
	return a
}

// profile is the profile that was written.
func (a *axis) profile() metrics.AxisProfile {
	p := metrics.AxisProfile{Axis: a.Axis, Size: a.Size, Fold: a.Fold, Bins: make([]metrics.AxisBin, len(a.Bins))}
	for i, bin := range a.Bins {
		p.Bins[i] = metrics.AxisBin(bin)
	}
	return p
}

// foldedBins is the most bins of an axis in a report.
const foldedBins = 64

// FoldAxes adds up runs of bins of axes that have more than a report shows.
func FoldAxes(axes []metrics.AxisProfile) []metrics.AxisProfile {
	var folded []metrics.AxisProfile
	for i := range axes {
		folded = append(folded, foldAxis(&axes[i]))
	}
	return folded
}

// foldAxis adds up runs of bins of an axis.
func foldAxis(a *metrics.AxisProfile) metrics.AxisProfile {
	run := (len(a.Bins) + foldedBins - 1) / foldedBins
	if run <= 1 {
		return *a
	}
	f := metrics.AxisProfile{Axis: a.Axis, Size: a.Size, Fold: a.Fold * int64(run)}
	for i, bin := range a.Bins {
		if i%run == 0 {
			f.Bins = append(f.Bins, metrics.AxisBin{})
		}
		sum := &f.Bins[len(f.Bins)-1]
		sum.Count += bin.Count
		sum.Errors += bin.Errors
		sum.SumAbs += bin.SumAbs
		sum.SumRel += bin.SumRel
	}
	return f
}
