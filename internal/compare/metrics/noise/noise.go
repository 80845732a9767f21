// Package noise measures how large the differences of a pair of tensors are compared with
// rounding alone, and how they spread over rows, channels, signs and magnitudes. Package
// verdict needs both.
//
// All sums are over d = n-r of the pairs that count: finite on both sides, neither masked nor
// saturated.
package noise

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Noise is the result for one pair. All its numbers except the probe are finite.
type Noise struct {
	Type     Type         `json:"type"`
	Shape    tensor.Shape `json:"shape"`
	Elements int64        `json:"elements"` // of the tensor
	Count    int64        `json:"count"`    // pairs that count
	// Sampled is the number of elements in the sample behind ScaleBySign, TowardZero,
	// MaxRelative, MaxAbsolute, Subnormal and the steps of View, 0 if these are over all
	// elements. All other numbers are over all elements.
	Sampled int64 `json:"sampled,omitempty"`

	// Of the reference: root mean square, mean, standard deviation, largest
	// magnitude.
	RefRMS  float64 `json:"ref_rms"`
	RefMean float64 `json:"ref_mean"`
	RefStd  float64 `json:"ref_std"`
	RefMax  float64 `json:"ref_max"`
	// Of the differences: root mean square, mean, largest magnitude, and the magnitude of the
	// reference at the largest one.
	RMS      float64 `json:"rms"`
	Mean     float64 `json:"mean"`
	Max      float64 `json:"max"`
	RefAtMax float64 `json:"ref_at_max"`
	// Rounding is the root mean square error of storing the reference in the type:
	// sqrt(mean ulp(r)^2 / 12); 0 for integers.
	Rounding float64 `json:"rounding"`
	// P90 is the 0.9 quantile of |d|, as the lower edge of its bin; an octave has 8
	// bins.
	P90 float64 `json:"p90"`

	// Scale is s = sum dr / sum rr, Residual the root mean square of d - sr.
	Scale    float64 `json:"scale"`
	Residual float64 `json:"residual"`
	// ScaleBySign is the share of sum dd that a scale for each sign of r explains,
	// TowardZero is |mean of d sign(r)| / RMS.
	ScaleBySign float64 `json:"scale_by_sign"`
	TowardZero  float64 `json:"toward_zero"`
	// MaxRelative is the maximum over the octaves of |r| of sqrt(sum dd / sum rr), MaxAbsolute
	// of sqrt(sum dd / count).
	MaxRelative float64 `json:"max_relative"`
	MaxAbsolute float64 `json:"max_absolute"`
	// View is the relative error after the least favourable linear map, at most 1000 (1e9 if
	// the reference is 0 and d is not).
	View float64 `json:"view"`
	// GroupScale and GroupMean are the shares of sum dd that a scale (a mean) of each group
	// explains; the larger one of rows and channels.
	GroupScale float64 `json:"group_scale"`
	GroupMean  float64 `json:"group_mean"`

	// Subnormal is the share of the pairs with 0 < |r| below the normal numbers of the type,
	// Bits the number of mantissa bits that the NPU elements use. Constant: all NPU elements
	// are equal.
	Subnormal float64 `json:"subnormal"`
	Bits      int     `json:"bits"`
	Constant  bool    `json:"constant,omitempty"`
	// Grid is set for a float32 NPU tensor, nil for other types.
	Grid *NumberGrid `json:"grid,omitempty"`
	// Apart is set for an input whose types have grids.
	Apart *InputDifference `json:"apart,omitempty"`
	// Softmax: the reference looks like the result of a softmax, elements from 0 to 1 in rows
	// that sum to 1.
	Softmax bool `json:"softmax,omitempty"`

	// NonFinite counts non-finite NPU elements beside a different reference, without
	// saturated pairs. Overflows counts saturated pairs whose reference is beyond the range of
	// the type, without masks.
	NonFinite int64 `json:"non_finite,omitempty"`
	Overflows int64 `json:"overflows,omitempty"`

	// Flips counts the pairs with exactly one side above 0, OneSided the pairs with exactly one
	// side equal to 0. TwoSidedRMS is the root mean square of the differences without the
	// one-sided pairs, 0 if there are none: see RMSWithoutZeros.
	Flips       int64   `json:"flips,omitempty"`
	OneSided    int64   `json:"one_sided,omitempty"`
	TwoSidedRMS float64 `json:"two_sided_rms,omitempty"`
	// RowsOff counts the rows whose root mean square difference exceeds 4 times their rounding;
	// rows that share a bin are judged together. OtherRowsRMS is the root mean square of the
	// differences in the other rows, where pairs that do not count are included with d = 0.
	RowsOff      int64   `json:"rows_off,omitempty"`
	OtherRowsRMS float64 `json:"other_rows_rms,omitempty"`
	// Differing counts the differing pairs of integers or bools, 0 for other types. Shift is n-r of the differing
	// pairs if it is the same for all, else 0.
	Differing int64   `json:"differing,omitempty"`
	Shift     float64 `json:"shift,omitempty"`
	// Lone counts the pairs that differ by more than 32 ulp of the reference in the type (ulp 1
	// for integers) and are beyond the limits of the request, if all other pairs differ by at
	// most 1 ulp; 0 if another pair differs by more.
	Lone int64 `json:"lone,omitempty"`

	// Rows are the positions of all axes except the last. Planes of the last two axes count as
	// rows if there are four or more axes, more than 4096 rows, and the last axis is shorter
	// than 32, or shorter than 64 and as long as the one before. Channels are the positions of
	// axis 1 of tensors with four and more axes, else of the last axis.
	Rows     Groups `json:"rows"`
	Channels Groups `json:"channels"`

	Probe Probe `json:"probe"`
}

