package compare

import (
	"encoding/json"
	"fmt"

	"dumptool/internal/compare/engine"
)

// DocumentJoint is a bin of the joint histogram of |d| and |r|. In JSON it is a
// list: the bins of |d| and |r|, the count, and the least and the largest |d| and
// then |r| in it. Bin -1048576 holds zeros.
type DocumentJoint engine.JointBin

// MarshalJSON implements json.Marshaler.
func (b DocumentJoint) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]any{b.Abs, b.Ref, b.Count, NumberOf(b.MinAbs), NumberOf(b.MaxAbs), NumberOf(b.MinRef), NumberOf(b.MaxRef)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *DocumentJoint) UnmarshalJSON(data []byte) error {
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

// DocumentAxis shows how the differences spread along one axis.
type DocumentAxis struct {
	Axis int   `json:"axis"`
	Size int64 `json:"size"`
	// Fold is the number of positions in a bin; the last one may have fewer.
	Fold int64             `json:"fold"`
	Bins []DocumentAxisBin `json:"bins"`
}

// DocumentAxisBin is a run of positions of an axis. In JSON it is a list: the
// elements, the errors (of the strict policy), the sums of |d| and of |d|/|r|.
type DocumentAxisBin engine.AxisBin

// MarshalJSON implements json.Marshaler.
func (b DocumentAxisBin) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]any{b.Count, b.Errors, NumberOf(b.SumAbs), NumberOf(b.SumRel)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *DocumentAxisBin) UnmarshalJSON(data []byte) error {
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

// axisOf makes the document's form of an axis profile, with runs of bins added
// up where there are many.
func axisOf(a *engine.AxisProfile) DocumentAxis {
	f := foldAxis(a)
	d := DocumentAxis{Axis: f.Axis, Size: f.Size, Fold: f.Fold, Bins: make([]DocumentAxisBin, len(f.Bins))}
	for i, bin := range f.Bins {
		d.Bins[i] = DocumentAxisBin(bin)
	}
	return d
}
