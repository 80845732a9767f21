package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/finding"
	"dumptool/internal/jsonpos"
)

// Part is the part of a tensor of the reference that a rank has.
type Part struct {
	// Axes are the axes that are cut.
	Axes []PartAxis `json:"axes"`
	// Score is the share of slices whose values were found, 0 to 1, Confidence the confidence in
	// the part.
	Score      jsonpos.Float      `json:"score"`
	Confidence finding.Confidence `json:"confidence"`
	// Of says how the tensor relates to the reference: PartOf is a part of an operator's tensor, SumOf a summand of
	// a sum over ranks, CopyOf a communicated copy.
	Of string `json:"of"`
}

// The values of Part.Of.
const (
	PartOf = "part"
	SumOf  = "sum"
	CopyOf = "copy"
)

// CommonPart is the part of an axis that both sides have, where the lengths of the axis differ or rows were matched.
type CommonPart struct {
	Axis int `json:"axis"`
	// Ref and NPU are the lengths of the axis; the shorter one is the number of positions compared.
	Ref int64 `json:"ref"`
	NPU int64 `json:"npu"`
	// Trailing: the last positions of the longer side were compared, else the first ones.
	Trailing bool `json:"trailing"`
	// Matched is the number of rows that were matched and compared; 0 for the first or last positions.
	Matched int64 `json:"matched,omitempty"`
	// Counts: the lengths may differ here, as in a padded input and tensors computed from it, so that
	// the common part decides the status. Otherwise the row is a SHAPE_MISMATCH.
	Counts bool `json:"counts"`
}

// Argument is a non-tensor argument of a call, as both sides have it.
type Argument struct {
	// Name is the keyword, or the position from 0.
	Name string `json:"name"`
	Ref  string `json:"ref"`
	NPU  string `json:"npu"`
}

// MaskedError is the error of an output at the positions that a mask keeps.
type MaskedError struct {
	// By names the row of the mask.
	By string `json:"by"`
	// Positions counts the positions of the mask, Excluded the positions that it excludes.
	Positions int64 `json:"positions"`
	Excluded  int64 `json:"excluded"`
	// RMS and RefRMS are the root mean squares of the differences and of the reference at the other
	// positions.
	RMS    float64 `json:"rms"`
	RefRMS float64 `json:"ref_rms"`
}

// PartAxis describes how an axis is cut, as runs of positions of the reference: the first position,
// NotFound or Padding, and the number of positions.
type PartAxis struct {
	Axis int        `json:"axis"`
	Kind string     `json:"kind"`
	Runs [][2]int64 `json:"runs"`
}

// Markers in place of the first position of a run in PartAxis.
const (
	NotFound = -1 // nothing in the reference matches
	Padding  = -2 // zeros that the reference lacks
)

// IsLost reports whether the tensor has slices that were not found in the reference.
func (p *Part) IsLost() bool {
	return p != nil && slices.ContainsFunc(p.Axes, func(a PartAxis) bool {
		return slices.ContainsFunc(a.Runs, func(r [2]int64) bool { return r[0] == NotFound })
	})
}

// String lists the positions: 0-15, 48-63 of axis 0.
func (p *Part) String() string {
	var axes []string
	for _, a := range p.Axes {
		var runs []string
		for i, r := range a.Runs {
			if i == shownRuns {
				runs = append(runs, "...")
				break
			}
			switch {
			case r[0] == Padding:
				runs = append(runs, fmt.Sprintf("%d of padding", r[1]))
			case r[0] < 0:
				runs = append(runs, fmt.Sprintf("%d not found", r[1]))
			case r[1] == 1:
				runs = append(runs, strconv.FormatInt(r[0], 10))
			default:
				runs = append(runs, fmt.Sprintf("%d-%d", r[0], r[0]+r[1]-1))
			}
		}
		axes = append(axes, fmt.Sprintf("%s of axis %d", strings.Join(runs, ", "), a.Axis))
	}
	return strings.Join(axes, "; ")
}

// shownRuns is the maximum number of runs of an axis in a text.
const shownRuns = 8