// Groups has the numbers of the rows or the channels of a tensor. Successive groups may share a bin.
type Groups struct {
	Count int64 `json:"count"` // groups of the tensor
	Size  int64 `json:"size"`  // elements of a group
	Fold  int64 `json:"fold"`  // groups in a bin, a power of two
	// Of each bin: root mean square, standard deviation and largest magnitude of
	// the reference; root mean square, mean and largest magnitude of the
	// differences; root mean square rounding error.
	RefRMS   Column `json:"ref_rms"`
	RefStd   Column `json:"ref_std"`
	RefMax   Column `json:"ref_max"`
	RMS      Column `json:"rms"`
	Mean     Column `json:"mean"`
	Max      Column `json:"max"`
	Rounding Column `json:"rounding"`
	// The maxima of RMS/RefStd and RefRMS/RefStd over the groups of a bin, at most 1e9. If the
	// reference is all 0, Inverse is 0, and Relative is 1e9 if there is a difference.
	Relative Column `json:"relative"`
	Inverse  Column `json:"inverse"`
	// Scale is sum dr / sum rr of each bin, 0 if the reference is all 0; nil if unknown, as in
	// documents of earlier programs.
	Scale Column `json:"scale"`
}

// WithoutNumbers returns groups of the same shape without numbers.
func (g *Groups) WithoutNumbers() Groups { return Groups{Count: g.Count, Size: g.Size, Fold: g.Fold} }

// ExcludeWorstRows removes the worst rows (bins, if rows share bins) from the differences and returns
// the number of removed elements. It also drops the numbers of all groups, which are no
// longer known.
func (n *Noise) ExcludeWorstRows(rows int64) (leftOut int64) {
	g := &n.Rows
	if g.Fold > 1 && n.RowsOff > 0 && n.RowsOff <= rows {
		leftOut, n.RMS, n.Max = n.RowsOff*g.Size, n.OtherRowsRMS, min(n.Max, 6*n.OtherRowsRMS)
	} else {
		bins := make([]int, len(g.RMS))
		for i := range bins {
			bins[i] = i
		}
		slices.SortStableFunc(bins, func(a, b int) int { return cmp.Compare(g.RMS[b], g.RMS[a]) })
		left := int(min(rows, int64(len(bins))))
		var squares float64
		n.Max = 0
		for _, i := range bins[left:] {
			squares += float64(float64(g.RMS[i]) * float64(g.RMS[i]) * float64(g.elements(i)))
			n.Max = max(n.Max, float64(g.Max[i]))
		}
		leftOut = n.Elements
		for _, i := range bins[left:] {
			leftOut -= g.elements(i)
		}
		n.RMS = math.Sqrt(squares / float64(max(n.Elements-leftOut, 1)))
	}
	n.Rows, n.Channels, n.Mean, n.Scale, n.Lone = g.WithoutNumbers(), n.Channels.WithoutNumbers(), 0, 0, 0
	return leftOut
}

// elements returns the number of elements of a bin.
func (g *Groups) elements(bin int) int64 { return min(g.Fold, g.Count-int64(bin)*g.Fold) * g.Size }

// Column has float32 numbers. In JSON they are their little-endian bytes in base64.
type Column []float32

