package verdict

import (
	"math"
	"slices"

	"dumptool/internal/compare/metrics/noise"
	"dumptool/internal/optype"
)

// groups sets the expected error of each row and channel, by the sharpest bounds of the class.
func (o *Operator) groups(e *expectation) {
	s := o.Out
	e.rows, e.channels = proportionalErrors(&s.Rows, s.RefRMS, e.Sum, 0.5), proportionalErrors(&s.Channels, s.RefRMS, e.Sum, 0.5)
	if s.Type.Integer {
		return
	}
	if len(o.Inputs) == 0 {
		switch e.Class {
		case optype.Lipschitz, optype.Move, optype.Multiply, optype.Dequantise:
			e.rows, e.channels = o.storageErrors(&s.Rows), o.storageErrors(&s.Channels)
		}
		return
	}
	if better := classes[e.Class].groupBounds; better != nil {
		better(o, e)
	}
}

// proportionalRows gives each row at least its share of the error.
func (o *Operator) proportionalRows(e *expectation) {
	s := o.Out
	for g := range e.rows {
		e.rows[g] = max(e.rows[g], e.Sum/max(s.RefRMS, tiny)*float64(s.Rows.RefRMS[g]))
	}
}

// batchNormalisedGroups bounds every channel of a norm over channels by its conditioning.
func (o *Operator) batchNormalisedGroups(e *expectation) {
	s, in := o.Out, o.Inputs[0]
	if len(in.Channels.RMS) != len(s.Channels.RMS) {
		return
	}
	relative, inverse := spreadOf(&in.Channels, func(g int) float64 { return float64(in.Channels.RefStd[g]) })
	e.channels = o.scaledGroupError(&s.Channels, relative, inverse, s.Channels.RefStd)
	gain := 0.0
	for g := range e.channels {
		gain = max(gain, channelGain(s, in, g))
	}
	for g := range e.channels { // the gain of a channel without spread is not known: assume the largest
		if in.Channels.RefStd[g] == 0 {
			e.channels[g] = max(e.channels[g], float64(gain*float64(in.Channels.RMS[g])))
		}
	}
}

// proportionalErrors spreads an error in proportion to the sizes of the groups; each group gets
// at least the share least of the whole error.
func proportionalErrors(groups *noise.Groups, ref, sum, least float64) []float64 {
	return errorsByGroup(groups, func(g int) float64 { return max(float64(groups.RefRMS[g])/max(ref, tiny), least) * sum })
}

// errorsByGroup returns the expected error of each group.
func errorsByGroup(groups *noise.Groups, expect func(int) float64) []float64 {
	expected := make([]float64, len(groups.RMS))
	for g := range expected {
		expected[g] = expect(g)
	}
	return expected
}

// storageErrors is the rounding error of storing the result of an operator without inputs.
func (o *Operator) storageErrors(groups *noise.Groups) []float64 {
	eps := epsilon(o.Out.Type)
	return errorsByGroup(groups, func(g int) float64 { return hypot(1.5*eps*float64(groups.RefRMS[g]), 3*float64(groups.Rounding[g])) })
}

// hypot does not scale its arguments before squaring: bounds are only compared, and their squares are in the range of
// float64.
func hypot(values ...float64) float64 {
	var sum float64
	for _, v := range values {
		sum += float64(v * v)
	}
	return math.Sqrt(sum)
}

// splitAligned separates the inputs whose groups are aligned with the groups of the output from the other inputs.
func (o *Operator) splitAligned(same func(in *noise.Noise) bool) (aligned, others []*noise.Noise) {
	for _, in := range o.Inputs {
		if same(in) {
			aligned = append(aligned, in)
		} else {
			others = append(others, in)
		}
	}
	return aligned, others
}

func (o *Operator) alignedRows() (aligned, others []*noise.Noise) {
	return o.splitAligned(func(in *noise.Noise) bool { return sameRows(in, o.Out) })
}

func sameShape(a, b *noise.Noise) bool { return slices.Equal(a.Shape, b.Shape) }

// lipschitzGroups bounds groups exactly, by the triangle inequality.
func (o *Operator) lipschitzGroups(e *expectation) {
	s, l, eps := o.Out, o.Type.Factor, epsilon(o.Out.Type)
	aligned, others := o.alignedRows()
	if len(aligned) == 0 {
		return
	}
	own := 1.0 // own error as a multiple of the rounding error of the result
	if s.Rounding > 0 {
		own = e.Own / s.Rounding
	}
	rest := sumOf(others, func(in *noise.Noise) float64 { return float64(worstRowError(in) * o.partFactor(in)) })
	peak := sumOf(others, func(in *noise.Noise) float64 { return in.Max })
	e.peaks = make([]float64, len(s.Rows.RMS))
	for g := range e.peaks {
		row, most := rest, peak
		for _, in := range aligned {
			row, most = row+float64(float64(in.Rows.RMS[g])*o.partFactor(in)), most+float64(in.Rows.Max[g])
		}
		e.rows[g] = hypot(l*row, own*float64(s.Rows.Rounding[g]))
		e.peaks[g] = float64(l*most) + float64(2*eps*float64(s.Rows.RefMax[g])) + smallestStep(s.Type) + tiny
		if o.Type.Transcendental {
			e.peaks[g] += float64(2 * eps * s.RefMax)
		}
	}
	aligned, others = o.splitAligned(func(in *noise.Noise) bool { return sameShape(in, s) && sameChannels(in, s) })
	if len(aligned) == 0 {
		return
	}
	rest = sumOf(others, func(in *noise.Noise) float64 { return maxOf(in.Channels.RMS) })
	for g := range e.channels {
		channel := rest
		for _, in := range aligned {
			channel += float64(in.Channels.RMS[g])
		}
		e.channels[g] = hypot(l*channel, own*float64(s.Channels.Rounding[g]))
	}
}