// MarshalJSON implements json.Marshaler.
func (c Column) MarshalJSON() ([]byte, error) {
	raw := make([]byte, 0, 4*len(c))
	for _, x := range c {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return json.Marshal(raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Column) UnmarshalJSON(data []byte) error {
	var raw []byte
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return lang.Errorf("%d bytes of float32, want a multiple of 4", len(raw))
	}
	*c = make(Column, len(raw)/4)
	for i := range *c {
		(*c)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// RMSWithoutZeros returns the root mean square of the differences without the pairs that have
// exactly one side equal to 0.
func (n *Noise) RMSWithoutZeros() float64 {
	if n.OneSided == 0 {
		return n.RMS
	}
	return n.TwoSidedRMS
}

// UnmarshalJSON implements json.Unmarshaler. It refuses impossible numbers.
func (n *Noise) UnmarshalJSON(data []byte) error {
	type plain Noise
	*n = Noise{}
	if err := json.Unmarshal(data, (*plain)(n)); err != nil {
		return err
	}
	if elements, ok := n.Shape.Count(); !ok || elements != n.Elements || n.Count < 0 || n.Count > n.Elements {
		return lang.Errorf("noise of %d pairs of %d elements in the shape %s", n.Count, n.Elements, n.Shape)
	}
	return cmp.Or(n.Rows.check(), n.Channels.check(),
		checkCounts(n.Elements, "elements", n.Sampled, n.Flips, n.OneSided, n.Differing, n.Lone), checkCounts(n.Rows.Count, "rows", n.RowsOff),
		n.Grid.check(n.Elements, n.Rows.Count), n.Apart.check(n.Elements), n.Probe.check(n.Shape))
}

// checkCounts returns an error if a count is negative or exceeds all.
func checkCounts(all int64, what string, counts ...int64) error {
	for _, count := range counts {
		if count < 0 || count > all {
			return lang.Errorf("%d of %d %s", count, all, what)
		}
	}
	return nil
}

// check reports an impossible grid for a tensor of this size.
func (g *NumberGrid) check(elements, rows int64) error {
	if g == nil {
		return nil
	}
	if err := cmp.Or(checkCounts(maxDistinct, "different values", int64(g.Distinct)),
		checkCounts(elements, "elements", g.OffFloat16, g.OffBFloat16, g.Subnormal, g.Saturated, g.LoneFloat16, g.LoneBFloat16),
		checkCounts(rows, "rows", g.RowsOffFloat16, g.RowsOffBFloat16)); err != nil {
		return lang.Errorf("grid: %w", err)
	}
	return nil
}

// check returns an error if a count exceeds the number of elements.
func (a *InputDifference) check(elements int64) error {
	if a == nil {
		return nil
	}
	return checkCounts(elements, "elements", a.Elements, a.Float16, a.BFloat16)
}

// check reports impossible groups.
func (g *Groups) check() error {
	bins := len(g.RefRMS)
	for i, column := range []Column{g.Scale, g.RefRMS, g.RefStd, g.RefMax, g.RMS, g.Mean, g.Max, g.Rounding, g.Relative, g.Inverse} {
		if len(column) != bins && (i > 0 || len(column) > 0) {
			return lang.Errorf("columns of %d and %d groups", bins, len(column))
		}
		for _, x := range column {
			if x-x != 0 {
				return lang.Errorf("%v is no finite number", x)
			}
		}
	}
	if g.Count < 0 || g.Size < 0 || g.Fold < 0 || bins > 0 && (g.Fold < 1 || (g.Count-1)/g.Fold != int64(bins-1)) {
		return lang.Errorf("%d bins of %d groups of %d elements, %d in a bin", bins, g.Count, g.Size, g.Fold)
	}
	return nil
}

// check reports a probe that does not fit the grid of a shape.
func (p *Probe) check(shape tensor.Shape) error {
	grid, axes := Grid(shape)
	places, rows := tensor.Shape(grid[:axes]).Elements(), len(p.RowMean)
	switch {
	case len(p.Values) == 0 && rows == 0 && len(p.RowStd) == 0: // no elements
	case int64(len(p.Values)) != places:
		return lang.Errorf("probe of %d elements, want %d", len(p.Values), places)
	case rows != len(p.RowStd):
		return lang.Errorf("probe of rows without both of their numbers")
	case rows > 0 && (axes < 2 || int64(rows) != tensor.Shape(grid[:axes-1]).Elements()):
		return lang.Errorf("probe of %d rows in the shape %s", rows, shape)
	}
	return nil
}