// normalisedGroups bounds every row of a norm by its conditioning.
func (o *Operator) normalisedGroups(e *expectation) {
	s, in := o.Out, o.Inputs[0]
	switch {
	case o.Type.Form == optype.GroupNorm: // an error in one channel reaches all channels of its group
		e.rows, e.channels = nil, nil
		return
	case o.Type.Form == optype.InstanceNorm:
		e.rows = nil
		return
	case len(in.Rows.RMS) != len(s.Rows.RMS):
		return
	}
	relative, inverse := o.rowGains(in)
	e.rows = o.scaledGroupError(&s.Rows, relative, inverse, s.Rows.RefRMS)
	e.channels = proportionalErrors(&s.Channels, s.RefRMS, e.Sum, 0.7)
}

// scaledGroupError returns the expected error of groups that a norm scales to the given sizes.
func (o *Operator) scaledGroupError(groups *noise.Groups, relative, inverse []float64, size []float32) []float64 {
	eps := epsilon(o.Out.Type)
	return errorsByGroup(groups, func(g int) float64 {
		to := float64(size[g])
		return hypot(relative[g]*to, 2*float64(groups.Rounding[g]), inverse[g]*to*eps*0.5)
	})
}

// dividedGroups removes the bounds of the groups of a quotient by a number: the groups have the relative errors of the
// input, which differ from group to group.
func (o *Operator) dividedGroups(e *expectation) {
	if o.dividesByNumber() {
		e.rows, e.channels = nil, nil
		return
	}
	o.proportionalRows(e)
}

// productGroups bounds the groups of a product of two tensors of the same shape exactly. Groups of other products
// have no bounds.
func (o *Operator) productGroups(e *expectation) {
	s, eps := o.Out, epsilon(o.Out.Type)
	e.rows, e.channels = nil, nil
	if o.Type.Form == optype.Square || len(o.Inputs) != 2 || !sameShape(o.Inputs[0], s) || !sameShape(o.Inputs[1], s) {
		return
	}
	a, b := o.Inputs[0], o.Inputs[1]
	product := func(s, a, b *noise.Groups) []float64 {
		if len(a.RMS) != len(s.RMS) || len(b.RMS) != len(s.RMS) {
			return nil
		}
		return errorsByGroup(s, func(g int) float64 {
			of := float64(float64(a.RefMax[g])*float64(b.RMS[g])) + float64(float64(b.RefMax[g])*float64(a.RMS[g]))
			return hypot(of, 2*float64(s.Rounding[g]))
		})
	}
	e.rows, e.channels = product(&s.Rows, &a.Rows, &b.Rows), product(&s.Channels, &a.Channels, &b.Channels)
	if e.rows == nil {
		return
	}
	e.peaks = errorsByGroup(&s.Rows, func(g int) float64 {
		am, bm, ax, bx := float64(a.Rows.RefMax[g]), float64(b.Rows.RefMax[g]), float64(a.Rows.Max[g]), float64(b.Rows.Max[g])
		return float64(am*bx) + float64(bm*ax) + float64(ax*bx) + float64(2*eps*float64(s.Rows.RefMax[g])) + smallestStep(s.Type)
	})
}

// linearGroups bounds a row of a matrix product by the error of the same row of its input. If both inputs have other
// rows, groups have no bounds.
func (o *Operator) linearGroups(e *expectation) {
	s := o.Out
	aligned, _ := o.alignedRows()
	conv := o.Type.Form == optype.Convolution
	if len(o.Inputs) > 1 && o.Type.Form == optype.Batched || len(aligned) == 0 && !conv {
		e.rows, e.channels = nil, nil
		return
	}
	if conv || len(aligned) == 0 {
		return
	}
	// A row of few columns may be near 0 by chance.
	least := s.RefRMS / math.Sqrt(float64(max(lastAxisLength(s), 1)))
	for g := range e.rows {
		var of float64
		for _, in := range aligned {
			of += max(relativeRowError(&in.Rows, g), in.View/2)
		}
		row := float64(max(float64(s.Rows.RefRMS[g]), least) * of)
		if len(aligned) < len(o.Inputs) {
			row += e.Propagated
		}
		e.rows[g] = hypot(row, e.Own)
	}
}

// unknownGroups bounds groups by the largest errors that usual operators make from the groups of the inputs.
func (o *Operator) unknownGroups(e *expectation) {
	s, found := o.Out, false
	for _, in := range o.Inputs {
		same, worst := sameRows(in, s), worstRowError(in)
		for g := range e.rows {
			of := worst
			if same {
				of = 2 * max(float64(s.Rows.RefRMS[g])*min(relativeRowError(&in.Rows, g), mostRelative), float64(in.Rows.RMS[g]))
			}
			e.rows[g] = max(e.rows[g], of)
		}
		if !sameChannels(in, s) {
			continue
		}
		found = true
		for g := range e.channels {
			rms := float64(in.Channels.RMS[g])
			e.channels[g] = max(e.channels[g], 2*max(channelGain(s, in, g)*rms, rms))
		}
	}
	if !found {
		e.channels = nil
	}
}
